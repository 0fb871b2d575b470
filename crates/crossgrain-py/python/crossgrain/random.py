"""Random streams for NumPy: the same on every machine, at any position, for any number of threads.

A generator's words are the keystream of a cipher, whose counter is little-endian. With 128 bits, `AESCounter` equals
randomgen's, bit for bit. Later versions give the same numbers for a key, a counter and a position.

Examples
--------
>>> from crossgrain.random import AESCounter, default_rng
>>> rng = default_rng(42)
>>> rng.integers(0, 100, 3)
array([38, 92, 41])
>>> AESCounter(42).random_raw()
17113231402249823950
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypedDict, overload

import numpy as np
from numpy.random import BitGenerator, Generator
from numpy.random.bit_generator import ISpawnableSeedSequence, SeedlessSeedSequence

from . import _native
from ._number import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self, TypeVar

    from ._types import Bytes, Key, Seed

    _Out = TypeVar("_Out", bound=Bytes)
    _Integers = TypeVar("_Integers", bound=NDArray[np.integer[Any]])

__all__ = ["AESCounter", "SerpentCounter", "default_rng"]

#: The counter wraps at this block.
_BLOCKS = 1 << 128
#: The number of words before it wraps.
_WORDS = 2 * _BLOCKS
#: The distance of one jump, in blocks.
_JUMP = 1 << 63
#: The bits of keys.
_BITS = (128, 192, 256)


class _Counters(TypedDict):
    """The numbers of a state."""

    key: int
    bits: int
    counter: int
    word: int


class State(TypedDict):
    """The state of a generator: its stream, its position, and half a word if one is left."""

    bit_generator: str
    state: _Counters
    has_uint32: int
    uinteger: int


class _Counter(BitGenerator):
    """The common part of the two generators: everything except the cipher."""

    _FAMILY = ""

    def __init__(
        self,
        seed: Seed = None,
        *,
        key: Key | None = None,
        counter: SupportsIndex | None = 0,
        bits: SupportsIndex = 128,
        threads: SupportsIndex = 0,
    ) -> None:
        if hasattr(self, "_core"):
            # Generators and compiled code hold a pointer to the memory of the core.
            raise RuntimeError("the generator is made already: set its state, or make another")
        block = 0 if counter is None else number("counter", counter, _BLOCKS - 1)
        bits = number("bits", bits)
        if bits not in _BITS:
            raise ValueError(f"bits is {bits}, and {self._FAMILY} has keys of 128, 192 or 256 bits")
        if key is not None and seed is not None:
            raise ValueError("both seed and key are given: give one of them")
        given = None if key is None else _key_bytes(key, bits)
        threads = number("threads", threads)
        base: Any = seed if given is None else SeedlessSeedSequence()
        super().__init__(base)
        if given is None:
            words = self.seed_seq.generate_state(bits // 32, np.uint32)
            given = np.asarray(words).astype("<u4").tobytes()
        self._begin(given, threads)
        self._core.restore(self._cipher(given), given, (block, 0, None))

    def _begin(self, key: builtins.bytes, threads: int) -> None:
        self._threads = threads
        self._core = _native.Core(self._cipher(key), key, threads, self.lock)
        self._core.install(self.capsule)

    @classmethod
    def _cipher(cls, key: builtins.bytes) -> str:
        return f"{cls._FAMILY}-{8 * len(key)}"

    def advance(self, delta: SupportsIndex) -> Self:
        """Move forward in place, or backward.

        Parameters
        ----------
        delta : int
            The number of 64-bit words. If negative, the generator moves backward. An unused half of a word is
            discarded.

        Returns
        -------
        AESCounter or SerpentCounter
            The generator itself.

        Examples
        --------
        >>> AESCounter(42).advance(5).position
        5
        """
        self._core.advance(*divmod(_integer("delta", delta) % _WORDS, 2), False)
        return self

    def jumped(self, jumps: SupportsIndex = 1) -> Self:
        """Return a new generator, 2**63 blocks further for each jump.

        Parameters
        ----------
        jumps : int
            The number of jumps. If negative, the new generator is further back.

        Returns
        -------
        AESCounter or SerpentCounter
            A generator of the same key. The two meet after 2**64 words.

        Examples
        --------
        >>> AESCounter(42).jumped().position == 2**64
        True
        """
        distance = _integer("jumps", jumps) * _JUMP
        key, (block, word, _) = self._core.state()
        other = type(self)._of(key, self._threads, self.seed_seq)
        other._core.restore(self._cipher(key), key, ((block + distance) % _BLOCKS, word, None))
        return other

    @overload
    def random_raw(self, size: None = None, output: Literal[True] = True) -> int: ...
    @overload
    def random_raw(self, size: SupportsIndex | Sequence[SupportsIndex], output: Literal[True] = True) -> NDArray[np.uint64]: ...
    @overload
    def random_raw(self, size: SupportsIndex | Sequence[SupportsIndex] | None, output: Literal[False]) -> None: ...
    @overload
    def random_raw(self, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, output: Literal[False]) -> None: ...

    def random_raw(
        self, size: SupportsIndex | Sequence[SupportsIndex] | None = None, output: bool = True
    ) -> int | NDArray[np.uint64] | None:
        """Draw 64-bit words.

        Parameters
        ----------
        size : int or sequence of int, optional
            The shape of the array. By default, one word is drawn.
        output : bool
            If false, the words are skipped and nothing is returned.

        Returns
        -------
        int or numpy.ndarray or None
            A word, or an array of uint64.

        Examples
        --------
        >>> AESCounter(42).random_raw(2)
        array([17113231402249823950,  4343832115687293521], dtype=uint64)
        """
        if size is None:
            word = self._core.draw()
            return word if output else None
        shape = _shape(size)
        if not output:
            self._core.advance(*divmod(math.prod(shape) % _WORDS, 2), True)
            return None
        words = self.fill(np.empty(shape, "<u8"), kind="bits")
        return words.astype(np.uint64, copy=False)

    def spawn(self, n_children: SupportsIndex) -> list[Self]:
        """Return new generators with their own keys, from the children of the seed.

        Parameters
        ----------
        n_children : int
            The number of generators.

        Returns
        -------
        list
            The generators.

        Raises
        ------
        TypeError
            If the generator was made from a key, or its seed sequence cannot spawn.
        """
        count = number("n_children", n_children, (1 << 32) - 1)
        seed_seq: Any = self.seed_seq
        if isinstance(seed_seq, SeedlessSeedSequence):
            raise TypeError("a generator made from a key has no seed to spawn from: use jumped, or make it from a seed")
        if not isinstance(seed_seq, ISpawnableSeedSequence):
            raise TypeError(f"seed is a {type(seed_seq).__name__}, which cannot spawn: use jumped, or a numpy.random.SeedSequence")
        children = seed_seq.spawn(count)
        return [type(self)(child, bits=self._bits, threads=self._threads) for child in children]

    def fill(self, out: _Out, kind: Literal["uniform", "bits"] = "uniform") -> _Out:
        """Fill an array at once, on several threads if it is long.

        Elements are filled in C's order of their indices, for any memory layout. Threads may fill from one
        generator: each gets its own words.

        Parameters
        ----------
        out : array or other writable buffer
            The array. One that is not contiguous in C's order is filled through a copy.
        kind : {"uniform", "bits"}
            With "uniform", `out` is float64 or float32, in this machine's byte order. It gets the numbers that
            `Generator.random` draws. With "bits", it is any plain data of which all bytes are valid. It gets the
            next bytes. The rest of the last 64-bit word is discarded.

        Returns
        -------
        array
            `out`.

        Raises
        ------
        TypeError
            If `out` holds objects, bools or text.
        ValueError
            If `out` does not hold the numbers of `kind`.
        BufferError
            If `out` is read-only or lends no memory. In all these cases nothing is drawn or written.

        Examples
        --------
        >>> AESCounter(42).fill(np.empty((2, 2)))
        array([[0.92771013, 0.23547961],
               [0.9573691 , 0.3402647 ]])
        """
        is_uniform = _is_uniform(kind)
        whole = _whole(out)
        self._core.fill(out if whole is None else whole, is_uniform)
        return _back(out, whole)

    def fill_at(self, position: SupportsIndex, out: _Out, kind: Literal["uniform", "bits"] = "uniform") -> _Out:
        """Fill an array from a position of the stream. The generator does not move, and others may draw meanwhile.

        Parameters
        ----------
        position : int
            The number of the first 64-bit word, counted from counter 0. It is less than 2**129.
        out, kind
            As of `fill`.

        Returns
        -------
        array
            `out`.

        Examples
        --------
        >>> stream = AESCounter(42)
        >>> stream.fill_at(2, np.empty(2)), stream.position
        (array([0.9573691, 0.3402647]), 0)
        """
        block, word = divmod(number("position", position, _WORDS - 1), 2)
        is_uniform = _is_uniform(kind)
        whole = _whole(out)
        self._core.fill_at(block, word, out if whole is None else whole, is_uniform)
        return _back(out, whole)

    def fill_integers(
        self, out: _Integers, low: SupportsIndex, high: SupportsIndex | None = None, *, endpoint: bool = False
    ) -> _Integers:
        """Fill an array with integers of a range, on several threads if it is long.

        They are those that `Generator.integers` draws with the dtype of the array.

        Parameters
        ----------
        out : numpy.ndarray
            An array of integers, in this machine's byte order.
        low, high : int
            The first integer, and the end of the range. With one number, the range is from 0 to that.
        endpoint : bool
            Whether `high` belongs to the range.

        Returns
        -------
        numpy.ndarray
            `out`.

        Examples
        --------
        >>> AESCounter(42).fill_integers(np.empty(5, np.uint8), 1, 6, endpoint=True)
        array([5, 1, 1, 3, 2], dtype=uint8)
        """
        if not isinstance(out, np.ndarray) or out.dtype.kind not in "iu":
            raise TypeError("out is no array of integers: give one")
        limits = np.iinfo(out.dtype)
        start, stop = (0, _integer("low", low)) if high is None else (_integer("low", low), _integer("high", high))
        last = stop if endpoint else stop - 1
        if start > last:
            raise ValueError("low is not less than high: give a range with an integer in it")
        if start < limits.min or last > limits.max:
            raise ValueError(f"low or high is out of bounds of {out.dtype}: give integers from {limits.min} to {limits.max}")
        whole = _whole(out)
        self._core.fill_integers(out if whole is None else whole, start % (1 << 64), last - start)
        return _back(out, whole)

    def bytes(self, length: SupportsIndex) -> builtins.bytes:
        """Return random bytes: those of `fill`.

        Parameters
        ----------
        length : int
            The number of bytes.

        Returns
        -------
        bytes
            The bytes.
        """
        return self.fill(np.empty(_shape(length), np.uint8), kind="bits").tobytes()

    @property
    def position(self) -> int:
        """The number of the next word, counted from counter 0."""
        _, (block, word, _) = self._core.state()
        return 2 * block + word

    @property
    def state(self) -> State:
        """The whole state: key and counter as numbers, and half a word if one is left.

        A state that is refused changes nothing.
        """
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
            if not isinstance(inner, dict):
                raise TypeError("state holds a dictionary under state, as state gives it")
            bits, block = number("bits", inner["bits"]), number("counter", inner["counter"], _BLOCKS - 1)
            key, word = _key_bytes(inner["key"], bits), number("word", inner["word"], 1)
            has_half = number("has_uint32", value["has_uint32"], 1)
            half = number("uinteger", value["uinteger"], (1 << 32) - 1)
        except KeyError as missing:
            raise ValueError(f"state lacks {missing}: give what state gave") from None
        self._core.restore(self._cipher(key), key, (block, word, half if has_half else None))

    @property
    def _bits(self) -> int:
        return 8 * len(self._core.state()[0])

    @classmethod
    def _of(cls, key: builtins.bytes, threads: int, seed_seq: Any) -> Self:
        made = cls.__new__(cls)
        BitGenerator.__init__(made, seed_seq)
        made._begin(key, threads)
        return made

    def __setstate__(self, state_seed_seq: Any) -> None:
        # The base class replaces the seed sequence even if it then refuses the state.
        before = self.state
        self.state = state_seed_seq if isinstance(state_seed_seq, dict) else state_seed_seq[0]
        try:
            super().__setstate__(state_seed_seq)  # type: ignore[misc]
        except BaseException:
            self.state = before
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.state, self._threads, self.seed_seq)


class AESCounter(_Counter):
    """The keystream of AES as a bit generator for NumPy.

    Threads may share a generator: its methods, and NumPy's, take its `lock`. Compiled code that draws through
    `ctypes`, `cffi` or numba must hold the lock, as with NumPy's own generators.

    Parameters
    ----------
    seed : None, int, array of int, or seed sequence
        The seed, as NumPy's generators take it. By default it comes from the operating system.
    key : int, bytes, or array of uint64, optional
        The key in place of a seed: a little-endian number, its bytes, or its words.
    counter : int
        The first block, from 0 to 2**128 - 1.
    bits : {128, 192, 256}
        The size of the key.
    threads : int
        The largest number of threads that fill long arrays; 0 for all.

    Examples
    --------
    >>> np.random.Generator(AESCounter(42)).random()
    0.9277101332283206
    """

    _FAMILY = "aes"


class SerpentCounter(_Counter):
    """The keystream of Serpent as a bit generator for NumPy.

    Parameters are those of `AESCounter`.

    Examples
    --------
    >>> np.random.Generator(SerpentCounter(42)).random()
    0.7318819776035185
    """

    _FAMILY = "serpent"


def _restored(cls: type[_Counter], state: State, threads: int, seed_seq: Any) -> _Counter:
    inner = state["state"]
    made = cls._of(_key_bytes(inner["key"], inner["bits"]), threads, seed_seq)
    made.state = state
    return made


def _integer(name: str, value: Any) -> int:
    """An integer without limits."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not a {type(value).__name__}") from None


