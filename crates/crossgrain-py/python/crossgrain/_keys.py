"""Sources of keys for file systems, Zarr arrays and Dask jobs.

Such objects are pickled and sent to other processes. A source is therefore a reference if possible: the name of a file or
of an environment variable, or a function. It is resolved when a file is opened, in the process that opens it.
"""

from __future__ import annotations

import binascii
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._native import Error, bytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The arguments that name a source. At most one is given.
NAMES = ("key", "key_file", "key_env", "passphrase", "passphrase_file", "passphrase_env")

#: Environment variables that are used if no source is given: the name of a key file, and a key in hex.
FILE_VARIABLE, KEY_VARIABLE = "CROSSGRAIN_KEY_FILE", "CROSSGRAIN_KEY"

#: Key files are shorter than this.
_FILE_BYTES_MAX = 1024


class Secrets:
    """A source of the secret of each path.

    Parameters
    ----------
    given : mapping
        The arguments of `NAMES`, with None for those that were not given.
    keys_only : bool
        Whether passphrases are refused.
    """

    def __init__(self, given: Mapping[str, Any], keys_only: bool = False) -> None:
        named = [name for name in NAMES if given.get(name) is not None]
        if len(named) > 1:
            raise Error(f"{' and '.join(named)} were given: give one source of the key")
        self._name = named[0] if named else None
        self._source: Any = given[named[0]] if named else None
        if keys_only and self.is_passphrase:
            raise Error("a passphrase costs a tenth of a second per object: give a key")
        if self._name == "key" and isinstance(self._source, str):
            raise TypeError("key is bytes or a function: for hex digits use bytes.fromhex, for a file key_file, for a variable key_env")
        if self._name in ("key", "passphrase") and not callable(self._source) and not isinstance(self._source, str):
            self._source = bytes_of(self._source, self._name)

    def __repr__(self) -> str:
        return f"<secrets from {self._name or 'the environment'}>"

    @property
    def is_passphrase(self) -> bool:
        """Whether the secrets are passphrases."""
        return self._name is not None and self._name.startswith("passphrase")

    @property
    def depends_on_path(self) -> bool:
        """Whether two paths may have different secrets."""
        return callable(self._source)

    def of(self, path: str) -> bytes:
        """The secret of a path."""
        secret = self._resolved(path)
        return secret.encode() if isinstance(secret, str) else bytes_of(secret, "passphrase" if self.is_passphrase else "key")

    def argument(self, path: str) -> dict[str, Any]:
        """The secret of a path, as a named argument of the functions for files."""
        return dict([self.pair(path)])

    def pair(self, path: str) -> tuple[str, bytes]:
        """The secret of a path with its kind, as the native half takes it."""
        return "passphrase" if self.is_passphrase else "key", self.of(path)

    def _resolved(self, path: str) -> Any:
        if self._name is None:
            return _default()
        if self._name == "key_file":
            return _key_of_file(self._source)
        if self._name == "passphrase_file":
            return _beginning(self._source).split(b"\n", 1)[0].removesuffix(b"\r")
        if self._name.endswith("_env"):
            text = os.environ.get(self._source)
            if text is None:
                raise Error(f"the environment variable {self._source} is not set: set it to the {self._name.removesuffix('_env')}")
            return text if self.is_passphrase else _hex_key(text.strip(), f"the environment variable {self._source}")
        return self._source(path) if callable(self._source) else self._source


def _default() -> bytes:
    """The key of the usual environment variables."""
    if name := os.environ.get(FILE_VARIABLE):
        return _key_of_file(name)
    if digits := os.environ.get(KEY_VARIABLE):
        return _hex_key(digits.strip(), f"the environment variable {KEY_VARIABLE}")
    raise Error(f"there is no key: give key, key_file or key_env, or set {FILE_VARIABLE} or {KEY_VARIABLE}")


def _beginning(path: Any) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_FILE_BYTES_MAX)


def _key_of_file(path: Any) -> bytes:
    """A key file has hex digits, as `crossgrain keygen` writes them, or the bytes of a key."""
    content = _beginning(path)
    try:
        return binascii.unhexlify(content.rstrip())
    except ValueError:
        if len(content) in (16, 32):
            return content
        raise Error(f"{os.fspath(path)} holds no key: it needs 64 hex digits, or 32 bytes") from None


def _hex_key(digits: str, where: str) -> bytes:
    try:
        return binascii.unhexlify(digits)
    except ValueError:
        raise Error(f"{where} holds no key: it needs 64 hex digits") from None
