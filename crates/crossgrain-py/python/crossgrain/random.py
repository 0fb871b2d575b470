"""Random streams for NumPy: the same on every machine, at any place, for any number of threads.

    >>> from crossgrain.random import AESCounter, default_rng
    >>> rng = default_rng(42)
    >>> rng.integers(0, 100, 3)
    array([...])

A generator's words are the keystream of a cipher, whose counter is little-endian. With 128 bits, `AESCounter` is
randomgen's, bit for bit. What a key, a counter and a position give never changes.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import BitGenerator, Generator
from numpy.random.bit_generator import SeedlessSeedSequence

from . import _native
from ._number import number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing_extensions import Self

__all__ = ["AESCounter", "SerpentCounter", "default_rng"]

#: The counter wraps at this block.
_BLOCKS = 1 << 128
#: The number of words before it wraps.
_WORDS = 2 * _BLOCKS
#: The distance of one jump, in blocks.
_JUMP = 1 << 63


class _Counter(BitGenerator):
    """The common part of the two generators: everything except the cipher."""

    _FAMILY = ""

    def __init__(
        self,
        seed: Any = None,
        *,
        key: Any = None,
        counter: int = 0,
        bits: int = 128,
        threads: int = 0,
    ) -> None:
        if hasattr(self, "_core"):
            # Generators and compiled code hold a pointer to the memory of the core.
            raise RuntimeError("the generator is made already: set its state, or make another")
        block = int(counter) % _BLOCKS
        if bits not in (128, 192, 256):
            raise ValueError(f"{self._FAMILY} has keys of 128, 192 or 256 bits, not {bits}")
        if key is not None and seed is not None:
            raise ValueError("both seed and key are given: give one of them")
        seed_seq: Any = SeedlessSeedSequence() if key is not None else seed
        super().__init__(seed_seq)
        if key is None:
            words = self.seed_seq.generate_state(bits // 32, np.uint32)
            key_bytes = np.asarray(words).astype("<u4").tobytes()
        else:
            key_bytes = _key_bytes(key, bits)
        self._begin(key_bytes, threads)
        self._core.restore(self._cipher(key_bytes), key_bytes, (block, 0, None))

    def _begin(self, key: Any, threads: int) -> None:
        self._threads = threads = number("threads", threads)
        self._core = _native.Core(self._cipher(key), key, threads, self.lock)
        self._core.install(self.capsule)

    @classmethod
    def _cipher(cls, key: Any) -> str:
        return f"{cls._FAMILY}-{8 * len(key)}"

    def advance(self, delta: int) -> Self:
        """Go so many words of 64 bits on, or back if negative, in place; gives the generator itself."""
        self._core.advance(*divmod(int(delta) % _WORDS, 2), False)
        return self

    def jumped(self, jumps: int = 1) -> Self:
        """A new generator 2**63 blocks on for each jump: as many can be drawn before they meet."""
        key, (block, word, _) = self._core.state()
        other = type(self)._of(key, self._threads, self.seed_seq)
        other._core.restore(self._cipher(key), key, ((block + int(jumps) * _JUMP) % _BLOCKS, word, None))
        return other

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Draw words of 64 bits: one, or an array; none but their places with `output` false."""
        if size is None:
            word = self._core.draw()
            return word if output else None
        if not output:
            if np.less(size, 0).any():
                raise ValueError("negative dimensions are not allowed")
            self._core.advance(*divmod(int(np.prod(size, dtype=object)) % _WORDS, 2), True)
            return None
        words = self.fill(np.empty(size, "<u8"), kind="bits")
        return words.astype(np.uint64, copy=False)

    def spawn(self, n_children: int) -> list[Self]:
        """So many new generators with keys of their own, from the children of the seed."""
        seed_seq: Any = self.seed_seq
        if isinstance(seed_seq, SeedlessSeedSequence):
            raise TypeError("a generator made from a key has no seed to spawn from: use jumped, or make it from a seed")
        children = seed_seq.spawn(n_children)
        return [type(self)(child, bits=self._bits, threads=self._threads) for child in children]

    def fill(self, out: Any, kind: str = "uniform") -> Any:
        """Fill an array at once, on several threads if it is long; gives the array.

        `out` is an array of any shape, in C's order. "uniform" fills float64 in this machine's byte order with numbers
        as `Generator.random` draws them, "bits" any plain data that all bytes are with the bytes that follow; what is
        left of the last word of 64 bits is let go. Threads may fill from one generator: each gets words of its own.

        `TypeError` tells of objects, bools and text, `ValueError` of an array that is no float64 or lies in pieces,
        `BufferError` of one that may not be written. Nothing is drawn or written then.

            >>> AESCounter(42).fill(np.empty((2, 3))).shape
            (2, 3)
        """
        self._core.fill(out, _is_uniform(kind))
        return out

    def fill_at(self, position: int, out: Any, kind: str = "uniform") -> Any:
        """The same from a word on, counted from counter 0, leaving the generator where it is; others may draw meanwhile."""
        block, word = divmod(int(position) % _WORDS, 2)
        self._core.fill_at(block, word, out, _is_uniform(kind))
        return out

    def bytes(self, length: int) -> bytes:
        """So many random bytes: those of `fill`."""
        return self.fill(np.empty(length, np.uint8), kind="bits").tobytes()

    @property
    def position(self) -> int:
        """The number of the word that comes next, counted from counter 0."""
        _, (block, word, _) = self._core.state()
        return 2 * block + word

    @property
    def state(self) -> Mapping[str, Any]:
        """All that the generator is: key and counter as little-endian numbers, and half a word if one is left."""
        key, (block, word, half) = self._core.state()
        return {
            "bit_generator": type(self).__name__,
            "state": {"key": int.from_bytes(key, "little"), "bits": 8 * len(key), "counter": block, "word": word},
            "has_uint32": int(half is not None),
            "uinteger": half or 0,
        }

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError("state must be a dictionary, as state gives it")
        if value.get("bit_generator") != type(self).__name__:
            raise ValueError(f"state must be of a {type(self).__name__}, not a {value.get('bit_generator')}")
        try:
            inner = value["state"]
            bits, block, word = int(inner["bits"]), int(inner["counter"]), number("word", inner["word"])
            key = _key_bytes(inner["key"], bits)
            half = number("uinteger", value["uinteger"], (1 << 32) - 1) if value["has_uint32"] else None
        except KeyError as missing:
            raise ValueError(f"state lacks {missing}: give what state gave") from None
        self._core.restore(self._cipher(key), key, (block % _BLOCKS, word, half))

    @property
    def _bits(self) -> int:
        return 8 * len(self._core.state()[0])

    @classmethod
    def _of(cls, key: Any, threads: int, seed_seq: Any) -> Self:
        made = cls.__new__(cls)
        BitGenerator.__init__(made, seed_seq)
        made._begin(key, threads)
        return made

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.state, self._threads, self.seed_seq)


