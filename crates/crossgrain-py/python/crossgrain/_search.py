"""Key search: the description of a lost key, and the search of one shard."""

from __future__ import annotations

import binascii
import os
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native
from ._number import number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    from ._types import Bytes, CipherName, ModeName

#: Refused words: the reason, their count, and the number of the first.
LeftOut = tuple[str, int, int]

#: Arguments that a file supplies.
_OF_FILE = (
    "cipher", "known", "mode", "iv", "crypt", "looks",
    "tag", "aad", "sector", "kdf", "salt", "iterations",
    "log_n", "block_size", "lanes", "memory_kib",
)

#: Integer arguments and their maxima.
_NUMBERS = {
    "sector": (1 << 128) - 1, "iterations": (1 << 32) - 1, "log_n": (1 << 8) - 1,
    "block_size": (1 << 32) - 1, "lanes": (1 << 32) - 1, "memory_kib": (1 << 32) - 1,
}

#: The maximum number of shards.
_SHARDS_MAX = (1 << 64) - 1

#: The arguments that define the candidates. Exactly one is given.
_CANDIDATES = ("key_mask", "mask", "range", "words")


class Found(NamedTuple):
    """A right candidate."""

    #: Its number.
    number: int
    #: The candidate.
    candidate: bytes
    #: The key derived from it.
    key: bytes


