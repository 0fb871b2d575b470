"""Encrypted files: whole ones at once, or as file objects.

A key has as many bytes as its suite takes. A passphrase is bytes: text stands for its UTF-8 as it is, and is not normalised,
so that an "é" typed as two characters is another passphrase.

A target appears when it is whole. Until then it has no name (Linux), or one beside its place; a process that is killed leaves
nothing (elsewhere than on Linux, a file that only its owner can read). A file of plaintext is readable by its owner only, one
of ciphertext as any new file; what replaces a file of the user's own takes over its rights and group, less setuid and setgid,
and less the rights of the group where that cannot be kept. A link at the target stays, and what it leads to is replaced; a link
that another user made is refused, and so is what is no file.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import Error
from ._number import number

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing_extensions import Buffer


def _secret(key: Buffer | None, passphrase: str | Buffer | None) -> tuple[Any, bool]:
    if (key is None) == (passphrase is None):
        raise Error("a file has a key or a passphrase: give one of them")
    if key is not None:
        return key, False
    return passphrase.encode() if isinstance(passphrase, str) else passphrase, True


def encrypt_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: Buffer | None = None,
    passphrase: str | Buffer | None = None,
    suite: str = "aes-256-gcm",
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
    threads: int = 0,
) -> int:
    """Encrypt a file as the command line's `encrypt` does, and give the length of the plaintext.

    `progress` is called with the bytes done and the bytes of the source; what it raises ends the work, and leaves
    nothing. Suites: aes-256-gcm, aes-128-gcm, aes-256-eax,
    serpent-256-eax, aes-256-ocb, serpent-256-ocb, aes-256-gcm-siv.

    Raises `Error` if the source was changed while it was read, and `FileExistsError` if the target is there and not to be
    overwritten; nothing is written then.

        >>> encrypt_file("data", "data.sealed", key=key)
        3000000
    """
    (secret, is_passphrase), threads = _secret(key, passphrase), number("threads", threads)
    return _native.encrypt_file(source, target, secret, is_passphrase, suite, overwrite, progress, threads)


def decrypt_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: Buffer | None = None,
    passphrase: str | Buffer | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], object] | None = None,
    threads: int = 0,
) -> int:
    """Undo `encrypt_file`, or raise `Forged` if the file was changed or cut off; no target appears then.

    The target is readable by its owner only, unless it replaces a file, whose rights it takes over.
    """
    (secret, is_passphrase), threads = _secret(key, passphrase), number("threads", threads)
    return _native.decrypt_file(source, target, secret, is_passphrase, overwrite, progress, threads)


class EncryptedFile(io.RawIOBase):
    """An encrypted file as a file object of its plaintext, opened to be read from anywhere or written to its end.

        >>> with EncryptedFile("data.sealed", "x", key=key) as file:
        ...     file.write(b"some text")
        >>> with EncryptedFile("data.sealed", key=key) as file:
        ...     file.seek(5)
        ...     file.read()
        b'text'

    Modes: "r" reads; "x" writes a file that is not there yet, "w" one that may be. A written file appears when it is
    closed, and not at all if the `with` block raises, something could not be written, or the object is dropped unclosed. (An
    `io.BufferedWriter` around it closes it even if its block raises: `discard` it yourself then.) A forked process cannot
    write on. Nothing is read but what is authentic: at the first chunk that was changed, reading raises `Forged`. A
    part that was read tells nothing of the rest; `seek(0, 2)` proves where the end is. For many small reads or writes, wrap it in
    `io.BufferedReader` or `io.BufferedWriter`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "r",
        *,
        key: Buffer | None = None,
        passphrase: str | Buffer | None = None,
        suite: str = "aes-256-gcm",
        threads: int = 0,
    ) -> None:
        mode = mode.removesuffix("b")
        (secret, is_passphrase), threads = _secret(key, passphrase), number("threads", threads)
        if hasattr(self, "_reader"):
            raise RuntimeError("the object has had its file: make another")
        reader = writer = None
        if mode == "r":
            reader = _native.Reader(path, secret, is_passphrase, threads)
        elif mode in ("w", "x"):
            writer = _native.Writer(path, secret, is_passphrase, suite, mode == "w", threads)
        else:
            raise ValueError(f"mode {mode!r} is none of r, w and x")
        self._reader: _native.Reader | None = reader
        self._writer: _native.Writer | None = writer

    def readable(self) -> bool:
        """Whether it was opened to be read."""
        return self._reader is not None

    def seekable(self) -> bool:
        """Whether it can be read from anywhere."""
        return self._reader is not None

    def writable(self) -> bool:
        """Whether it was opened to be written."""
        return self._writer is not None

    def _open(self, half: Any, what: str) -> Any:
        if self.closed:
            raise ValueError("the file is closed")
        if half is None:
            raise io.UnsupportedOperation(f"the file is not open to {what}")
        return half

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and give how many bytes; 0 at the end."""
        return self._open(self._reader, "be read").readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go anywhere, and give the position."""
        offset = number("offset", offset, (1 << 63) - 1, -(1 << 63))
        return self._open(self._reader, "seek").seek(offset, number("whence", whence, 2))

    def write(self, data: Any) -> int:
        """Write all of the bytes, and give how many."""
        return self._open(self._writer, "be written").write(data)

    def discard(self) -> None:
        """Close it; what was written is no file."""
        self._writer = None
        self.close()

    def close(self) -> None:
        """Close it; what was written becomes a file."""
        writer, self._writer, self._reader = self._writer, None, None
        super().close()
        if writer is not None:
            writer.finish()

    def __exit__(self, kind: Any, *raised: Any) -> None:
        self.close() if kind is None else self.discard()

    def __del__(self) -> None:
        self.discard()
