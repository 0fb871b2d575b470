"""Arguments of a search as the native half takes them: texts, words, rules and the headers of files."""

from __future__ import annotations

import binascii
import os
import stat
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing_extensions import Buffer

#: First bytes by which a reader of lists would take a word for a byte order mark, or the list for a compressed one.
_SIGNATURES = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


class Header(NamedTuple):
    """The bytes of an encrypted file that a search needs."""

    #: The name of the format.
    format: str
    #: The length of the file.
    len_bytes: int
    #: The bytes with their offsets.
    pieces: tuple[tuple[int, bytes], ...]
    #: How often wrong passphrases fit, if that is often.
    doubt: str | None
    #: Advice for a search without a find.
    advice: str | None


#: The end of the name of a file of masks.
_MASK_FILE = ".hcmask"

#: The maximum length of a file of masks.
_MASKS_BYTES = 64 << 20


class Masks(NamedTuple):
    """Masks as the native half takes them."""

    #: The name of their file. None if they are not of a file.
    file: str | None
    #: The masks, or the text of the file.
    texts: tuple[bytes, ...]


def header(file: Any, format_name: str | None, facts: dict[str, Any]) -> Header:
    """The header of a file, which is a path, the bytes of the file, or a header."""
    if isinstance(file, Header):
        return file
    if not isinstance(file, bytes):
        if not isinstance(file, (str, os.PathLike)):
            raise TypeError(f"file is a path or bytes, not a {type(file).__name__}")
        file = os.fsdecode(file)
    name, len_bytes, pieces, doubt, advice = _native.search_file(file, format_name, facts)
    doubt = doubt and doubt.removesuffix(", so all that fit are printed")
    # Arguments have the names of the command line's options.
    return Header(name, len_bytes, tuple(pieces), doubt, advice and advice.replace("--", ""))


def files(file: Any, format_name: str | None, facts: dict[str, Any]) -> Header | tuple[Header, ...]:
    """The header of a file, or the headers of a list of files."""
    if isinstance(file, Header) or not isinstance(file, (list, tuple)):
        return header(file, format_name, facts)
    if not file:
        raise _native.Error("file is an empty list: give a file")
    each = []
    for index, one in enumerate(file):
        try:
            each.append(header(one, format_name, facts))
        except _native.Error as error:
            raise _native.Error(f"file[{index}]: {error}") from None
    return tuple(each)


def headers(file: Any) -> tuple[Header, ...]:
    """The headers of all files."""
    return () if file is None else (file,) if isinstance(file, Header) else tuple(file)


