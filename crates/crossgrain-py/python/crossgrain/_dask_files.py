"""Encryption and decryption of many files with Dask: one task per file."""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._files import decrypt_file, encrypt_file
from ._keys import NAMES, Secrets
from ._native import Error

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ._types import KeySource, PassphraseSource, SuiteName

#: Bytes that are copied at a time.
_STEP_BYTES = 4 << 20


def encrypt_files(
    sources: str | Sequence[str],
    targets: str | Sequence[str],
    *,
    key: KeySource | None = None,
    key_file: str | os.PathLike[str] | None = None,
    key_env: str | None = None,
    passphrase: PassphraseSource | None = None,
    passphrase_file: str | os.PathLike[str] | None = None,
    passphrase_env: str | None = None,
    suite: SuiteName = "aes-256-gcm",
    overwrite: bool = False,
    source_options: dict[str, Any] | None = None,
    target_options: dict[str, Any] | None = None,
    compute: bool = True,
) -> Any:
    """Encrypt files with Dask, one task per file.

    A target appears when it is complete. If a worker is lost, Dask runs its tasks again; they replace what the lost worker
    may have written. The sources of keys other than bytes are resolved on the workers, and the graph has no key.

    Parameters
    ----------
    sources : str or sequence of str
        Addresses of files as fsspec takes them, or patterns such as "s3://bucket/*.csv".
    targets : str or sequence of str
        The address of a folder, in which the files keep their names, or one address for each source.
    key, key_file, key_env, passphrase, passphrase_file, passphrase_env
        As of `crossgrain.fsspec.EncryptedFileSystem`. A function is called with the path of the encrypted file.
    suite : str
        As of `encrypt_file`.
    overwrite : bool
        Whether existing targets are replaced. They are looked for before anything is written.
    source_options, target_options : dict, optional
        Options of the file systems.
    compute : bool
        Whether to do it now, with Dask's scheduler: that of the current `Client`, if there is one.

    Returns
    -------
    list
        The length of each plaintext in bytes, or a `dask.delayed.Delayed` of it if `compute` is False.

    Raises
    ------
    FileExistsError
        If a target exists and `overwrite` is False.
    FileNotFoundError
        If there is no such source.

    Examples
    --------
    >>> import crossgrain, pathlib
    >>> from crossgrain import dask
    >>> for name in ("a.csv", "b.csv"):
    ...     size = pathlib.Path(name).write_text("1,2,3")
    >>> key = crossgrain.generate_key()
    >>> dask.encrypt_files("*.csv", "sealed", key=key)
    [5, 5]
    >>> dask.decrypt_files("sealed/*.csv", "again", key=key)
    [5, 5]
    """
    secrets = _secrets(key, key_file, key_env, passphrase, passphrase_file, passphrase_env)
    return _done(_encrypted, sources, targets, (secrets, suite), overwrite, (source_options, target_options), compute)


def decrypt_files(
    sources: str | Sequence[str],
    targets: str | Sequence[str],
    *,
    key: KeySource | None = None,
    key_file: str | os.PathLike[str] | None = None,
    key_env: str | None = None,
    passphrase: PassphraseSource | None = None,
    passphrase_file: str | os.PathLike[str] | None = None,
    passphrase_env: str | None = None,
    overwrite: bool = False,
    source_options: dict[str, Any] | None = None,
    target_options: dict[str, Any] | None = None,
    compute: bool = True,
) -> Any:
    """Decrypt files with Dask, one task per file. A target appears when all of it is authentic.

    Parameters
    ----------
    sources, targets, overwrite, source_options, target_options, compute
        As of `encrypt_files`.
    key, key_file, key_env, passphrase, passphrase_file, passphrase_env
        As of `encrypt_files`.

    Returns
    -------
    list
        As of `encrypt_files`.

    Raises
    ------
    WrongKey, Damaged, Truncated
        As of `decrypt_file`.
    FileExistsError, FileNotFoundError
        As of `encrypt_files`.

    Examples
    --------
    >>> import crossgrain, pathlib
    >>> from crossgrain import dask
    >>> size = pathlib.Path("one.txt").write_text("some text")
    >>> size = crossgrain.encrypt_file("one.txt", "one.sealed", passphrase="some words")
    >>> dask.decrypt_files(["one.sealed"], ["two.txt"], passphrase="some words")
    [9]
    """
    secrets = _secrets(key, key_file, key_env, passphrase, passphrase_file, passphrase_env)
    return _done(_decrypted, sources, targets, (secrets,), overwrite, (source_options, target_options), compute)


