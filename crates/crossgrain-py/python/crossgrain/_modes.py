"""Encryption by modes of operation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

from . import _native
from ._number import number
from ._plan import Plans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeVar

    from ._types import Bytes, CipherName, How, ModeName, PlainModeName, PolicyName, RecordModeName, SealedModeName

    _Out = TypeVar("_Out", bound=Bytes, default=bytes)

#: The ciphers by name, with the bytes of a key.
CIPHERS: dict[CipherName, int] = dict(_native.ciphers())


class Mode(NamedTuple):
    """The properties of a mode of operation."""

    #: Its name: "gcm".
    name: ModeName
    #: A description of one line.
    summary: str
    #: Whether it has a tag. `seal` and `unseal` take modes with a tag, `encrypt` and `decrypt` those without.
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
MODES: dict[ModeName, Mode] = {facts[0]: Mode(*facts) for facts in _native.modes()}


def how(threads: SupportsIndex, policy: PolicyName, isa: str | None, variants: Sequence[str], plan: Plans | str | None) -> How:
    """The options of all functions that run a cipher."""
    given = [] if plan is None else [plan.json if isinstance(plan, Plans) else plan]
    return {"threads": number("threads", threads), "policy": policy, "isa": isa, "variants": list(variants), "plans": given}


def generate_key(cipher: CipherName = "aes-256", mode: ModeName = "gcm") -> bytes:
    """Return a random key from the operating system.

    Parameters
    ----------
    cipher : str
        The cipher, a name in `CIPHERS`. A key of an encrypted file is one of the cipher in the name of its suite.
    mode : str
        The mode, a name in `MODES`. Keys of xts and siv are two keys of the cipher.

    Returns
    -------
    bytes
        The key. Without it the data is lost, so store it safely.

    Examples
    --------
    >>> import crossgrain
    >>> len(crossgrain.generate_key()), len(crossgrain.generate_key("aes-128", "xts"))
    (32, 32)
    """
    if cipher not in CIPHERS:
        raise _native.Error(f"cipher {cipher!r} is none: choose one of {', '.join(CIPHERS)}")
    if mode not in MODES:
        raise _native.Error(f"mode {mode!r} is none: choose one of {', '.join(MODES)}")
    return os.urandom(CIPHERS[cipher] * MODES[mode].keys)


def encrypt(
    data: Bytes,
    *,
    key: Bytes,
    iv: Bytes = b"",
    cipher: CipherName = "aes-256",
    mode: PlainModeName = "ctr",
    out: _Out | None = None,
    sector: SupportsIndex = 0,
    sector_bytes: SupportsIndex = 512,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Encrypt by a mode without a tag.

    The result is not authenticated: an attacker can change it unnoticed. Use `seal` for messages. Never use an iv twice
    with one key.

    Parameters
    ----------
    data : bytes, array or other buffer
        The plaintext. If another thread writes to it meanwhile, the result is that of some bytes or others.
    key : bytes or other buffer
        The key. In xts it is two keys of the cipher.
    iv : bytes or other buffer
        16 bytes. ecb and xts have none.
    cipher : str
        A name in `CIPHERS`.
    mode : {"ecb", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ctr", "xts"}
        The mode.
    out : array or other writable buffer, optional
        Memory for the result, as long as `data`: the same memory as that, or memory apart from it.
    sector, sector_bytes : int
        In xts, the number of the first sector, and the size of sectors.
    threads : int
        The largest number of threads; 0 for all.
    policy : {"constant-time", "any"}
        The leaks that kernels may have.
    isa : str, optional
        The instruction sets that may be used, such as "avx2-aes".
    variants : sequence of str
        Names of kernels that must be used.
    plan : Plans or str, optional
        The plan to use: a result of `plan`, or the text of a file that the command line's `plan --save` has written.
        `policy`, `isa`, `variants` and `plan` change the speed only. By default, costs measured by `crossgrain wisdom
        measure` choose the plan.

    Returns
    -------
    bytes or the type of `out`
        The ciphertext: new bytes, or `out`.

    Raises
    ------
    Error
        If an argument does not fit the cipher or the mode.

    Examples
    --------
    >>> import crossgrain
    >>> key, iv = bytes(32), bytes(16)
    >>> crossgrain.encrypt(b"some text", key=key, iv=iv).hex()
    'affaad1d8234ecf1d9'
    """
    options = how(threads, policy, isa, variants, plan)
    sector, sector_bytes = number("sector", sector, (1 << 128) - 1), number("sector_bytes", sector_bytes)
    return _native.apply(data, out, cipher, mode, False, key, iv, sector, sector_bytes, options)