@dataclass(frozen=True, kw_only=True, repr=False)
class Search:
    """A lost key: what is known of it, and what it may be. The fields are the options of the command line's `search`.

    A key is recognised by texts that are `known`; by the `tag` of a mode with one, or by the `looks` of the plaintext, where
    `crypt` is the ciphertext; or by the `file` that it opens. A search can be pickled, and does not print secrets.

    Examples
    --------
    >>> import crossgrain
    >>> known = [("00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a")]
    >>> crossgrain.Search(cipher="aes-128", known=known, key_mask="000102030405060708090a0b0c0d????").size
    65536
    """

    #: The cipher, with its key size in bits: "aes-128".
    cipher: CipherName | None = None
    #: Plaintext and ciphertext, both from the beginning: bytes, or hex with ? for unknown digits of the
    #: plaintext.
    known: Sequence[tuple[bytes | str, bytes | str]] = ()
    #: The mode, by its name in `MODES`.
    mode: ModeName = "ecb"
    #: Its initial value; the nonce of a mode with a tag.
    iv: bytes = b""
    #: The ciphertext if no plaintext is known: bytes or hex.
    crypt: bytes | str = b""
    #: The look of the plaintext: "printable", or "file" for the first bytes of common file formats.
    looks: str | None = None
    #: The tag of an authenticated mode, and the associated data: bytes or None. siv also takes a list of
    #: strings.
    tag: bytes = b""
    aad: bytes | Sequence[bytes] | None = None
    #: The sector number of xts. `known` then starts at the beginning of the sector and has its whole
    #: ciphertext.
    sector: int = 0
    #: An encrypted file: its path or its first bytes. Candidates are passphrases, or keys if it was encrypted
    #: with a key.
    file: str | os.PathLike[str] | bytes | None = None
    #: A key in hex, with ? for each unknown digit.
    key_mask: str | None = None
    #: A character or a set for every byte, or for every digit if `hex`: ?l ?u ?d ?s ?a ?b ?h ?H, ?1 to ?4, ?? for ?.
    mask: str | bytes | None = None
    hex: bool = False
    #: The character sets ?1 to ?4.
    sets: Sequence[str | bytes] = ()
    #: The first and the last key, as big-endian integers.
    range: tuple[int, int] | None = None
    #: A word list: the bytes of a file, or a sequence of words.
    words: Bytes | Sequence[str | Bytes] | None = None
    #: The format of the list: lines, hex (one word per line), or raw (keys back to back).
    form: str = "lines"
    #: Rules for words.
    rules: Sequence[str | bytes] = ()
    #: The key derivation: exact, zeros, repeat, sha256, pbkdf2-sha256, pbkdf2-sha512, scrypt, argon2id. The
    #: default is zeros for text and exact for keys.
    kdf: str | None = None
    #: Parameters of the kdf, named as on the command line. A kdf with a salt needs one, even if it is empty.
    salt: bytes | None = None
    iterations: int = 0
    log_n: int = 0
    block_size: int = 8
    lanes: int = 1
    memory_kib: int = 0

    def __post_init__(self) -> None:
        if sum(getattr(self, name) is not None for name in _CANDIDATES) != 1:
            raise _native.Error(f"candidates are told in one way: give one of {', '.join(_CANDIDATES)}")
        if self.file is not None:
            fields = self.__dataclass_fields__
            said = [name for name in _OF_FILE if getattr(self, name) != fields[name].default]
            if said:
                raise _native.Error(f"the file says how it was encrypted: leave out {', '.join(said)}")
            object.__setattr__(self, "file", _beginning(self.file))
        for name, most in _NUMBERS.items():
            object.__setattr__(self, name, number(name, getattr(self, name), most))
        if self.range is not None:
            first, last = self.range
            object.__setattr__(self, "range", (number("range", first, None), number("range", last, None)))
        if isinstance(self.words, (list, tuple)):
            object.__setattr__(self, "words", _list([_bytes(word) for word in self.words]))
        self.size  # noqa: B018 - invalid arguments raise here

    def __repr__(self) -> str:
        size, kernel, _ = _native.search_size(self._job())
        return f"Search({self.cipher or 'a file'}, {size} candidates by {kernel}, secret)"

    @property
    def size(self) -> int:
        """The number of candidates."""
        return _native.search_size(self._job())[0]

    @property
    def kernel(self) -> str:
        """The kernel that tries them."""
        return _native.search_size(self._job())[1]

    def _job(self) -> dict[str, Any]:
        """The arguments of the native half."""
        is_text = self.mask is not None and not self.hex or self.words is not None and self.form == "lines"
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "known": [_texts(plain, crypt) for plain, crypt in self.known],
            "crypt": _unhex(self.crypt),
            **{name: _native.bytes_of(getattr(self, name), name) for name in ("iv", "tag")},
            "salt": None if self.salt is None else _native.bytes_of(self.salt, "salt"),
            "aad": [_native.bytes_of(aad, "aad") for aad in _strings(self.aad)],
            "mask": None if self.mask is None else _bytes(self.mask),
            "sets": [_bytes(text) for text in self.sets],
            "rules": [_bytes(rule) for rule in self.rules],
            "kdf": self.kdf or ("zeros" if is_text and self.file is None else "exact"),
        }

    def _piece(self, start: int, stop: int) -> tuple[Search, int]:
        """A search with only the words from which these candidates come, and the number of its first candidate."""
        if self.words is None:
            return self, 0
        first, last = start // self._per_word, -(-stop // self._per_word)
        words: Any = self.words
        piece = np.frombuffer(words, np.uint8)[self._bounds[first] : self._bounds[last]]
        return replace(self, words=piece.tobytes()), first * self._per_word

    @property
    def _per_word(self) -> int:
        """The number of candidates per word."""
        return max(len(self.rules), 1)

    @cached_property
    def _bounds(self) -> NDArray[np.intp]:
        """The offset of each word, and the end of the last one."""
        given: Any = self.words
        words = np.frombuffer(given, np.uint8)
        if self.form == "raw":
            starts = np.arange(0, len(words), _native.search_size(self._job())[2])
        else:
            starts = np.concatenate([[0], np.flatnonzero(words == ord("\n")) + 1])
        # No word follows a final line end.
        return np.append(starts[starts < len(words)], len(words))


