"""A bulk block-cipher engine: AES and Serpent for large data, in constant time.

Data goes in as anything that lends its bytes (bytes, bytearray, memoryview, NumPy arrays) and comes out as bytes, or in
place of what `out` holds. Other threads run meanwhile. Nothing is copied on the way but keys, nonces, additional data, and
what `open` reads.

What is lent lies in one piece, in C's order, and is plain data in every byte: numbers, characters, structures of them.
`TypeError` tells of objects, addresses and gaps, and of bools and characters as an output, which not all bytes are;
`BufferError` of what lends nothing or may not be written; `ValueError` of what lies in pieces or has the wrong size. Nothing
is written then. Whatever NumPy does not export, as datetime64, can be given as a view of numpy.uint8.

    >>> import crossgrain
    >>> key, iv = bytes(32), bytes(16)
    >>> sealed = crossgrain.encrypt(b"some text", key=key, iv=iv)
    >>> crossgrain.decrypt(sealed, key=key, iv=iv)
    b'some text'

`crossgrain.random` has generators for NumPy, `crossgrain.parallel` algorithms over arrays on CPUs and GPUs, and `crossgrain.dask` arrays that do not depend on their chunks. A lost key is
described by `Search`, and sought by `search_shard`, or on many machines by `crossgrain.dask.search`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native, parallel, random
from ._files import EncryptedFile, decrypt_file, encrypt_file
from ._native import Error, Forged, __version__
from ._number import number
from ._plan import Composition, Plan, Plans, Stage, compose, plan
from ._search import Found, Search, search_shard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing_extensions import Buffer

__all__ = [
    "CIPHERS",
    "Composition",
    "Device",
    "EncryptedFile",
    "Error",
    "Forged",
    "Found",
    "MODES",
    "Mode",
    "Plan",
    "Plans",
    "Search",
    "Stage",
    "__version__",
    "compose",
    "decrypt",
    "decrypt_file",
    "devices",
    "encrypt",
    "encrypt_file",
    "open",
    "parallel",
    "plan",
    "random",
    "seal",
    "search_shard",
]

#: The ciphers by name, with the bytes of a key.
CIPHERS: dict[str, int] = dict(_native.ciphers())


class Mode(NamedTuple):
    """What there is to know of a mode of operation."""

    #: Its name: "gcm".
    name: str
    #: A description of one line.
    summary: str
    #: Whether it has a tag. `seal` and `open` take modes with a tag, `encrypt` and `decrypt` those without.
    authenticated: bool
    #: The number of cipher keys in its key.
    keys: int
    #: Bytes of an iv or of the recommended nonce; None if the mode has neither.
    iv_bytes: int | None
    #: Whether messages must be whole blocks.
    whole_blocks: bool
    #: Whether the blocks of a message are computed in parallel: for encryption, for decryption.
    parallel: tuple[bool, bool]
    #: The leak if two messages share a key and an iv, a nonce or a sector.
    reuse: str


#: The modes by name.
MODES: dict[str, Mode] = {facts[0]: Mode(*facts) for facts in _native.modes()}


def _how(threads: int, policy: str, isa: str | None, variants: Sequence[str], plans: Plans | None) -> dict[str, Any]:
    given = [plans.json] if plans is not None else []
    threads = number("threads", threads)
    return {"threads": threads, "policy": policy, "isa": isa, "variants": list(variants), "plans": given}


def encrypt(
    data: Buffer,
    *,
    key: Buffer,
    iv: Buffer = b"",
    cipher: str = "aes-256",
    mode: str = "ctr",
    out: Any = None,
    sector: int = 0,
    sector_bytes: int = 512,
    threads: int = 0,
    policy: str = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | None = None,
) -> Any:
    """Encrypt by a mode without a tag: ctr, ecb, cbc, cfb, ofb or xts.

    The result is new bytes, or `out`, which must be as long as `data`: the same memory, or memory apart from it. `iv` has
    16 bytes, and none in ecb and xts; xts counts sectors of `sector_bytes` from `sector` on, and its key is two keys of
    the cipher. Nothing is authenticated, and no iv may be used twice with one key: use `seal` for messages. If another
    thread writes to the memory meanwhile, the result is that of some bytes or others.

    `threads` is how many at most, 0 for all. `policy`, `isa`, `variants` and `plan` narrow down what runs; they change the
    speed and never the result.
    """
    how = _how(threads, policy, isa, variants, plan)
    sector, sector_bytes = number("sector", sector, (1 << 128) - 1), number("sector_bytes", sector_bytes)
    return _native.apply(data, out, cipher, mode, False, key, iv, sector, sector_bytes, how)


def decrypt(
    data: Buffer,
    *,
    key: Buffer,
    iv: Buffer = b"",
    cipher: str = "aes-256",
    mode: str = "ctr",
    out: Any = None,
    sector: int = 0,
    sector_bytes: int = 512,
    threads: int = 0,
    policy: str = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | None = None,
) -> Any:
    """Undo `encrypt` with the same arguments. Whether the data was changed is not found out."""
    how = _how(threads, policy, isa, variants, plan)
    sector, sector_bytes = number("sector", sector, (1 << 128) - 1), number("sector_bytes", sector_bytes)
    return _native.apply(data, out, cipher, mode, True, key, iv, sector, sector_bytes, how)


def seal(
    data: Buffer,
    *,
    key: Buffer,
    nonce: Buffer | None = None,
    aad: Buffer | list[Buffer] | tuple[Buffer, ...] | None = None,
    cipher: str = "aes-256",
    mode: str = "gcm",
    tag_bytes: int = 16,
    out: Any = None,
    threads: int = 0,
    policy: str = "constant-time",
    isa: str | None = None,
) -> Any:
    """Encrypt a message by a mode with a tag, gcm or another, with the tag behind it; it vouches for the message and for `aad`.

    No nonce may be used twice with one key, but by gcm-siv and siv: `MODES` says what that shows, and how long nonces are.
    One of 12 random bytes is good for 2**32 messages. siv needs no nonce: None and b"" mean that there is none. siv also
    takes `aad` as a list or tuple of strings, as RFC 5297 does, and None (no string), b"" and [b"", b""] differ. For the
    other modes None is the same as b"". `out`, if given, is
    `tag_bytes` longer than `data`, and may begin with the same memory. A thread that writes to `data` or `out` meanwhile
    has a say in what the tag vouches for: leave `out` away where memory is shared with others.
    """
    how, tag_bytes = _how(threads, policy, isa, (), None), number("tag_bytes", tag_bytes)
    return _native.apply_sealed(data, out, cipher, mode, False, key, nonce, aad, tag_bytes, how)


def open(  # noqa: A001 - the usual name for the inverse of seal
    data: Buffer,
    *,
    key: Buffer,
    nonce: Buffer | None = None,
    aad: Buffer | list[Buffer] | tuple[Buffer, ...] | None = None,
    cipher: str = "aes-256",
    mode: str = "gcm",
    tag_bytes: int = 16,
    out: Any = None,
    threads: int = 0,
    policy: str = "constant-time",
    isa: str | None = None,
) -> Any:
    """Undo `seal`, or raise `Forged` if the tag is wrong: `out` is as it was then, or zeros by modes that must decrypt first.

    `out`, if given, is `tag_bytes` shorter than `data`, and may be any part of the same memory. What is decrypted is what
    was found authentic, even if another thread writes to `data` meanwhile: unless it is `bytes`, it is copied first.

        >>> sealed = seal(b"some text", key=bytes(32), nonce=bytes(12))
        >>> open(sealed, key=bytes(32), nonce=bytes(12))
        b'some text'
    """
    how, tag_bytes = _how(threads, policy, isa, (), None), number("tag_bytes", tag_bytes)
    return _native.apply_sealed(data, out, cipher, mode, True, key, nonce, aad, tag_bytes, how)


class Device(NamedTuple):
    """Where work can run."""

    #: Its name: "cpu", "cuda:0", "wgpu:0".
    name: str
    #: The model.
    model: str
    #: The CPU's instruction sets, or the GPU's driver.
    features: str
    #: The number of hardware threads; 0 for a GPU, which does not report it.
    threads: int
    #: Whether it is a GPU emulated in software on the CPU.
    is_software: bool = False


def devices() -> list[Device]:
    """Where work can run on this machine: the CPU, and GPUs, which `search_shard` takes by name."""
    gpus = (Device(name, model, driver, 0, is_software) for name, model, driver, is_software in _native.gpus())
    return [Device("cpu", *_native.cpu()), *gpus]
