"""The native half: private to the package."""

from typing import Any

class Error(ValueError):
    """What the engine refuses, and how to mend it."""

class Forged(Error):
    """A tag is wrong: nothing was decrypted."""

__version__: str

class Core:
    def __init__(self, cipher: str, key: Any, threads: int) -> None: ...
    def install(self, capsule: Any) -> None: ...
    def rekey(self, cipher: str, key: Any) -> None: ...
    def position(self) -> tuple[int, int, int | None]: ...
    def seek(self, block: int, word: int, half: int | None) -> None: ...
    def draw(self) -> int: ...
    def fill(self, out: Any, uniform: bool) -> None: ...
    def fill_at(self, block: int, word: int, out: Any, uniform: bool) -> None: ...

class Reader:
    def __init__(self, source: Any, secret: Any, is_passphrase: bool, threads: int) -> None: ...
    def readinto(self, out: Any) -> int: ...
    def seek(self, offset: int, whence: int) -> int: ...

class Writer:
    def __init__(
        self, target: Any, secret: Any, is_passphrase: bool, suite: str, overwrite: bool, threads: int
    ) -> None: ...
    def write(self, data: Any) -> int: ...
    def finish(self) -> None: ...

def apply(
    data: Any,
    out: Any,
    cipher: str,
    mode: str,
    decrypt: bool,
    key: Any,
    iv: Any,
    sector: int,
    sector_bytes: int,
    how: dict[str, Any],
) -> Any: ...
def seal(
    data: Any,
    out: Any,
    cipher: str,
    mode: str,
    key: Any,
    nonce: Any,
    aad: Any,
    tag_bytes: int,
    how: dict[str, Any],
) -> Any: ...
def open(
    data: Any,
    out: Any,
    cipher: str,
    mode: str,
    key: Any,
    nonce: Any,
    aad: Any,
    tag_bytes: int,
    how: dict[str, Any],
) -> Any: ...
def encrypt_file(
    source: Any,
    target: Any,
    secret: Any,
    is_passphrase: bool,
    suite: str,
    overwrite: bool,
    progress: Any,
    threads: int,
) -> int: ...
def decrypt_file(
    source: Any, target: Any, secret: Any, is_passphrase: bool, overwrite: bool, progress: Any, threads: int
) -> int: ...
def search_size(job: dict[str, Any]) -> tuple[int, str]: ...
def search_shard(
    job: dict[str, Any],
    skip: int,
    limit: int | None,
    shard: tuple[int, int] | None,
    goes_on: bool,
    progress: Any,
    threads: int,
) -> tuple[list[tuple[int, bytes, bytes]], list[tuple[str, int, int]]]: ...
def plan(
    cipher: str, from_counter: bool, decrypt: bool, how: dict[str, Any]
) -> tuple[list[tuple[int, float, float, list[tuple[str, int, str]]]], str]: ...
def compose(costs: str, runners_up: int) -> str: ...
def ciphers() -> list[tuple[str, int]]: ...
def cpu() -> tuple[str, str, int]: ...
