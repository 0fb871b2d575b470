"""Encrypted objects in any file system of fsspec: `crossgrain::s3://bucket/key`, `crossgrain::file:///folder/name`.

Libraries that use fsspec read and write encrypted objects by such an address: pandas, Dask, xarray, Zarr, pyarrow, DuckDB.
Each object is a file as `crossgrain encrypt` writes it (docs/format.md). Reading fetches only the chunks of 16 KiB that
contain the wanted bytes. Names, folders and lengths are not encrypted.

Importing the module registers the protocol. With an installed package, fsspec finds it without that.

Examples
--------
>>> import crossgrain, fsspec
>>> key = crossgrain.generate_key()
>>> with fsspec.open("crossgrain::memory://greeting", "wt", crossgrain={"key": key}) as file:
...     file.write("some text")
9
>>> with fsspec.open("crossgrain::memory://greeting", "rt", crossgrain={"key": key}) as file:
...     file.seek(5), file.read()
(5, 'text')
>>> fsspec.filesystem("memory").cat("greeting")[:10]
b'crossgrain'
"""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import contextlib
import os
import secrets as random_bytes
from typing import TYPE_CHECKING, Any, ClassVar

import fsspec  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.compression import compr  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.core import get_compression  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.implementations.chained import ChainedFileSystem  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.utils import tokenize  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ._keys import Secrets
from ._ranges import Reader, Request, complete, plain_bytes
from ._remote import BLOCK_BYTES, EncryptedObject, EncryptedText, closing_both
from ._sinks import is_local, sealed, writes_in_one_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import KeySource, PassphraseSource, SuiteName

__all__ = ["EncryptedFileSystem"]

#: Distinguishes the passphrases of this process in tokens, without saying anything about them.
_SALT = random_bytes.token_bytes(32)


