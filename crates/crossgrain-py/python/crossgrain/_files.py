"""Encrypted files: whole files, and file objects.

A key has the length that the suite requires. A passphrase is bytes. Text means its UTF-8 encoding without normalisation,
so an "é" typed as two characters is another passphrase. A recipient is a public key, and its identity is the secret key, in
the text format of age. Everyone can encrypt to a recipient; only the identity opens the file.

A target gets its name when it is complete. Until then it has no name (Linux), or a temporary one beside its place. A
process that is killed leaves nothing, except on other systems a file that only its owner can read. A file of plaintext is
readable by its owner only, one of ciphertext like any new file. A file that replaces one of the user's own takes over its
permissions and group, without setuid and setgid, and without the permissions of the group if that cannot be kept. A link
at the target stays, and the file that it leads to is replaced. A link that another user made is refused, and so is
everything that is no regular file.
"""

from __future__ import annotations

import io
import os
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, Union, overload

from . import _native
from ._native import Error
from ._number import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from typing_extensions import Buffer, Self, TypeAlias

    from ._types import Bytes, SuiteName

    class _Readable(Protocol):
        def read(self, size: int, /) -> Buffer: ...

    class _Writable(Protocol):
        def write(self, data: bytes, /) -> object: ...

    _Path: TypeAlias = Union[str, os.PathLike[str]]
    _File: TypeAlias = Union[_Path, _Readable, _Writable]
    #: One recipient or identity, or several. A path names a file with one per line.
    _Texts: TypeAlias = Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]]]

#: Bytes that a file of `open` buffers.
_BUFFER_BYTES = 1 << 17


def _own(key: Bytes | None, passphrase: str | Bytes | None) -> tuple[str, Any] | None:
    """The key or passphrase with its kind, as the native half takes it."""
    if key is not None and passphrase is not None:
        raise Error("a file has a key or a passphrase: give one of them")
    if key is not None:
        return "key", key
    return None if passphrase is None else ("passphrase", passphrase.encode() if isinstance(passphrase, str) else passphrase)


def _listed(texts: _Texts) -> list[str | os.PathLike[str]]:
    return [texts] if isinstance(texts, (str, os.PathLike)) else [*texts]


def _secret(key: Bytes | None, passphrase: str | Bytes | None, identity: _Texts | None) -> tuple[str, Any]:
    """The secret of an existing file."""
    own = _own(key, passphrase)
    if (own is None) == (identity is None):
        raise Error("a file is opened by a key, a passphrase or an identity: give one of them")
    if identity is None:
        assert own is not None
        return own
    identities = _listed(identity)
    if not identities:
        raise Error("identity is an empty list: give at least one identity")
    return "identity", identities


def _locks(key: Bytes | None, passphrase: str | Bytes | None, recipients: _Texts | None) -> tuple[tuple[str, Any] | None, list[Any]]:
    """What opens a new file: a key or a passphrase, and the recipients."""
    own, listed = _own(key, passphrase), _listed(recipients or [])
    if own is None and not listed:
        raise Error("nothing would open the file: give a key, a passphrase or recipients")
    return own, listed


def generate_identity() -> str:
    """Make a random identity, as `crossgrain keygen --x25519` and `age-keygen` do.

    Returns
    -------
    str
        The secret key, which begins with AGE-SECRET-KEY-1. Anyone who has it can open the files of its recipient.

    Examples
    --------
    >>> import crossgrain
    >>> identity = crossgrain.generate_identity()
    >>> crossgrain.recipient_of(identity)
    'age1...'
    """
    return _native.generate_identity()


def recipient_of(identity: str) -> str:
    """Return the recipient of an identity: the public key, to which others encrypt.

    Parameters
    ----------
    identity : str
        The secret key, which begins with AGE-SECRET-KEY-1.

    Returns
    -------
    str
        The public key, which begins with age1.

    Raises
    ------
    Error
        If the text is not an identity.

    Examples
    --------
    >>> import crossgrain
    >>> crossgrain.recipient_of("AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64")
    'age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj'
    """
    return _native.recipient_of(identity)