def _shape(size: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """The shape of an array."""
    try:
        sizes: Sequence[SupportsIndex] = (operator.index(size),)  # type: ignore[arg-type]
    except TypeError:
        sizes = (size,) if isinstance(size, (str, bytes)) or not np.iterable(size) else tuple(size)  # type: ignore[assignment]
    shape = tuple(_integer("size", one) for one in sizes)
    if any(one < 0 for one in shape):
        raise ValueError("negative dimensions are not allowed: size is 0 or more")
    return shape


def _key_bytes(key: Key, bits: int) -> bytes:
    size = bits // 8
    if bits not in _BITS:
        raise ValueError(f"bits is {bits}, and keys have 128, 192 or 256 bits")
    if isinstance(key, (bytes, bytearray, memoryview)):
        data = _native.bytes_of(key, "key")
    elif isinstance(key, SupportsIndex) and (not isinstance(key, np.ndarray) or key.ndim == 0):
        return number("key", key, (1 << bits) - 1).to_bytes(size, "little")
    else:
        data = _words(key).astype("<u8").tobytes()
    if len(data) != size:
        raise ValueError(f"key has {len(data)} bytes, and one of {bits} bits has {size}")
    return data


def _words(key: Any) -> NDArray[Any]:
    """The words of a key, without any conversion that could change them."""
    if isinstance(key, (list, tuple)):
        return np.array([number("each word of key", word, (1 << 64) - 1) for word in key], np.uint64)
    words = np.asarray(key)
    if words.dtype.kind not in "iu":
        raise TypeError(f"key is a number, bytes or integers of 64 bits, not {words.dtype}")
    if np.less(words, 0).any():
        raise ValueError("key has words from 0 to 2**64 - 1: give uint64")
    return words


def _is_uniform(kind: str) -> bool:
    if kind not in ("uniform", "bits"):
        raise ValueError(f"no kind of filling is called {kind!r}: choose uniform or bits")
    return kind == "uniform"


def _whole(out: object) -> NDArray[Any] | None:
    """A contiguous array to fill in place of an array that is not contiguous or not aligned."""
    if not isinstance(out, np.ndarray) or out.flags.c_contiguous and out.flags.aligned:
        return None
    if not out.flags.writeable:
        raise BufferError("out cannot be used: give a writable array")
    return np.empty(out.shape, out.dtype)


def _back(out: _Out, whole: NDArray[Any] | None) -> _Out:
    if whole is not None:
        assert isinstance(out, np.ndarray)
        out[...] = whole
    return out


def default_rng(seed: Seed | BitGenerator | Generator = None) -> Generator:
    """Return a NumPy generator that draws from AES-128.

    Parameters
    ----------
    seed : seed, bit generator or Generator
        The seed. A Generator is returned as it is, and a bit generator becomes the source of a new one.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> default_rng(42).random()
    0.9277101332283206
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else AESCounter(seed))