def _secrets(*given: Any) -> Secrets:
    return Secrets(dict(zip(NAMES, given)))


def _done(task: Any, sources: Any, targets: Any, how: tuple[Any, ...], overwrite: bool, options: tuple[Any, Any], compute: bool) -> Any:
    import dask

    pairs = _pairs(sources, targets, overwrite, *options)
    tasks = [dask.delayed(task)(pair, options, *how) for pair in pairs]  # type: ignore[attr-defined]
    return list(dask.compute(*tasks)) if compute else tasks  # type: ignore[attr-defined,no-untyped-call]


def _below(address: str, options: dict[str, Any] | None) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    from fsspec.core import url_to_fs  # type: ignore[import-untyped,import-not-found,unused-ignore]

    fs, path = url_to_fs(address, **(options or {}))
    return fs, path


def _pairs(sources: Any, targets: Any, overwrite: bool, source_options: Any, target_options: Any) -> list[tuple[str, str]]:
    """The addresses of each source and its target."""
    found: list[str] = []
    for address in [sources] if isinstance(sources, str) else sources:
        fs, path = _below(address, source_options)
        paths = sorted(fs.glob(path)) if any(sign in path for sign in "*?[") else [path]
        if not paths or not all(map(fs.isfile, paths)):
            raise FileNotFoundError(f"there is no file {address}")
        found += map(fs.unstrip_protocol, paths)
    if isinstance(targets, str):
        names = [one.rsplit("/", 1)[-1] for one in found]
        fs, folder = _below(targets, target_options)
        fs.makedirs(folder, exist_ok=True)
        wanted = [f"{folder}/{name}" for name in names]
    else:
        below = [_below(one, target_options) for one in targets]
        wanted = [path for _, path in below]
        fs = below[0][0] if below else None
    if len(wanted) != len(found) or len(set(wanted)) != len(wanted):
        raise Error(f"{len(found)} sources have {len(set(wanted))} targets: give each a target of its own")
    addresses = [fs.unstrip_protocol(one) for one in wanted]
    if set(addresses) & set(found):
        raise Error("a target is also a source: give another folder")
    if not overwrite:
        for one in wanted:
            if fs.exists(one):
                raise FileExistsError(f"{one} exists: give overwrite=True, or another folder")
    return list(zip(found, addresses))


def _encrypted(pair: tuple[str, str], options: tuple[Any, Any], secrets: Secrets, suite: SuiteName) -> int:
    from ._sinks import is_local, open_sink

    (source_fs, source), (fs, target) = map(_below, pair, options)
    if is_local(source_fs) and is_local(fs):
        return encrypt_file(source, target, suite=suite, overwrite=True, threads=1, **secrets.argument(target))
    with source_fs.open(source, "rb") as file:
        return _copied(file, open_sink(fs, target, "wb", secrets, suite, 1))


def _decrypted(pair: tuple[str, str], options: tuple[Any, Any], secrets: Secrets) -> int:
    from ._sinks import is_local, open_target
    from .fsspec import EncryptedFileSystem

    (source_fs, source), (fs, target) = map(_below, pair, options)
    if is_local(source_fs) and is_local(fs):
        return decrypt_file(source, target, overwrite=True, threads=1, **secrets.argument(source))
    encrypted: Any = EncryptedFileSystem(fs=source_fs, threads=1, skip_instance_cache=True, **secrets.argument(source))
    if is_local(fs):
        encrypted.get_file(source, target)
        return int(fs.size(target))
    with encrypted.open(source, "rb") as file:
        return _copied(file, open_target(fs, target, "wb"))


def _copied(file: Any, target: Any) -> int:
    count = 0
    try:
        while data := file.read(_STEP_BYTES):
            target.write(data)
            count += len(data)
    except BaseException:
        target.discard()
        raise
    target.commit()
    return count