def encrypt_file(
    source: _Path,
    target: _Path,
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    recipients: _Texts | None = None,
    suite: SuiteName = "aes-256-gcm",
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
    threads: SupportsIndex = 0,
) -> int:
    """Encrypt a file to another, as the command line's `encrypt` does.

    Parameters
    ----------
    source, target : str or path
        The file to read, and the file to write.
    key : bytes or other buffer
        The key, as of `generate_key`.
    passphrase : str, bytes or other buffer
        A passphrase in place of a key.
    recipients : str, path, or several of them, optional
        Public keys, as of `recipient_of`, to whose holders the file is encrypted. A path names a file with one per line. Each
        recipient, and the key or passphrase if one is given, opens the file.
    suite : str
        The cipher and the mode: aes-256-gcm, aes-128-gcm, aes-256-eax, serpent-256-eax, aes-256-ocb, serpent-256-ocb or
        aes-256-gcm-siv.
    overwrite : bool
        Whether an existing target is replaced.
    progress : callable, optional
        It is called with the bytes done and the bytes of the source. An exception that it raises ends the work.
    threads : int
        The largest number of threads; 0 for all.

    Returns
    -------
    int
        The length of the plaintext in bytes.

    Raises
    ------
    Error
        If an argument is invalid, such as a mistyped recipient, or if the source was changed while it was read.
    OSError
        If a file cannot be read or written, with `errno` and `filename`. `FileExistsError` if the target exists. In all
        cases no target appears.

    Examples
    --------
    >>> import crossgrain, pathlib
    >>> size = pathlib.Path("plain").write_bytes(b"some text")
    >>> key = crossgrain.generate_key()
    >>> crossgrain.encrypt_file("plain", "sealed", key=key)
    9

    To two people:

    >>> recipients = [crossgrain.recipient_of(crossgrain.generate_identity()) for _ in range(2)]
    >>> crossgrain.encrypt_file("plain", "shared", recipients=recipients)
    9
    """
    (own, listed), threads = _locks(key, passphrase, recipients), number("threads", threads)
    return _native.encrypt_file(source, target, own, listed, suite, overwrite, progress, threads)


def decrypt_file(
    source: _Path,
    target: _Path,
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    identity: _Texts | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
    threads: SupportsIndex = 0,
) -> int:
    """Decrypt a file to another. The target is readable by its owner only, unless it replaces a file.

    Parameters
    ----------
    source, target : str or path
        The file to read, and the file to write.
    key, passphrase, overwrite, progress, threads
        As of `encrypt_file`.
    identity : str, path, or several of them, optional
        Secret keys, as of `generate_identity`, in place of a key or passphrase. One of them opens the file if it was encrypted
        to its recipient. A path names an identity file, as `crossgrain keygen --x25519` and `age-keygen` write it.

    Returns
    -------
    int
        The length of the plaintext in bytes.

    Raises
    ------
    WrongKey
        If the file was encrypted with another key or passphrase or to other recipients, or its beginning was changed.
    Damaged
        If the file was changed.
    Truncated
        If the file is cut off.
    OSError
        As of `encrypt_file`. In all cases no target appears.

    Examples
    --------
    >>> import crossgrain, pathlib
    >>> size = pathlib.Path("text").write_bytes(b"some text")
    >>> size = crossgrain.encrypt_file("text", "text.sealed", passphrase="some words")
    >>> crossgrain.decrypt_file("text.sealed", "again", passphrase="some words")
    9
    >>> pathlib.Path("again").read_bytes()
    b'some text'

    By an identity:

    >>> identity = crossgrain.generate_identity()
    >>> size = crossgrain.encrypt_file("text", "text.shared", recipients=crossgrain.recipient_of(identity))
    >>> crossgrain.decrypt_file("text.shared", "received", identity=identity)
    9
    """
    secret, threads = _secret(key, passphrase, identity), number("threads", threads)
    return _native.decrypt_file(source, target, secret, overwrite, progress, threads)