def search_shard(
    search: Search,
    *,
    skip: int = 0,
    limit: int | None = None,
    shard: tuple[int, int] | None = None,
    goes_on: bool = False,
    progress: Callable[[int, int], object] | None = None,
    threads: int = 0,
    device: str | Sequence[str] | None = None,
) -> list[Found]:
    """Try a part of the candidates of a search.

    A key is planted in every shard. If it is not found, the search raises `Error`, and nothing that it found counts. Ctrl-C
    ends the search. Words that are no candidates cause a warning.

    Parameters
    ----------
    search : Search
        The search.
    skip : int
        The number of candidates to leave out at the beginning.
    limit : int, optional
        The largest number of candidates to try after those.
    shard : tuple of int, optional
        With (i, n), only share i of n equal shares is tried. Shares are numbered from 0.
    goes_on : bool
        Whether the search continues after the first right candidate.
    progress : callable, optional
        It is called from time to time with the number of candidates tried and their total. An exception that it raises ends
        the search.
    threads : int
        The number of threads; 0 for all.
    device : str or sequence of str, optional
        Devices that `devices` lists, as ["cuda:0", "cuda:1"] or "cuda:0,cuda:1", or "gpu" for the first GPU. A device tries the
        keys of masks and ranges that are known by a block, or derives those of sha256 and pbkdf2-sha256. If it fails, the CPU
        does the rest, and a warning says so.

    Returns
    -------
    list of Found
        The right candidates.

    Examples
    --------
    >>> import crossgrain
    >>> known = [("00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a")]
    >>> search = crossgrain.Search(cipher="aes-128", known=known, key_mask="000102030405060708090a0b0c0d0e??")
    >>> crossgrain.search_shard(search)[0].key.hex()
    '000102030405060708090a0b0c0d0e0f'
    """
    job, devices = search._job(), device_names(device)
    skip, limit = number("skip", skip, None), None if limit is None else number("limit", limit, None)
    if shard is not None:
        index, count = shard
        shard = number("shard", index, _SHARDS_MAX), number("shard", count, _SHARDS_MAX)
    threads = number("threads", threads)
    found, left_out, failures = _native.search_shard(job, skip, limit, shard, goes_on, progress, threads, devices)
    _warn(left_out)
    _warn_of_devices(failures)
    return [Found(*one) for one in found]


def device_names(device: str | Sequence[str] | None) -> list[str]:
    """The requested devices: none, one, or several."""
    names = device.split(",") if isinstance(device, str) else [] if device is None else device
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise _native.Error('device names one device or several: give "cuda:0", or ["cuda:0", "cuda:1"]')
    return list(names)


def _warn(left_out: Sequence[LeftOut]) -> None:
    for reason, count, first in left_out:
        why = f"{count} candidates were left out, being {reason} for a key (the first is of word {first})"
        warnings.warn(why, stacklevel=3)


def _warn_of_devices(failures: Sequence[str]) -> None:
    for failure in failures:
        warnings.warn(f"{failure}: the CPU went on", stacklevel=3)


def _beginning(file: str | os.PathLike[str] | bytes) -> bytes:
    """The beginning of a file, which suffices to test its key."""
    if isinstance(file, bytes):
        return file[: _native.search_prefix_bytes()]
    with open(os.fspath(file), "rb") as opened:  # accepts a path, but no file descriptor
        return opened.read(_native.search_prefix_bytes())


def _strings(aad: Any) -> Sequence[Any]:
    """The strings of associated data: none, one, or a list or tuple of them."""
    if aad is None:
        return ()
    return aad if isinstance(aad, (list, tuple)) else (aad,)


def _bytes(text: str | Buffer) -> bytes:
    return text.encode() if isinstance(text, str) else _native.bytes_of(text, "a text")


def _list(words: list[bytes]) -> bytes:
    """Words as the lines of a list, if they can be lines."""
    if any(b"\n" in word or word.endswith(b"\r") for word in words):
        raise _native.Error("a word has a line end in it: take it out")
    return b"".join(word + b"\n" for word in words)


def _texts(plain: Buffer | str, crypt: Buffer | str) -> tuple[bytes, bytes, bytes]:
    """The plaintext as far as it is known, the mask of its known bits, and the ciphertext."""
    if not isinstance(plain, str):
        known = _native.bytes_of(plain, "a text")
        return known, b"\xff" * len(known), _unhex(crypt)
    mask = "".join("0" if digit == "?" else "f" for digit in plain)
    return _unhex(plain.replace("?", "0")), _unhex(mask), _unhex(crypt)


def _unhex(text: Buffer | str) -> bytes:
    if not isinstance(text, str):
        return _native.bytes_of(text, "a text")
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise _native.Error("a text is neither bytes nor pairs of hex digits: mend it") from None
