"""Dask arrays of random numbers, and encryption of files and key search on a Dask cluster.

Element i of an array, counted in C's order, is word i of the stream, in whatever chunk and on whatever worker.
"""

from __future__ import annotations

import copy
import math
import operator
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.random import Generator

from ._dask_files import decrypt_files, encrypt_files
from ._search_dask import search
from .random import AESCounter, SerpentCounter, _shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dask.array as da
    from numpy.typing import NDArray

    from ._types import Chunks, Source

__all__ = ["bits", "decrypt_files", "encrypt_files", "search", "uniform"]


def uniform(size: SupportsIndex | Sequence[SupportsIndex], *, chunks: Chunks = "auto", seed: Source = None) -> da.Array:
    """Return an array of float64 numbers in [0, 1), as `Generator.random` draws them.

    Parameters
    ----------
    size : int or sequence of int
        The shape.
    chunks : int, sequence or "auto"
        The chunks, as Dask takes them. They do not change the numbers.
    seed : seed, AESCounter, SerpentCounter or Generator, optional
        A seed, or a generator. The array takes its numbers from the generator, which then stands after them. The next
        array of the same generator therefore has other numbers.

    Returns
    -------
    dask.array.Array
        The array.

    Examples
    --------
    >>> from crossgrain import dask
    >>> dask.uniform((2, 2), chunks=1, seed=42).compute()
    array([[0.92771013, 0.23547961],
           [0.9573691 , 0.3402647 ]])
    """
    return _array(size, chunks, seed, np.dtype(np.float64), "uniform")


def bits(size: SupportsIndex | Sequence[SupportsIndex], *, chunks: Chunks = "auto", seed: Source = None) -> da.Array:
    """Return an array of 64-bit words, as `random_raw` gives them.

    Parameters
    ----------
    size, chunks, seed
        As of `uniform`.

    Returns
    -------
    dask.array.Array
        The array, of uint64.

    Examples
    --------
    >>> from crossgrain import dask
    >>> dask.bits(2, seed=42).compute()
    array([17113231402249823950,  4343832115687293521], dtype=uint64)
    """
    return _array(size, chunks, seed, np.dtype(np.uint64), "bits")


def _array(size: Any, chunks: Any, seed: Any, dtype: np.dtype[Any], kind: Literal["uniform", "bits"]) -> da.Array:
    import dask.array as da

    shape = _shape(size)
    chunks = da.core.normalize_chunks(chunks, shape, dtype=dtype)  # type: ignore[no-untyped-call]
    stream, first = _taken(seed, math.prod(shape))

    def chunk(block_info: Any = None) -> NDArray[Any]:
        return _chunk(stream, first, shape, block_info[None]["array-location"], dtype, kind)

    made: da.Array = da.map_blocks(chunk, chunks=chunks, dtype=dtype, meta=np.empty((0,) * len(shape), dtype))  # type: ignore[no-untyped-call]
    return made


def _taken(seed: Any, words: int) -> tuple[AESCounter | SerpentCounter, int]:
    """A stream and a position in it, from which on this number of words belongs to the caller."""
    stream = seed.bit_generator if isinstance(seed, Generator) else seed
    if isinstance(stream, np.random.BitGenerator) and not isinstance(stream, (AESCounter, SerpentCounter)):
        raise TypeError(f"seed is a {type(stream).__name__}: give a seed, or a generator of crossgrain.random")
    if not isinstance(stream, (AESCounter, SerpentCounter)):
        stream = AESCounter(stream)
    with stream.lock:
        # Chunks are computed later, and the caller may give the generator another state before.
        own = copy.copy(stream)
        stream.advance(words)
    return own, own.position


def _chunk(
    stream: AESCounter | SerpentCounter,
    first: int,
    shape: tuple[int, ...],
    location: Any,
    dtype: np.dtype[Any],
    kind: Literal["uniform", "bits"],
) -> NDArray[Any]:
    lows, sizes = [low for low, _ in location], [high - low for low, high in location]
    chunk: NDArray[Any] = np.empty(sizes, dtype)
    if chunk.size == 0:
        return chunk
    # The trailing axes that the chunk covers completely. Together with the axis before them they are
    # contiguous.
    whole = len(shape)
    while whole > 0 and sizes[whole - 1] == shape[whole - 1]:
        whole -= 1
    row_axis = max(whole - 1, 0)
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    base = first + sum(map(operator.mul, lows, strides))
    for outer in np.ndindex(*sizes[:row_axis]):
        place = base + sum(map(operator.mul, outer, strides))
        # The stream repeats after its last word.
        stream.fill_at(place % (1 << 129), chunk[(*outer, ...)], kind=kind)
    return chunk