class EncryptedFile(io.RawIOBase):
    """An encrypted file as an unbuffered file object of its plaintext. `crossgrain.open` gives a buffered one.

    Reading may start anywhere and returns authentic bytes only. At the first chunk that was changed, reading raises
    `Damaged`. A part that was read proves nothing about the rest; `seek(0, 2)` verifies the end.

    A written file appears when it is closed. It does not appear if the `with` block raises, if something could not be
    written, or if the object is dropped without a call of `close`. An `io.BufferedWriter` around it closes it even if its
    block raises. A forked process cannot continue to write.

    Parameters
    ----------
    file : str, path or file object
        A path, or an object with the methods of a binary file: `read` for mode "r", `write` for mode "w". To seek, it needs
        `seek` and `tell`. The object stays open, and its bytes appear as they are written.
    mode : {"r", "w", "x"}
        "r" reads. "w" writes, "x" writes a file that does not exist yet. A "b" may follow.
    key, passphrase, recipients, suite, threads
        As of `encrypt_file`. Recipients are for writing.
    identity : str, path, or several of them, optional
        As of `decrypt_file`, for reading.

    Attributes
    ----------
    name : str, path or object
        The path as it was given, or the name of the file object.
    mode : str
        "rb", "wb" or "xb".

    Examples
    --------
    >>> import crossgrain
    >>> key = crossgrain.generate_key()
    >>> with crossgrain.EncryptedFile("data.sealed", "w", key=key) as file:
    ...     file.write(b"some text")
    9
    >>> with crossgrain.EncryptedFile("data.sealed", key=key) as file:
    ...     file.seek(5), file.read()
    (5, b'text')
    """

    def __init__(
        self,
        file: _File,
        mode: Literal["r", "w", "x", "rb", "wb", "xb"] = "r",
        *,
        key: Bytes | None = None,
        passphrase: str | Bytes | None = None,
        recipients: _Texts | None = None,
        identity: _Texts | None = None,
        suite: SuiteName = "aes-256-gcm",
        threads: SupportsIndex = 0,
    ) -> None:
        kind = mode.removesuffix("b")
        threads = number("threads", threads)
        if hasattr(self, "_reader"):
            raise RuntimeError("the object has had its file: make another")
        is_path = isinstance(file, (str, os.PathLike))
        _check(file, mode, kind, is_path)
        reader = writer = None
        if kind == "r":
            if recipients is not None:
                raise Error("recipients are for writing: to read, give an identity")
            reader = _native.Reader(file, _secret(key, passphrase, identity), threads)
        else:
            if identity is not None:
                raise Error("an identity is for reading: to write, give recipients")
            writer = _native.Writer(file, *_locks(key, passphrase, recipients), suite, kind == "w", threads)
        self._reader: _native.Reader | None = reader
        self._writer: _native.Writer | None = writer
        #: Bytes that were read or written, for files that cannot seek.
        self._passed = 0
        self._is_seekable = reader is not None and (is_path or _can_seek(file))
        self.name: Any = file if is_path else getattr(file, "name", None)
        self.mode: Literal["rb", "wb", "xb"] = f"{kind}b"  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<crossgrain.EncryptedFile name={self.name!r} mode={self.mode!r}>"

    def readable(self) -> bool:
        """Whether it was opened for reading."""
        return self._reader is not None

    def seekable(self) -> bool:
        """Whether reading can start anywhere."""
        return self._reader is not None and self._is_seekable

    def writable(self) -> bool:
        """Whether it was opened for writing."""
        return self._writer is not None

    def _open_for_reading(self, what: str) -> _native.Reader:
        if self.closed:
            raise ValueError("the file is closed")
        if self._reader is None:
            raise io.UnsupportedOperation(f"the file is not open to {what}")
        return self._reader

    def readinto(self, buffer: Bytes) -> int:
        """Read into a buffer, and return the number of bytes: fewer than the buffer's only at the end of the file."""
        count = self._open_for_reading("be read").readinto(buffer)
        self._passed += count
        return count

    def seek(self, offset: SupportsIndex, whence: SupportsIndex = io.SEEK_SET) -> int:
        """Move to a byte, counted from the beginning (0), the current position (1) or the end (2). Return the position."""
        offset, whence = number("offset", offset, (1 << 63) - 1, -(1 << 63)), number("whence", whence, 2)
        reader = self._open_for_reading("seek")
        if not self._is_seekable:
            raise io.UnsupportedOperation("the file object below cannot seek")
        return reader.seek(offset, whence)

    def tell(self) -> int:
        """Return the position, in bytes of the plaintext."""
        if self.closed:
            raise ValueError("the file is closed")
        return self._reader.seek(0, io.SEEK_CUR) if self._reader is not None and self._is_seekable else self._passed

    def write(self, data: Bytes) -> int:
        """Write all bytes, and return their number."""
        if self.closed:
            raise ValueError("the file is closed")
        if self._writer is None:
            raise io.UnsupportedOperation("the file is not open to be written")
        count = self._writer.write(data)
        self._passed += count
        return count

    def discard(self) -> None:
        """Close it without the written file. Bytes that a file object below has got stay there, and are no complete file."""
        self._writer = None
        self.close()

    def close(self) -> None:
        """Close it. A written file appears now."""
        writer, self._writer, self._reader = self._writer, None, None
        super().close()
        if writer is not None:
            writer.finish()

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close() if kind is None else self.discard()

    def __del__(self) -> None:
        self.discard()


