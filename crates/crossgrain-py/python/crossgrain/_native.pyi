"""The native half: private to the package."""

from typing import Any, final

from typing_extensions import Self

class Error(ValueError):
    """What the engine refuses, and how to mend it."""

class Forged(Error):
    """A tag is wrong: no plaintext is given."""

__version__: str

@final
class Core:
    def __new__(cls, cipher: str, key: Any, threads: int, lock: Any) -> Self: ...
    def install(self, capsule: Any) -> None: ...
    def state(self) -> tuple[bytes, tuple[int, int, int | None]]: ...
    def restore(self, cipher: str, key: Any, place: tuple[int, int, int | None]) -> None: ...
    def advance(self, blocks: int, words: int, keeps_half: bool) -> None: ...
    def draw(self) -> int: ...
    def fill(self, out: Any, uniform: bool) -> None: ...
    def fill_at(self, block: int, word: int, out: Any, uniform: bool) -> None: ...

@final
class Reader:
    def __new__(cls, source: Any, secret: Any, is_passphrase: bool, threads: int) -> Self: ...
    def readinto(self, out: Any) -> int: ...
    def seek(self, offset: int, whence: int) -> int: ...

@final
class Writer:
    def __new__(
        cls, target: Any, secret: Any, is_passphrase: bool, suite: str, overwrite: bool, threads: int
    ) -> Self: ...
    def write(self, data: Any) -> int: ...
    def finish(self) -> None: ...

def bytes_of(object: Any, what: str) -> bytes: ...
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
def apply_sealed(
    data: Any,
    out: Any,
    cipher: str,
    mode: str,
    decrypt: bool,
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
def search_size(job: dict[str, Any]) -> tuple[int, str, int | None]: ...
def search_prefix_bytes() -> int: ...
def search_shard(
    job: dict[str, Any],
    skip: int,
    limit: int | None,
    shard: tuple[int, int] | None,
    goes_on: bool,
    progress: Any,
    threads: int,
    device: str | None,
) -> tuple[list[tuple[int, bytes, bytes]], list[tuple[str, int, int]], str | None]: ...
def plan(
    cipher: str, mode: str, decrypt: bool, how: dict[str, Any]
) -> tuple[str, list[tuple[int, float, float, list[tuple[str, int, str]]]], str]: ...
def compose(costs: str, runners_up: int) -> str: ...
def ciphers() -> list[tuple[str, int]]: ...
def modes() -> list[tuple[str, str, bool, int, int | None, bool, tuple[bool, bool], str]]: ...
def cpu() -> tuple[str, str, int]: ...
def gpus() -> list[tuple[str, str, str, bool]]: ...