def targets(given: Any) -> Any:
    """Pairs of plaintext and ciphertext, which are a sequence or the path of a list of `CT:PT` in hex."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    path, pairs = _path(given, "targets"), []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(map(str.strip, file), 1):
            if line and not line.startswith("#"):
                crypt, found, plain = line.partition(":")
                if not found:
                    raise _native.Error(f"targets, line {number} of {path!r}: give CT:PT in hex, the ciphertext first")
                texts((plain, crypt), f"targets, line {number}")
                pairs.append((plain, crypt))
    if not pairs:
        raise _native.Error(f"targets names {path!r}, which has no pair: give CT:PT in hex, one on each line")
    return tuple(pairs)


def words(given: Any, form: str, name: str) -> Any:
    """A word list as a path or as bytes. A sequence of words becomes a list."""
    if isinstance(given, (str, os.PathLike)):
        return _path(given, name)
    if not isinstance(given, (list, tuple)):
        return given
    listed = [to_bytes(word, name) for word in given]
    if form == "raw":
        return b"".join(listed)
    if form == "lines":
        # A word may have any bytes, and a list has lines.
        is_line = [b"\n" not in word and not word.endswith(b"\r") for word in listed]
        is_line[:1] = [is_first and not listed[0].startswith(_SIGNATURES) for is_first in is_line[:1]]
        listed = [word if fits else b"$HEX[%b]" % word.hex().encode() for word, fits in zip(listed, is_line)]
    elif any(b"\n" in word for word in listed):
        raise _native.Error(f"{name} has a line end in a word: take it out")
    return b"".join(word + b"\n" for word in listed)


def content(given: Any, name: str, most: int) -> bytes:
    """The first bytes of a list, which is a path or bytes."""
    if not isinstance(given, str):
        return _native.bytes_of(given, name)
    with open(_path(given, name), "rb") as file:
        return file.read(most)


def masks(given: Any, name: str) -> Masks:
    """Masks, which are a file, one mask, or a list of masks."""
    if isinstance(given, Masks):
        return given
    if isinstance(given, os.PathLike) or isinstance(given, str) and given.endswith(_MASK_FILE):
        path = _path(given, name)
        with open(path, "rb") as file:
            text = file.read(_MASKS_BYTES + 1)
        if len(text) > _MASKS_BYTES:
            raise _native.Error(f"{name} names {path!r}, which is longer than 64 MiB: give another file")
        return Masks(path, (text,))
    if not isinstance(given, (list, tuple)):
        return Masks(None, (to_bytes(given, name),))
    if not given:
        raise _native.Error(f"{name} is an empty list: give a mask")
    for mask in given:
        if isinstance(mask, os.PathLike) or isinstance(mask, str) and mask.endswith(_MASK_FILE):
            raise _native.Error(f"{name} has the file {os.fsdecode(mask)!r} in a list: give the file alone, or its masks")
    return Masks(None, tuple(to_bytes(mask, name) for mask in given))


def _path(given: str | os.PathLike[str], name: str) -> str:
    """The path of a regular file."""
    path = os.fsdecode(given)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _native.Error(f"{name} names {path!r}, which is no regular file: give a file")
    return path


def rule_texts(given: Sequence[Any], is_strict: bool) -> tuple[bytes, ...]:
    """The texts of files of rules, which are paths or bytes. Warns of rules that are skipped."""
    if isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError("rule_files is a sequence of files: give a list")
    texts, names = [], []
    for file in given:
        names.append("a file of rules" if isinstance(file, bytes) else os.fsdecode(file))
        if isinstance(file, bytes):
            texts.append(file)
        else:
            with open(os.fspath(file), "rb") as opened:  # accepts a path, but no file descriptor
                texts.append(opened.read())
    if texts and not is_strict:
        for index, count, first, rule in _native.search_skipped_rules(texts):
            why = f"{names[index]}: {count} rules have unknown functions and are skipped, the first in line {first}: {rule!r}"
            warnings.warn(why, stacklevel=5)
    return tuple(texts)


def texts(pair: Any, name: str) -> tuple[bytes, bytes, bytes]:
    """The plaintext as far as it is known, the mask of its known bits, and the ciphertext."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{name} is a sequence of pairs, each a plaintext and its ciphertext")
    return *partly_known(pair[0], name), unhex(pair[1], name)


def partly_known(plain: Buffer | str, name: str) -> tuple[bytes, bytes]:
    """A plaintext as far as it is known, and the mask of its known bits."""
    if not isinstance(plain, str):
        known = _native.bytes_of(plain, name)
        return known, b"\xff" * len(known)
    mask = "".join("0" if digit == "?" else "f" for digit in plain)
    return unhex(plain.replace("?", "0"), name), unhex(mask, name)


def strings(aad: Any) -> list[bytes]:
    """The strings of associated data: none, one, or a list or tuple of them."""
    given = () if aad is None else aad if isinstance(aad, (list, tuple)) else (aad,)
    return [_native.bytes_of(one, "aad") for one in given]


def to_bytes(text: str | Buffer, name: str) -> bytes:
    """The bytes of a text, in UTF-8."""
    return text.encode() if isinstance(text, str) else _native.bytes_of(text, name)


def unhex(text: Buffer | str, name: str) -> bytes:
    """Bytes that are given as such or in hex."""
    if not isinstance(text, str):
        return _native.bytes_of(text, name)
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise _native.Error(f"{name} is neither bytes nor pairs of hex digits: mend it") from None
