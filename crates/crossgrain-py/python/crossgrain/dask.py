"""What Dask spreads: arrays of random numbers, and key search.

Element i of an array, counted in C's order, is word i of the stream: whoever computes it, in whatever chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._search_dask import search
from .random import AESCounter

__all__ = ["bits", "search", "uniform"]


def uniform(size: Any, *, chunks: Any = "auto", seed: Any = None) -> Any:
    """Float64 numbers from 0 to 1, as `Generator.random` of the bit generator draws them.

    `seed` is a bit generator of `crossgrain.random`, from whose place on it goes, or what one is made from.
    """
    return _array(size, chunks, seed, np.float64, "uniform")


def bits(size: Any, *, chunks: Any = "auto", seed: Any = None) -> Any:
    """Words of 64 bits, as `random_raw` gives them."""
    return _array(size, chunks, seed, np.uint64, "bits")


def _array(size: Any, chunks: Any, seed: Any, dtype: Any, kind: str) -> Any:
    import dask.array as da

    stream = seed if hasattr(seed, "fill_at") else AESCounter(seed)
    shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    chunks = da.core.normalize_chunks(chunks, shape, dtype=dtype)
    first = stream.position

    def chunk(block_info: Any = None) -> np.ndarray:
        return _chunk(stream, first, shape, block_info[None]["array-location"], dtype, kind)

    return da.map_blocks(chunk, chunks=chunks, dtype=dtype, meta=np.empty((0,) * len(shape), dtype))


def _chunk(stream: Any, first: int, shape: tuple[int, ...], location: Any, dtype: Any, kind: str) -> np.ndarray:
    lows, sizes = [low for low, _ in location], [high - low for low, high in location]
    chunk = np.empty(sizes, dtype)
    if chunk.size == 0:
        return chunk
    # The trailing axes that the chunk covers completely. Together with the axis before them they are
    # contiguous.
    whole = len(shape)
    while whole > 0 and sizes[whole - 1] == shape[whole - 1]:
        whole -= 1
    row_axis = max(whole - 1, 0)
    strides = [int(np.prod(shape[axis + 1 :], dtype=object)) for axis in range(len(shape))]
    for outer in np.ndindex(*sizes[:row_axis]):
        place = sum((low + at) * stride for low, at, stride in zip(lows, outer, strides))
        place += sum(low * stride for low, stride in zip(lows[row_axis:], strides[row_axis:]))
        stream.fill_at(first + place, chunk[(*outer, ...)], kind=kind)
    return chunk
