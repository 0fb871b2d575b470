"""Key search: the description of a lost key or passphrase, and the search of one shard."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native, _search_input
from ._number import number

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from ._types import (
        CipherName,
        FileFormatName,
        FileSource,
        FormName,
        HashName,
        HeaderName,
        KdfName,
        LookName,
        MaskSource,
        ModeName,
        WordList,
    )

#: Refused words: the reason, their count, and the number of the first.
LeftOut = tuple[str, int, int]

#: Arguments that a file supplies.
_OF_FILE = ("known", "targets", "iv", "crypt", "tag", "aad", "sector", "kdf", "salt", "log_n", "block_size", "lanes", "memory_kib")

#: Arguments that describe one target.
_OF_ONE = ("known", "crypt", "tag", "aad", "looks")

#: Arguments that say more about a file, and those of them that no other search has.
_FACTS = ("cipher", "mode", "hash", "pbkdf2", "iterations", "pim", "slot", "header", "looks")
_ONLY_OF_FILE = ("format", "hash", "pbkdf2", "pim", "slot", "header", "plain")

#: Integer arguments and their maxima.
_NUMBERS = {
    "sector": (1 << 128) - 1, "iterations": (1 << 32) - 1, "log_n": (1 << 8) - 1, "pim": (1 << 32) - 1, "slot": (1 << 32) - 1,
    "block_size": (1 << 32) - 1, "lanes": (1 << 32) - 1, "memory_kib": (1 << 32) - 1, "increment_min": (1 << 32) - 1,
    "increment_max": (1 << 32) - 1,
}

#: Arguments that are names or text, and those that are True or False.
_NAMES = ("cipher", "mode", "looks", "format", "hash", "header", "key_mask", "form", "kdf")
_FLAGS = ("hex", "pbkdf2", "strict_rules", "increment", "any_target")

#: The maximum number of shards.
_SHARDS_MAX = (1 << 64) - 1

#: The arguments that define the candidates. Exactly one is given.
_CANDIDATES = ("key_mask", "mask", "range", "words")

#: Arguments that are masks, and those that describe masks.
_MASKS = ("mask", "mask_before", "mask_after")
_OF_MASKS = ("hex", "sets", "increment")

#: Arguments that describe the words of a list, those of the second list, and those of growing masks.
_OF_WORDS = ("form", "mask_before", "mask_after", "words_after", "rules", "rule_files", "strict_rules")
_OF_SECOND = ("rule_right",)
_OF_INCREMENT = ("increment_min", "increment_max")


class Found(NamedTuple):
    r"""A right candidate.

    Examples
    --------
    >>> import crossgrain
    >>> found = crossgrain.Found(7, "café".encode(), bytes(16))
    >>> found.text, found.passphrase
    ('café', b'caf\xc3\xa9')
    >>> crossgrain.Found(7, b"\xff", bytes(16)).text is None
    True
    """

    #: Its number.
    number: int
    #: The candidate.
    candidate: bytes
    #: The key derived from it.
    key: bytes
    #: The index of its target in `file` or `targets`. 0 if there is only one.
    target: int = 0

    @property
    def passphrase(self) -> bytes:
        """The passphrase of a file: the candidate."""
        return self.candidate

    @property
    def text(self) -> str | None:
        """The candidate as text. None if it is not text in UTF-8, or has control characters."""
        try:
            text = self.candidate.decode()
        except UnicodeDecodeError:
            return None
        return text if text.isprintable() else None


@dataclass(frozen=True, kw_only=True, repr=False)
class Search:
    """A lost key or passphrase: what is known of it, and what it may be.

    The fields are the options of the command line's `search`. A key is recognised by texts that are `known`; by the `tag` of a
    mode with one, or by the `looks` of the plaintext, where `crypt` is the ciphertext; or by the `file` that it opens. Lists of
    files and `targets` are searched for the key of each.

    A search can be pickled, and does not print secrets. Of a file it keeps only the bytes that a search needs: the header, and
    for a zip archive also its smallest encrypted entry.

    Examples
    --------
    >>> import crossgrain
    >>> known = [("00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a")]
    >>> crossgrain.Search(cipher="aes-128", known=known, key_mask="000102030405060708090a0b0c0d????").size
    65536

    A file of another program, here of ``openssl enc -aes-128-cbc -md md5 -a``:

    >>> file = b"U2FsdGVkX1/D1A2D8NKh6adUmWte+5tr6+dglBVLdu4MUm5mmQCRUsgWSUbgACMS"
    >>> lost = crossgrain.Search(file=file, cipher="aes-128", hash="md5", mask="secret?d")
    >>> crossgrain.search_shard(lost)[0].text
    'secret7'

    Words with the strings of a mask behind them. The mask stands for one or two places:

    >>> words = crossgrain.Search(file=file, cipher="aes-128", hash="md5", words=["no", "secret"], mask_after="?d?d", increment=True)
    >>> words.size, crossgrain.search_shard(words)[0].number
    (220, 117)

    Two keys at once:

    >>> targets = [(bytes(16), "222788fe9f0c81e0f7329e8cb46e10f5"), (bytes(16), "92928c869ae309ff6d214a92d3488718")]
    >>> both = crossgrain.Search(cipher="aes-128", targets=targets, mask=["Winter?d?d", "Summer?d?d"])
    >>> [(found.text, found.target) for found in crossgrain.search_shard(both)]
    [('Winter07', 0), ('Summer42', 1)]
    """

    #: The cipher, with its key size in bits: "aes-128".
    cipher: CipherName | None = None
    #: Plaintext and ciphertext, both from the beginning: bytes, or hex with ? for unknown digits of the
    #: plaintext.
    known: Sequence[tuple[bytes | str, bytes | str]] = ()
    #: The mode, by its name in `MODES`. The default is ecb, and cbc for a file of openssl.
    mode: ModeName | None = None
    #: Its initial value; the nonce of a mode with a tag.
    iv: bytes = b""
    #: The ciphertext if no plaintext is known: bytes or hex.
    crypt: bytes | str = b""
    #: The look of the plaintext: "printable", "text" for UTF-8, or "file" for the first bytes of common file formats. Of a file
    #: of openssl also "any".
    looks: LookName | None = None
    #: The tag of an authenticated mode, and the associated data: bytes or None. siv also takes a list of
    #: strings.
    tag: bytes = b""
    aad: bytes | Sequence[bytes] | None = None
    #: The sector number of xts. `known` then starts at the beginning of the sector and has its whole
    #: ciphertext.
    sector: int = 0
    #: An encrypted file or device: its path, or its bytes. Candidates are passphrases, or keys if crossgrain encrypted it with a
    #: key. A list of files is searched for the passphrase of each.
    file: FileSource | Sequence[FileSource] | None = None
    #: Several targets, each with a key of its own, instead of `known`: pairs as in `known`, or the path of a list of
    #: ciphertext:plaintext in hex.
    targets: Sequence[tuple[bytes | str, bytes | str]] | str | os.PathLike[str] = ()
    #: Whether the search ends when one of several targets is found, instead of all.
    any_target: bool = False
    #: The format of the file. It is recognised by the first bytes, except those of VeraCrypt and TrueCrypt.
    format: FileFormatName | None = None
    #: The hash of the file's key derivation: -md of openssl, the hash of VeraCrypt. All usual ones are tried unless given.
    hash: HashName | None = None
    #: Whether openssl made the file with -pbkdf2. `iterations` is its -iter.
    pbkdf2: bool = False
    #: The PIM of a VeraCrypt volume.
    pim: int | None = None
    #: The key slot of a LUKS device. All are tried unless given.
    slot: int | None = None
    #: The header of a VeraCrypt or TrueCrypt volume: outer, hidden, backup, hidden-backup or system.
    header: HeaderName | None = None
    #: The first bytes of the plaintext of a file of openssl: bytes, or hex with ? for unknown digits.
    plain: bytes | str | None = None
    #: A key in hex, with ? for each unknown digit.
    key_mask: str | None = None
    #: A character or a set for every byte, or for every digit if `hex`: ?l ?u ?d ?s ?a ?b ?h ?H, ?1 to ?4, ?? for ?. A list of
    #: masks is tried mask by mask. A path, or text that ends in .hcmask, is a file of masks.
    mask: MaskSource | None = None
    hex: bool = False
    #: The character sets ?1 to ?4.
    sets: Sequence[str | bytes] = ()
    #: The first and the last key, as big-endian integers.
    range: tuple[int, int] | None = None
    #: Whether masks also stand for their first places: for the first `increment_min` places, then for one more, up to
    #: `increment_max` or all.
    increment: bool = False
    increment_min: int = 1
    increment_max: int | None = None
    #: A word list: the path of a file, the bytes of a file, or a sequence of words. Files may be compressed by gzip, xz or zstd.
    words: WordList | None = None
    #: Masks whose strings are put before and after each word, in the forms of `mask`.
    mask_before: MaskSource | None = None
    mask_after: MaskSource | None = None
    #: A second list, in the forms of `words`: each of its words is put after each word. It is held in memory, and may have up
    #: to 1 GiB.
    words_after: WordList | None = None
    #: The format of the list: lines, hex (one word per line), or raw (keys back to back).
    form: FormName = "lines"
    #: Rules for words.
    rules: Sequence[str | bytes] = ()
    #: Files of rules: their paths, or their bytes. Each rule of one file is followed by each of the next. Rules with unknown
    #: functions cause a warning and are skipped, or an error if `strict_rules`.
    rule_files: Sequence[str | os.PathLike[str] | bytes] = ()
    strict_rules: bool = False
    #: A rule for the words of `words_after`.
    rule_right: str | bytes | None = None
    #: The key derivation: exact, zeros, repeat, sha256, pbkdf2-sha1, pbkdf2-sha256, pbkdf2-sha512, scrypt, argon2id. The
    #: default is zeros for text and exact for keys.
    kdf: KdfName | None = None
    #: Parameters of the kdf, named as on the command line. A kdf with a salt needs one, even if it is empty.
    salt: bytes | None = None
    iterations: int | None = None
    log_n: int = 0
    block_size: int = 8
    lanes: int = 1
    memory_kib: int = 0

    def __post_init__(self) -> None:
        if sum(getattr(self, name) is not None for name in _CANDIDATES) != 1:
            raise _native.Error(f"candidates are told in one way: give one of {', '.join(_CANDIDATES)}")
        self._check_types()
        self._set("targets", _search_input.targets(self.targets))
        self._check_uses()
        if self.range is not None:
            first, last = self.range
            self._set("range", (number("range", first, None), number("range", last, None)))
        if self.file is not None:
            self._set("file", _search_input.files(self.file, self.format, self._facts()))
        if self.words is not None:
            self._set("words", _search_input.words(self.words, self.form, "words"))
        if self.words_after is not None:
            self._set("words_after", _search_input.words(self.words_after, "lines", "words_after"))
        for name in _MASKS:
            if (masks := self._masks(name)) is not None and masks.file is not None:
                self._set(name, masks)
        self._set("rule_files", _search_input.rule_texts(self.rule_files, self.strict_rules))
        # Invalid arguments raise here.
        for reason, count, first in self._checked[3]:
            why = f"words_after: {count} words were left out, being {reason} (the first is word {first})"
            warnings.warn(why, stacklevel=3)

    def _check_uses(self) -> None:
        """Refuses arguments that have no use beside the others."""
        said = self._given(_OF_FILE if self.file is not None else _ONLY_OF_FILE)
        if said and self.file is not None:
            raise _native.Error(f"the file says how it was encrypted: leave out {', '.join(said)}")
        if self.file is None and self._given(("targets",)) and (said := self._given(_OF_ONE)):
            raise _native.Error(f"targets have plaintext and ciphertext: leave out {', '.join(said)}")
        masks = [name for name in _MASKS if getattr(self, name) is not None]
        for names, is_used, described, remedy in (
            (_ONLY_OF_FILE, self.file is not None, "a file", "file"),
            (_OF_WORDS, self.words is not None, "words", "words"),
            (_OF_SECOND, self.words_after is not None, "the words of a second list", "words_after"),
            (_OF_MASKS, bool(masks), "masks", ", ".join(_MASKS[:-1]) + f" or {_MASKS[-1]}"),
            (_OF_INCREMENT, self.increment, "masks of several lengths", "increment"),
        ):
            if not is_used and (said := self._given(names)):
                verb, them = ("describes", "it") if len(said) == 1 else ("describe", "them")
                raise _native.Error(f"{', '.join(said)} {verb} {described}: give {remedy}, or leave {them} out")
        if self.rules and self.rule_files:
            raise _native.Error("rules and rule_files are both given: leave one out")
        if self.increment_max is not None and self.increment_max < self.increment_min:
            raise _native.Error("increment_max is below increment_min: exchange them")

    def _check_types(self) -> None:
        for name, most in _NUMBERS.items():
            if (value := getattr(self, name)) is not None:
                self._set(name, number(name, value, most))
        for name in _NAMES:
            if not isinstance(value := getattr(self, name), (str, type(None))):
                raise TypeError(f"{name} is a string, not a {type(value).__name__}")
        for name in _FLAGS:
            if not isinstance(value := getattr(self, name), bool):
                raise TypeError(f"{name} is True or False, not a {type(value).__name__}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _given(self, names: Sequence[str]) -> list[str]:
        """Those of these arguments that differ from their defaults."""
        fields = self.__dataclass_fields__
        return [name for name in names if not _is_default(getattr(self, name), fields[name].default)]

    def _masks(self, name: str) -> _search_input.Masks | None:
        """The masks of an argument."""
        given = getattr(self, name)
        return None if given is None else _search_input.masks(given, name)

    def __repr__(self) -> str:
        formats = dict.fromkeys(header.format for header in self._headers())
        what = " and ".join(formats) or self.cipher
        count = len(self._doubts())
        what = what if count == 1 else f"{what}, {count} targets"
        return f"Search({what}, {self.size} candidates by {self.kernel}, secret)"

    @cached_property
    def size(self) -> int:
        """The number of candidates. The words of a list are counted."""
        return _native.search_size(self._job())

    @property
    def kernel(self) -> str:
        """The kernel that tries them."""
        return self._checked[0]

    @property
    def doubt(self) -> str | None:
        """How often wrong passphrases of a file fit, if that is often. A search then returns all that fit."""
        return "; ".join(dict.fromkeys(filter(None, self._doubts()))) or None

    @property
    def advice(self) -> str | None:
        """Advice if no passphrase opens the file. None for several files."""
        headers = self._headers()
        return headers[0].advice if len(headers) == 1 else None

    def _headers(self) -> tuple[_search_input.Header, ...]:
        return _search_input.headers(self.file)

    def _doubts(self) -> list[str | None]:
        """How often wrong passphrases fit, for each target."""
        return [header.doubt for header in self._headers()] or [None] * max(1, len(self._pairs()))

    def _pairs(self) -> Sequence[tuple[bytes | str, bytes | str]]:
        """The targets, which were read if they were a path."""
        pairs: Any = self.targets
        return pairs  # type: ignore[no-any-return]

    @cached_property
    def _checked(self) -> tuple[str, int, int | None, list[LeftOut]]:
        """The kernel, the number of candidates per word, the length of keys if candidates are keys, and the refused words of
        the second list."""
        return _native.search_check(self._job())

    def _facts(self) -> dict[str, Any]:
        """What is said about the file."""
        plain = None if self.plain is None else _search_input.partly_known(self.plain, "plain")
        return {**{name: getattr(self, name) for name in _FACTS}, "plain": plain}

    def _job(self) -> dict[str, Any]:
        """The arguments of the native half."""
        is_text = self.mask is not None and not self.hex or self.words is not None and self.form == "lines"
        same = ("cipher", "looks", "sector", "key_mask", "hex", "range", "words", "words_after", "form", "rule_files", "strict_rules")
        return {
            **{name: getattr(self, name) for name in (*same, "log_n", "block_size", "lanes", "memory_kib")},
            "headers": [header[:3] for header in self._headers()],
            "targets": [_search_input.texts(pair, "targets") for pair in self._pairs()],
            "any_target": self.any_target,
            "finished": [],
            "facts": self._facts(),
            "mode": self.mode or "ecb",
            "iterations": self.iterations or 0,
            "known": [_search_input.texts(pair, "known") for pair in self.known],
            "crypt": _search_input.unhex(self.crypt, "crypt"),
            **{name: _native.bytes_of(getattr(self, name), name) for name in ("iv", "tag")},
            "salt": None if self.salt is None else _native.bytes_of(self.salt, "salt"),
            "aad": _search_input.strings(self.aad),
            **{name: self._masks(name) for name in _MASKS},
            "increment": (self.increment_min, self.increment_max) if self.increment else None,
            "sets": [text if isinstance(text, str) else _native.bytes_of(text, "sets") for text in self.sets],
            "rules": [_search_input.to_bytes(rule, "rules") for rule in self.rules],
            "rule_right": None if self.rule_right is None else _search_input.to_bytes(self.rule_right, "rule_right"),
            "kdf": self.kdf or ("zeros" if is_text and self.file is None else "exact"),
        }


def _is_default(value: Any, default: Any) -> bool:
    """Whether an argument has its default. An empty sequence is the same as another."""
    if default is None:
        return value is None
    return not len(value) if default in ((), b"") else bool(value == default)


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
    ends the search. Words that are no candidates cause a warning. Other Python threads run meanwhile.

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
        Whether the search continues after the first right candidate of each target.
    progress : callable, optional
        It is called from time to time with the number of candidates tried and their total. An exception that it raises ends
        the search. The words of a list are counted before.
    threads : int
        The number of threads; 0 for all.
    device : str or sequence of str, optional
        Devices that `devices` lists, as ["cuda:0", "cuda:1"] or "cuda:0,cuda:1", or "gpu" for the first GPU. A device tries the
        keys of masks and ranges that are known by a block, or derives those of sha256 and pbkdf2-sha256. If it fails, the CPU
        does the rest, and a warning says so.

    Returns
    -------
    list of Found
        The right candidates by number; an empty list if all were tried and none is right.

    Raises
    ------
    NothingTried
        If the part has no candidate: `words` is empty, `skip` is past the end, `limit` is 0, or every word was left out.

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
    warn_of_doubt(search)
    found, left_out, failures, tried = _native.search_shard(job, skip, limit, shard, goes_on, progress, threads, devices)
    _warn(left_out)
    _warn_of_devices(failures)
    if not found and tried == 0:
        raise nothing_tried()
    return sorted(Found(*one) for one in found)


def warn_of_doubt(search: Search) -> None:
    """Warns if a search continues after a find because wrong passphrases fit too."""
    if search.doubt is not None:
        warnings.warn(f"{search.doubt}: all that fit are returned", stacklevel=3)


def nothing_tried() -> _native.NothingTried:
    """The error of a search without candidates."""
    return _native.NothingTried("no candidate was tried: look at words or mask, and at skip, limit and shard")


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