def decrypt(
    data: Bytes,
    *,
    key: Bytes,
    iv: Bytes = b"",
    cipher: CipherName = "aes-256",
    mode: PlainModeName = "ctr",
    out: _Out | None = None,
    sector: SupportsIndex = 0,
    sector_bytes: SupportsIndex = 512,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Undo `encrypt` with the same arguments. Changes to the data are not detected.

    Parameters
    ----------
    data : bytes, array or other buffer
        The ciphertext.
    key, iv, cipher, mode, out, sector, sector_bytes, threads, policy, isa, variants, plan
        As of `encrypt`.

    Returns
    -------
    bytes or the type of `out`
        The plaintext: new bytes, or `out`.

    Examples
    --------
    >>> import crossgrain
    >>> crossgrain.decrypt(bytes.fromhex("affaad1d8234ecf1d9"), key=bytes(32), iv=bytes(16))
    b'some text'
    """
    options = how(threads, policy, isa, variants, plan)
    sector, sector_bytes = number("sector", sector, (1 << 128) - 1), number("sector_bytes", sector_bytes)
    return _native.apply(data, out, cipher, mode, True, key, iv, sector, sector_bytes, options)


def seal(
    data: Bytes,
    *,
    key: Bytes,
    nonce: Bytes | None = None,
    aad: Bytes | list[Bytes] | tuple[Bytes, ...] | None = None,
    cipher: CipherName = "aes-256",
    mode: SealedModeName = "gcm",
    tag_bytes: SupportsIndex = 16,
    out: _Out | None = None,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Encrypt and authenticate a message by a mode with a tag. The tag follows the ciphertext.

    Never use a nonce twice with one key, except in gcm-siv and siv. `Mode.reuse` in `MODES` says what a repeated nonce
    reveals. Random nonces of 12 bytes suffice for 2**32 messages.

    Parameters
    ----------
    data : bytes, array or other buffer
        The plaintext. A thread that writes to `data` or `out` meanwhile influences what the tag authenticates. Leave
        out `out` if memory is shared with others.
    key : bytes or other buffer
        The key. In siv it is two keys of the cipher.
    nonce : bytes or other buffer
        The nonce. `Mode.iv_bytes` in `MODES` gives the usual length. In siv it is optional: None and b"" are the same.
    aad : bytes or other buffer, optional
        Associated data, which is authenticated and not encrypted. siv also takes a list or tuple of strings, as RFC 5297
        does. There None (no string), b"" and [b"", b""] differ. For the other modes None is the same as b"".
    cipher : str
        A name in `CIPHERS`.
    mode : {"gcm", "gcm-siv", "ocb", "ccm", "eax", "siv"}
        The mode.
    tag_bytes : int
        The length of the tag.
    out : array or other writable buffer, optional
        Memory for the result, `tag_bytes` longer than `data`. It may begin with the same memory.
    threads, policy, isa, variants, plan
        As of `encrypt`.

    Returns
    -------
    bytes or the type of `out`
        Ciphertext and tag: new bytes, or `out`.

    Examples
    --------
    >>> import crossgrain
    >>> sealed = crossgrain.seal(b"some text", key=bytes(32), nonce=bytes(12), aad=b"header")
    >>> len(sealed)
    25
    >>> crossgrain.unseal(sealed, key=bytes(32), nonce=bytes(12), aad=b"header")
    b'some text'
    """
    options, tag_bytes = how(threads, policy, isa, variants, plan), number("tag_bytes", tag_bytes)
    return _native.apply_sealed(data, out, cipher, mode, False, key, nonce, aad, tag_bytes, options)


def unseal(
    data: Bytes,
    *,
    key: Bytes,
    nonce: Bytes | None = None,
    aad: Bytes | list[Bytes] | tuple[Bytes, ...] | None = None,
    cipher: CipherName = "aes-256",
    mode: SealedModeName = "gcm",
    tag_bytes: SupportsIndex = 16,
    out: _Out | None = None,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Verify and decrypt what `seal` has made with the same arguments.

    Parameters
    ----------
    data : bytes, array or other buffer
        Ciphertext and tag. The result is what was found authentic, even if another thread writes to `data` meanwhile:
        unless it is `bytes`, it is copied first.
    out : array or other writable buffer, optional
        Memory for the result, `tag_bytes` shorter than `data`. It may be any part of the same memory.
    key, nonce, aad, cipher, mode, tag_bytes, threads, policy, isa, variants, plan
        As of `seal`.

    Returns
    -------
    bytes or the type of `out`
        The plaintext: new bytes, or `out`.

    Raises
    ------
    Forged
        If the tag is wrong: the data, `aad`, the nonce or the key differs. `out` is then unchanged, or zeros in modes
        that must decrypt first.
    Truncated
        If `data` is shorter than the tag.

    Examples
    --------
    >>> import crossgrain
    >>> sealed = crossgrain.seal(b"some text", key=bytes(32), nonce=bytes(12))
    >>> crossgrain.unseal(sealed, key=bytes(32), nonce=bytes(12))
    b'some text'
    >>> crossgrain.unseal(sealed, key=bytes(32), nonce=bytes(12), aad=b"other")
    Traceback (most recent call last):
        ...
    crossgrain.Forged: the tag is wrong: the data, its nonce or associated data, or the key is not the right one
    """
    options, tag_bytes = how(threads, policy, isa, variants, plan), number("tag_bytes", tag_bytes)
    return _native.apply_sealed(data, out, cipher, mode, True, key, nonce, aad, tag_bytes, options)


def encrypt_records(
    data: Bytes,
    *,
    keys: Bytes,
    ivs: Bytes = b"",
    cipher: CipherName = "aes-256",
    mode: RecordModeName = "ctr",
    out: _Out | None = None,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Encrypt records of one length, each under its own key.

    The result is that of `encrypt` on each record. The keys of many records are set up together, so short records take a
    fraction of the time.

    Parameters
    ----------
    data : bytes, array or other buffer
        The records, one after another, such as an array with a row for each.
    keys : bytes, array or other buffer
        The keys, one after another. Their number is the number of records.
    ivs : bytes, array or other buffer
        16 bytes for each record, or 16 bytes for all of them, which suffices if all keys differ and are used once. ecb has
        none.
    cipher : str
        A name in `CIPHERS`.
    mode : {"ecb", "cbc", "ctr"}
        The mode.
    out, threads, policy, isa, variants, plan
        As of `encrypt`.

    Returns
    -------
    bytes or the type of `out`
        The encrypted records: new bytes, or `out`.

    Raises
    ------
    Error
        If an argument does not fit the cipher or the mode.
    ValueError
        If the number of keys or of ivs does not fit the data.

    Examples
    --------
    >>> import crossgrain
    >>> import numpy as np
    >>> records = np.zeros((3, 20), np.uint8)
    >>> keys = np.frombuffer(bytes(range(48)), np.uint8).reshape(3, 16)
    >>> out = np.empty_like(records)
    >>> _ = crossgrain.encrypt_records(records, keys=keys, ivs=bytes(16), cipher="aes-128", out=out)
    >>> bytes(out[1]) == crossgrain.encrypt(bytes(20), key=keys[1], iv=bytes(16), cipher="aes-128")
    True
    """
    return _native.apply_records(data, out, cipher, mode, False, keys, ivs, how(threads, policy, isa, variants, plan))


def decrypt_records(
    data: Bytes,
    *,
    keys: Bytes,
    ivs: Bytes = b"",
    cipher: CipherName = "aes-256",
    mode: RecordModeName = "ctr",
    out: _Out | None = None,
    threads: SupportsIndex = 0,
    policy: PolicyName = "constant-time",
    isa: str | None = None,
    variants: Sequence[str] = (),
    plan: Plans | str | None = None,
) -> _Out:
    """Undo `encrypt_records` with the same arguments. Changes to the data are not detected.

    Parameters
    ----------
    data : bytes, array or other buffer
        The encrypted records, one after another.
    keys, ivs, cipher, mode, out, threads, policy, isa, variants, plan
        As of `encrypt_records`.

    Returns
    -------
    bytes or the type of `out`
        The records: new bytes, or `out`.

    Examples
    --------
    >>> import crossgrain
    >>> sealed = crossgrain.encrypt_records(b"onetwo", keys=bytes(range(64)), ivs=bytes(16))
    >>> crossgrain.decrypt_records(sealed, keys=bytes(range(64)), ivs=bytes(16))
    b'onetwo'
    """
    return _native.apply_records(data, out, cipher, mode, True, keys, ivs, how(threads, policy, isa, variants, plan))