def _check(file: object, mode: str, kind: str, is_path: bool) -> None:
    """Checks that a file can be opened in a mode."""
    if kind not in ("r", "w", "x"):
        raise ValueError(f"mode {mode!r} is none of r, w and x")
    if is_path:
        return
    method = "read" if kind == "r" else "write"
    if not hasattr(file, method):
        raise TypeError(f"file is a path or an object with {method}, not a {type(file).__name__}")
    if isinstance(file, io.TextIOBase):
        raise TypeError("file is a text file: open it in binary mode")
    if kind == "x":
        raise ValueError("mode 'x' is for paths: a file object takes r and w")


def _can_seek(file: Any) -> bool:
    """Whether a file object can seek. Objects that do not say so can if they have the method."""
    return bool(file.seekable()) if hasattr(file, "seekable") else hasattr(file, "seek")


class _Writer(io.BufferedWriter):
    """A buffer before an encrypted file. If its block raises, no file appears."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
            return
        assert isinstance(self.raw, EncryptedFile)
        self.raw.discard()

    def __del__(self) -> None:
        if isinstance(self.raw, EncryptedFile):
            self.raw.discard()


def _buffer(text: io.TextIOWrapper) -> _Writer:
    buffer = text.buffer
    assert isinstance(buffer, _Writer)
    return buffer


class _Text(io.TextIOWrapper):
    """Text before an encrypted file. If its block raises, no file appears."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            _buffer(self).__exit__(kind, error, trace)

    def __del__(self) -> None:
        _buffer(self).__del__()


@overload
def open(
    file: _File,
    mode: Literal["r", "rb"] = "rb",
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    recipients: _Texts | None = None,
    identity: _Texts | None = None,
    suite: SuiteName = "aes-256-gcm",
    threads: SupportsIndex = 0,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
) -> io.BufferedReader: ...
@overload
def open(
    file: _File,
    mode: Literal["w", "wb", "x", "xb"],
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    recipients: _Texts | None = None,
    identity: _Texts | None = None,
    suite: SuiteName = "aes-256-gcm",
    threads: SupportsIndex = 0,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
) -> io.BufferedWriter: ...
@overload
def open(
    file: _File,
    mode: Literal["rt", "wt", "xt"],
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    recipients: _Texts | None = None,
    identity: _Texts | None = None,
    suite: SuiteName = "aes-256-gcm",
    threads: SupportsIndex = 0,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...


def open(
    file: _File,
    mode: Literal["r", "w", "x", "rb", "wb", "xb", "rt", "wt", "xt"] = "rb",
    *,
    key: Bytes | None = None,
    passphrase: str | Bytes | None = None,
    recipients: _Texts | None = None,
    identity: _Texts | None = None,
    suite: SuiteName = "aes-256-gcm",
    threads: SupportsIndex = 0,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> IO[Any]:
    """Open an encrypted file, as `gzip.open` opens a compressed one.

    Parameters
    ----------
    file : str, path or file object
        As of `EncryptedFile`.
    mode : str
        "r", "w" or "x" with "b" (the default) or "t" for text. A written file appears when it is closed, and not at all if
        the `with` block raises.
    key, passphrase, recipients, suite, threads
        As of `encrypt_file`. Recipients are for writing.
    identity : str, path, or several of them, optional
        As of `decrypt_file`, for reading.
    encoding, errors, newline : str, optional
        As of the built-in `open`, for text.

    Returns
    -------
    io.BufferedReader, io.BufferedWriter or io.TextIOWrapper
        A buffered file object.

    Raises
    ------
    WrongKey, Damaged, Truncated, OSError
        As of `decrypt_file`.

    Examples
    --------
    >>> import crossgrain
    >>> key = crossgrain.generate_key()
    >>> with crossgrain.open("lines.sealed", "wt", key=key, encoding="utf-8") as file:
    ...     print("one", "two", sep="\\n", file=file)
    >>> with crossgrain.open("lines.sealed", "rt", key=key, encoding="utf-8") as file:
    ...     list(file)
    ['one\\n', 'two\\n']
    """
    is_text = mode.endswith("t")
    if not is_text and (encoding, errors, newline) != (None, None, None):
        raise ValueError("encoding, errors and newline are for text: add t to the mode")
    raw_mode: Any = mode.removesuffix("t")
    raw = EncryptedFile(
        file, raw_mode, key=key, passphrase=passphrase, recipients=recipients, identity=identity, suite=suite, threads=threads
    )
    if is_text:
        buffered = io.BufferedReader(raw, _BUFFER_BYTES) if raw.readable() else _Writer(raw, _BUFFER_BYTES)
        return _Text(buffered, encoding, errors, newline) if raw.writable() else io.TextIOWrapper(buffered, encoding, errors, newline)
    return io.BufferedReader(raw, _BUFFER_BYTES) if raw.readable() else _Writer(raw, _BUFFER_BYTES)