class AESCounter(_Counter):
    """The keystream of AES as a bit generator for NumPy.

    `seed` is whatever NumPy's generators take; or else `key` is the key: a little-endian number, bytes, or an array of
    uint64. `counter` is the first block, `bits` the size of the key, and `threads` how many fill long arrays, 0 for all.

    Threads may share one: its methods, and NumPy's, take its `lock`. Compiled code that draws through `ctypes`, `cffi` or
    numba has to hold it, as with NumPy's own.
    """

    _FAMILY = "aes"


class SerpentCounter(_Counter):
    """The keystream of Serpent as a bit generator for NumPy; arguments as of `AESCounter`."""

    _FAMILY = "serpent"


def _restored(cls: type[_Counter], state: Mapping[str, Any], threads: int, seed_seq: Any) -> _Counter:
    inner = state["state"]
    made = cls._of(_key_bytes(inner["key"], inner["bits"]), threads, seed_seq)
    made.state = state
    return made


def _key_bytes(key: Any, bits: int) -> bytes:
    size = bits // 8
    if isinstance(key, (int, np.integer)):
        if not 0 <= int(key) < 1 << bits:
            raise ValueError(f"a key of {bits} bits is a number from 0 to 2**{bits} - 1")
        return int(key).to_bytes(size, "little")
    if isinstance(key, (bytes, bytearray, memoryview)):
        data = _native.bytes_of(key, "the key")
    else:
        data = _words(key).astype("<u8").tobytes()
    if len(data) != size:
        raise ValueError(f"a key of {bits} bits has {size} bytes, not {len(data)}")
    return data


def _words(key: Any) -> np.ndarray:
    """The words of a key, without any conversion that could change them."""
    if isinstance(key, (list, tuple)):
        return np.array([operator.index(word) for word in key], np.uint64)
    words = np.asarray(key)
    if words.dtype.kind not in "iu":
        raise TypeError(f"a key is a number, bytes or integers of 64 bits, not {words.dtype}")
    if np.less(words, 0).any():
        raise ValueError("a key has words from 0 to 2**64 - 1: give uint64")
    return words


def _is_uniform(kind: str) -> bool:
    if kind not in ("uniform", "bits"):
        raise ValueError(f"no kind of filling is called {kind!r}: choose uniform or bits")
    return kind == "uniform"


def default_rng(seed: Any = None) -> Generator:
    """A Generator by AES-128; of a bit generator or a Generator, that one."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else AESCounter(seed))


