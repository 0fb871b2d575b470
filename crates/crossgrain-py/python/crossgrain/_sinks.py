"""Writes encrypted objects into another file system, so that an object appears complete or not at all.

How that is done depends on the file system below. `open_sink` chooses.
"""

from __future__ import annotations

import contextlib
import io
import secrets
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ._files import EncryptedFile

if TYPE_CHECKING:
    from ._keys import Secrets
    from ._types import Bytes, SuiteName

#: Stores whose files are uploaded in parts, and appear when `commit` is called.
_IN_PARTS = {"s3", "s3a", "gs", "gcs"}

#: Stores in which writing an object replaces it in one step.
_IN_ONE_STEP = {"memory", *_IN_PARTS}

#: Objects up to this length are not uploaded in parts.
_ONE_STEP_BYTES = 8 << 20


class Target(Protocol):
    """What takes the bytes of a new object."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Take the next bytes."""

    def commit(self) -> None:
        """Make the object appear."""

    def discard(self) -> None:
        """Forget the bytes. No object appears."""


def protocols(fs: Any) -> set[str]:
    """The names of a file system."""
    return {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)


def is_local(fs: Any) -> bool:
    """Whether the files are those of the system."""
    return not protocols(fs).isdisjoint({"file", "local"})


def writes_in_one_step(fs: Any) -> bool:
    """Whether `pipe_file` of this file system never leaves a part of an object."""
    return not protocols(fs).isdisjoint(_IN_ONE_STEP)


class _Local:
    """A file of the system. It has no name, or a temporary one, until it is complete."""

    def __init__(self, file: EncryptedFile) -> None:
        self._file = file

    def write(self, data: bytes | memoryview, /) -> object:
        return self._file.write(data)

    def commit(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.discard()


class _InMemory:
    """An object that is written by one call."""

    def __init__(self, fs: Any, path: str, is_new: bool) -> None:
        self._fs, self._path, self._is_new = fs, path, is_new
        self._buffer = io.BytesIO()

    def write(self, data: bytes | memoryview, /) -> object:
        return self._buffer.write(data)

    def commit(self) -> None:
        self._fs.pipe_file(self._path, self._buffer.getvalue(), **({"mode": "create"} if self._is_new else {}))

    def discard(self) -> None:
        self._buffer.close()


class _InParts(_InMemory):
    """An object that is uploaded in parts if it is long. The store forgets the parts of an upload that is discarded."""

    def __init__(self, fs: Any, path: str, is_new: bool) -> None:
        super().__init__(fs, path, is_new)
        self._file: Any = None

    def write(self, data: bytes | memoryview, /) -> object:
        if self._file is None and self._buffer.tell() + len(data) <= _ONE_STEP_BYTES:
            return super().write(data)
        if self._file is None:
            # `open` would add the file to a transaction of this file system.
            mode = "xb" if self._is_new else "wb"
            self._file = self._fs._open(self._path, mode=mode, block_size=None, autocommit=False, cache_options=None)
            self._file.write(self._buffer.getvalue())
            super().discard()
        return self._file.write(data)

    def commit(self) -> None:
        if self._file is None:
            super().commit()
            return
        try:
            self._file.close()
            self._file.commit()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        super().discard()
        if self._file is not None:
            self._file.discard()
            self._file.closed = True


class _Renamed:
    """An object that is written under another name in the same folder, and then renamed."""

    def __init__(self, fs: Any, path: str, is_new: bool) -> None:
        self._fs, self._path, self._is_new = fs, path, is_new
        folder, slash, _ = path.rpartition("/")
        self._temporary = f"{folder}{slash}.crossgrain-{secrets.token_hex(8)}.part"
        self._file = fs.open(self._temporary, "wb")

    def write(self, data: bytes | memoryview, /) -> object:
        return self._file.write(data)

    def commit(self) -> None:
        try:
            self._file.close()
            if self._is_new and self._fs.exists(self._path):
                raise FileExistsError(self._path)
            self._fs.mv(self._temporary, self._path)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        with contextlib.suppress(Exception):
            self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._temporary)


class _Encrypted:
    """Encrypts what is written to a target."""

    def __init__(self, target: Target, secret: dict[str, Any], suite: SuiteName, threads: int) -> None:
        self._target = target
        try:
            self._file = EncryptedFile(_Writes(target), "w", suite=suite, threads=threads, **secret)
        except BaseException:
            target.discard()
            raise

    def write(self, data: bytes | memoryview, /) -> object:
        return self._file.write(data)

    def commit(self) -> None:
        try:
            self._file.close()
        except BaseException:
            self._target.discard()
            raise
        self._target.commit()

    def discard(self) -> None:
        self._file.discard()
        self._target.discard()


class _Writes:
    """The one method of a target that an encrypted file needs."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, data: bytes, /) -> object:
        return self._target.write(data)


def open_target(fs: Any, path: str, mode: Literal["wb", "xb"]) -> Target:
    """A new object of a file system, for bytes as they are."""
    if mode == "xb" and fs.exists(path):
        raise FileExistsError(path)
    if writes_in_one_step(fs):
        return (_InMemory if "memory" in protocols(fs) else _InParts)(fs, path, mode == "xb")
    return _Renamed(fs, path, mode == "xb")


def open_sink(fs: Any, path: str, mode: Literal["wb", "xb"], secrets: Secrets, suite: SuiteName, threads: int) -> Target:
    """A new object of a file system, for plaintext."""
    secret = secrets.argument(path)
    if is_local(fs):
        if fs.auto_mkdir:
            fs.makedirs(fs._parent(path), exist_ok=True)
        return _Local(EncryptedFile(path, mode, suite=suite, threads=threads, **secret))
    return _Encrypted(open_target(fs, path, mode), secret, suite, threads)


def sealed(data: Bytes, secret: dict[str, Any], suite: SuiteName, threads: int) -> bytes:
    """Bytes as an encrypted file. The secret is that of `Secrets.argument`."""
    buffer = io.BytesIO()
    with EncryptedFile(buffer, "w", suite=suite, threads=threads, **secret) as file:
        file.write(data)
    return buffer.getvalue()
