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


def words(given: Any, form: str) -> Any:
    """A word list as a path or as bytes. A sequence of words becomes a list."""
    if isinstance(given, (str, os.PathLike)):
        path = os.fsdecode(given)
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _native.Error(f"words names {path!r}, which is no regular file: give a file")
        return path
    if not isinstance(given, (list, tuple)):
        return given
    listed = [to_bytes(word, "words") for word in given]
    if form == "raw":
        return b"".join(listed)
    if form == "lines":
        # A word may have any bytes, and a list has lines.
        is_line = [b"\n" not in word and not word.endswith(b"\r") for word in listed]
        is_line[:1] = [is_first and not listed[0].startswith(_SIGNATURES) for is_first in is_line[:1]]
        listed = [word if fits else b"$HEX[%b]" % word.hex().encode() for word, fits in zip(listed, is_line)]
    elif any(b"\n" in word for word in listed):
        raise _native.Error("words has a line end in a word: take it out")
    return b"".join(word + b"\n" for word in listed)


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


def texts(pair: Any) -> tuple[bytes, bytes, bytes]:
    """The plaintext as far as it is known, the mask of its known bits, and the ciphertext."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError("known is a sequence of pairs, each a plaintext and its ciphertext")
    return *partly_known(pair[0], "known"), unhex(pair[1], "known")


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