class EncryptedFileSystem(ChainedFileSystem):  # type: ignore[misc,unused-ignore]
    """A file system of encrypted objects in another file system.

    Paths are those of the file system below. Objects have the length of their plaintext; it is computed from the length of
    the object, and None for an object that cannot be a complete encrypted file. With a passphrase, each object in a listing
    with lengths costs a read of one byte, because headers differ in length.

    Give one source of the key. If none is given, the environment variable `CROSSGRAIN_KEY_FILE` names a key file, or
    `CROSSGRAIN_KEY` has the key in hex.

    Parameters
    ----------
    target_protocol, target_options : str and dict
        The file system below, as fsspec takes it from an address.
    fs : file system
        The file system below, in place of the two.
    fo : str
        Ignored: the path of an address, which fsspec passes here.
    key : bytes or callable
        The key, or a function that is called with a path and returns the key of the object. A function is pickled by
        reference, a key as it is.
    key_file : str or path
        The name of a key file, as `crossgrain keygen` writes it.
    key_env : str
        The name of an environment variable that contains a key in hex.
    passphrase, passphrase_file, passphrase_env
        The same for a passphrase. Each object then takes a tenth of a second and 64 MiB of memory to open: use keys for many
        objects.
    suite : str
        The cipher and the mode of new objects, as of `encrypt_file`.
    block_size : int
        The most bytes to read ahead, and those that are encrypted at a time.
    threads : int
        The most threads; 0 for all.

    Raises
    ------
    WrongKey, Damaged, Truncated
        When an object is opened or read, with its path.

    Examples
    --------
    >>> from crossgrain.fsspec import EncryptedFileSystem
    >>> fs = EncryptedFileSystem("memory", key=bytes(32))
    >>> fs.pipe("folder/numbers", bytes(range(100)))
    >>> fs.cat_file("folder/numbers", start=97), fs.size("folder/numbers"), fs.fs.size("folder/numbers")
    (b'abc', 100, 185)
    """

    protocol: ClassVar[str] = "crossgrain"
    _strip_tokenize_options = ("fo",)

    def __init__(
        self,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fs: Any = None,
        fo: str | None = None,
        *,
        key: KeySource | None = None,
        key_file: str | os.PathLike[str] | None = None,
        key_env: str | None = None,
        passphrase: PassphraseSource | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
        passphrase_env: str | None = None,
        suite: SuiteName = "aes-256-gcm",
        block_size: int = BLOCK_BYTES,
        threads: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if (fs is None) == (target_protocol is None):
            raise ValueError("the file system below is fs or target_protocol: give one of them")
        self.fs: Any = fsspec.filesystem(target_protocol, **(target_options or {})) if fs is None else fs
        self.secrets = Secrets(
            {
                "key": key,
                "key_file": key_file,
                "key_env": key_env,
                "passphrase": passphrase,
                "passphrase_file": passphrase_file,
                "passphrase_env": passphrase_env,
            }
        )
        self.suite, self.blocksize, self.threads = suite, block_size, threads
        self.reader = Reader(self.fs, self.secrets, threads)
        # The function of an instance: each has another file system below.
        setattr(self, "_strip_protocol", self._path)

    def __repr__(self) -> str:
        return f"<crossgrain.fsspec.EncryptedFileSystem over {type(self.fs).__name__}>"

    def __dask_tokenize__(self) -> Any:
        return tokenize(_SALT, self._fs_token)

    @property
    def fsid(self) -> str:
        """The identity of the file system below."""
        return f"crossgrain_{self.fs.fsid}"

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """Describe the file system for JSON. Without passwords, keys and passphrases are left out."""
        found: dict[str, Any] = super().to_dict(include_password=include_password)
        return found if include_password else {name: value for name, value in found.items() if name not in ("key", "passphrase")}

    # Names

    def _path(self, path: Any) -> Any:
        if isinstance(path, (list, tuple)):
            return [self._path(one) for one in path]
        return self.fs._strip_protocol(type(self)._strip_protocol(path))

    def _parent(self, path: str) -> str:
        return str(self.fs._parent(self._path(path)))

    # Listings

    def _plain(self, infos: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Replaces the lengths of objects by those of their plaintext."""
        files = [info["name"] for info in infos if info.get("type") == "file"]
        headers = dict(zip(files, self.reader.header_bytes(files)))
        return [self._plain_info(info, headers[info["name"]]) if info["name"] in headers else info for info in infos]

    @staticmethod
    def _plain_info(info: dict[str, Any], header_bytes: int | None) -> dict[str, Any]:
        below = info.get("size")
        size = None if below is None or header_bytes is None else plain_bytes(below, header_bytes)
        return {**info, "size": size, "encrypted_size": below}

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Describe a path, with the length of the plaintext."""
        (info,) = self._plain([self.fs.info(self._path(path), **kwargs)])
        return info

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        """List a folder, with the lengths of the plaintexts."""
        found = self.fs.ls(self._path(path), detail=detail, **kwargs)
        return self._plain(found) if detail else found

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **kwargs: Any) -> Any:
        """List all files below a path, by one call of the file system below."""
        found = self.fs.find(self._path(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail, **kwargs)
        return dict(zip(found, self._plain(list(found.values())))) if detail else found

    def glob(self, path: str, maxdepth: int | None = None, **kwargs: Any) -> Any:
        """List the paths that a pattern matches."""
        found = self.fs.glob(self._path(path), maxdepth=maxdepth, **kwargs)
        return dict(zip(found, self._plain(list(found.values())))) if isinstance(found, dict) else found

    def du(self, path: str, total: bool = True, maxdepth: int | None = None, withdirs: bool = False, **kwargs: Any) -> Any:
        """Add the lengths of the plaintexts below a path. Objects without such a length count as 0."""
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **kwargs)
        sizes = {name: info["size"] or 0 for name, info in found.items()}
        return sum(sizes.values()) if total else sizes

    def exists(self, path: str, **kwargs: Any) -> bool:
        """Whether there is something at a path."""
        return bool(self.fs.exists(self._path(path), **kwargs))

    def isfile(self, path: str) -> bool:
        """Whether a path is that of an object."""
        return bool(self.fs.isfile(self._path(path)))

    def isdir(self, path: str) -> bool:
        """Whether a path is that of a folder."""
        return bool(self.fs.isdir(self._path(path)))

    def created(self, path: str) -> Any:
        """Return the time at which an object was created."""
        return self.fs.created(self._path(path))

    def modified(self, path: str) -> Any:
        """Return the time at which an object was written."""
        return self.fs.modified(self._path(path))

    def ukey(self, path: str) -> Any:
        """Return a value that changes with the object. Writing the same plaintext again changes it too."""
        return self.fs.ukey(self._path(path))

    def checksum(self, path: str) -> Any:
        """Return the checksum of the encrypted object."""
        return self.fs.checksum(self._path(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget listings of the file system below."""
        self.fs.invalidate_cache(None if path is None else self._path(path))
        super().invalidate_cache(path)

    # Reading

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, autocommit: bool = True, cache_options: Any = None, **kwargs: Any) -> Any:
        if mode not in ("rb", "wb", "xb"):
            raise ValueError(f"mode {mode!r} changes a file: encrypted objects are read, or written anew")
        path = self._path(path)
        return EncryptedObject(self, path, mode, block_size or self.blocksize, autocommit, cache_options=cache_options, **kwargs)

    def open(self, path: str, mode: str = "rb", block_size: Any = None, cache_options: Any = None, compression: str | None = None, **kwargs: Any) -> Any:
        """Open an object, as `AbstractFileSystem.open` does.

        Parameters
        ----------
        path : str
            The path.
        mode : str
            "r", "w" or "x", with "b" for bytes. A written object appears when the file is closed, and not at all if the
            `with` block raises.
        block_size : int
            As of the class.
        cache_options, compression, **kwargs
            As of fsspec. `cache_type` replaces the read-ahead of this module by one of fsspec's.

        Returns
        -------
        file object
            The file. For bytes without compression it is an `EncryptedObject`.
        """
        if "b" not in mode and "r" not in mode:
            text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline") if name in kwargs}
            return EncryptedText(self.open(path, mode.replace("t", "") + "b", block_size, cache_options, compression, **kwargs), **text)
        name = None if "r" in mode else get_compression(path, compression)
        if name is None:
            return super().open(path, mode, block_size, cache_options, compression, **kwargs)
        below = super().open(path, mode, block_size, cache_options, **kwargs)
        return closing_both(compr[name](below, mode=mode[0]), below)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """Return the plaintext of an object, or a range of it."""
        (data,) = self._read([path], [start], [end])
        if isinstance(data, Exception):
            raise data
        return data

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, max_gap: int | None = None, on_error: str = "return", **kwargs: Any) -> list[Any]:
        """Return ranges of objects, by one call of the file system below."""
        if max_gap is not None:
            raise NotImplementedError("max_gap: merge the ranges before")
        starts, ends = (list(one) if isinstance(one, (list, tuple)) else [one] * len(paths) for one in (starts, ends))
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("paths, starts and ends differ in length")
        found = self._read(paths, starts, ends)
        if on_error == "raise":
            for one in found:
                if isinstance(one, Exception):
                    raise one
        return found

    def _read(self, paths: Sequence[str], starts: Sequence[int | None], ends: Sequence[int | None]) -> list[bytes | Exception]:
        requests = [self._request(self._path(path), start, end) for path, start, end in zip(paths, starts, ends)]
        found = iter(self.reader.read([one for one in requests if isinstance(one, Request) and not one.is_nothing]))
        return [one if isinstance(one, Exception) else b"" if one.is_nothing else next(found) for one in requests]

    def _request(self, path: str, start: int | None, end: int | None) -> Request | Exception:
        """A range whose bounds may count from the end."""
        if (start or 0) >= 0 and (end is None or end >= 0):
            return Request(path, start or 0, None if end is None else max(end, start or 0))
        try:
            begin, stop, _ = slice(start, end).indices(complete(self.info(path)["size"], path))
        except Exception as error:
            return error
        return Request(path, begin, None if end is None else max(begin, stop))

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """Return the plaintext of an object, or those of several by path."""
        paths = self.expand_path(path, recursive=recursive, **kwargs)
        if len(paths) == 1 and not isinstance(path, list) and paths[0] == self._path(path):
            return self.cat_file(paths[0])
        paths = [one for one in paths if not recursive or not self.isdir(one)]
        found = dict(zip(paths, self._read(paths, [None] * len(paths), [None] * len(paths))))
        errors = [data for data in found.values() if isinstance(data, Exception)]
        if errors and on_error == "raise":
            raise errors[0]
        return {one: data for one, data in found.items() if on_error == "return" or not isinstance(data, Exception)}

    def get_file(self, rpath: str, lpath: Any = None, callback: Any = DEFAULT_CALLBACK, outfile: Any = None, **kwargs: Any) -> None:
        """Decrypt an object to a local file, which appears when all of it is authentic."""
        given = outfile if outfile is not None else lpath if hasattr(lpath, "write") else None
        if given is not None:
            self._decrypt(rpath, given, callback)
        elif self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
        else:
            folder, name = os.path.split(os.fspath(lpath))
            os.makedirs(folder or ".", exist_ok=True)
            temporary = os.path.join(folder, f".{name}.{random_bytes.token_hex(8)}.part")
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    self._decrypt(rpath, file, callback)
                os.replace(temporary, lpath)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)

    def _decrypt(self, path: str, target: Any, callback: Any) -> None:
        with self.open(path, "rb") as source:
            callback.set_size(source.size)
            while data := source.read(self.blocksize):
                target.write(data)
                callback.relative_update(len(data))

    # Writing

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        """Write an object."""
        path = self._path(path)
        if self._intrans or not writes_in_one_step(self.fs):
            with self.open(path, "xb" if mode == "create" else "wb", **kwargs) as file:
                file.write(value)
            return
        self.fs.pipe_file(path, self._sealed(path, value), **({"mode": mode} if mode != "overwrite" else {}), **kwargs)

    def pipe(self, path: Any, value: Any = None, **kwargs: Any) -> None:
        """Write an object, or several given as a dict, by one call of the file system below."""
        if not isinstance(path, dict) or self._intrans or not writes_in_one_step(self.fs):
            super().pipe(path, value, **kwargs)
            return
        self.fs.pipe({name: self._sealed(name, data) for name, data in ((self._path(name), data) for name, data in path.items())}, **kwargs)

    def _sealed(self, path: str, value: Any) -> bytes:
        return sealed(value, self.secrets.argument(path), self.suite, self.threads)

    def touch(self, path: str, truncate: bool = True, **kwargs: Any) -> None:
        """Write an empty object, or change the time of one."""
        if truncate or not self.exists(path):
            self.pipe_file(path, b"")
        else:
            self.fs.touch(self._path(path), truncate=False, **kwargs)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        """Make a folder."""
        self.fs.mkdir(self._path(path), create_parents=create_parents, **kwargs)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder and those above it."""
        self.fs.makedirs(self._path(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        self.fs.rmdir(self._path(path))

    def rm_file(self, path: str) -> None:
        """Remove an object."""
        self.fs.rm_file(self._path(path))

    def _rm(self, path: str) -> None:
        self.fs.rm_file(self._path(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove objects and folders."""
        self.fs.rm(self._path(path), recursive=recursive, maxdepth=maxdepth)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copy an object. It is encrypted again only if the key of the other path differs."""
        path1, path2 = self._path(path1), self._path(path2)
        if not self.secrets.depends_on_path or self.fs.isdir(path1) or self.secrets.of(path1) == self.secrets.of(path2):
            self.fs.cp_file(path1, path2, **kwargs)
            return
        with self.open(path1) as source, self.open(path2, "wb") as target:
            while data := source.read(self.blocksize):
                target.write(data)

    def copy(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, on_error: str | None = None, **kwargs: Any) -> None:
        """Copy objects. With one key for all, the file system below copies them."""
        copy = super().copy if self.secrets.depends_on_path else self.fs.copy
        copy(self._kept(path1), self._kept(path2), recursive=recursive, maxdepth=maxdepth, on_error=on_error, **kwargs)

    def mv(self, path1: str, path2: str, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any) -> None:
        """Move objects. With one key for all, the file system below moves them."""
        move = super().mv if self.secrets.depends_on_path else self.fs.mv
        move(self._kept(path1), self._kept(path2), recursive=recursive, maxdepth=maxdepth, **kwargs)

    @staticmethod
    def _kept(path: Any) -> Any:
        """A path for the file system below. A slash at the end has a meaning there."""
        if isinstance(path, (list, tuple)):
            return [EncryptedFileSystem._kept(one) for one in path]
        return path.removeprefix("crossgrain::").removeprefix("crossgrain://")


fsspec.register_implementation("crossgrain", EncryptedFileSystem, clobber=True)
