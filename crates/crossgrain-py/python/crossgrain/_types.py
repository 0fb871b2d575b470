"""Types of arguments: the names that functions take, and what lends bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

import numpy as np

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex

    from numpy.random import Generator
    from numpy.random.bit_generator import ISeedSequence
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Buffer, TypeAlias

    from ._search_input import Header, Masks
    from .parallel import Lane, Vector
    from .random import AESCounter, SerpentCounter

    #: An object that lends its bytes. For type checkers, NumPy's arrays are buffers from Python 3.12 on only.
    Bytes: TypeAlias = Union[Buffer, np.ndarray[Any, Any]]

    #: Sources of keys and passphrases: bytes, or a function of a path that returns them.
    KeySource: TypeAlias = Union[Bytes, Callable[[str], Bytes]]
    PassphraseSource: TypeAlias = Union[str, Bytes, Callable[[str], Union[str, Bytes]]]

    #: An encrypted file: its path, its bytes, or its header.
    FileSource: TypeAlias = Union[str, os.PathLike[str], bytes, Header]
    #: A word list: the path of a file, the bytes of a file, or a sequence of words.
    WordList: TypeAlias = Union[Bytes, Sequence[Union[str, Bytes]], str, os.PathLike[str]]
    #: Masks: one, several, or the path of a file of masks.
    MaskSource: TypeAlias = Union[str, bytes, os.PathLike[str], Sequence[Union[str, bytes]], Masks]

    #: The key of a generator.
    Key: TypeAlias = Union[SupportsIndex, Bytes, Sequence[SupportsIndex]]
    #: The seed of a generator.
    Seed: TypeAlias = Union[None, SupportsIndex, Sequence[SupportsIndex], NDArray[np.integer[Any]], ISeedSequence]
    #: A generator, or what one is made from.
    Source: TypeAlias = Union[Seed, AESCounter, SerpentCounter, Generator]
    #: Chunks as Dask takes them.
    Chunks: TypeAlias = Union[Literal["auto"], int, Sequence[Union[int, Sequence[int], None]]]

    #: A number that is the same for all elements.
    Number: TypeAlias = Union[bool, int, float, np.generic]
    #: A function of numbers that gives one number, or several.
    One: TypeAlias = Callable[..., Lane]
    Several: TypeAlias = Callable[..., Union[tuple[Lane, ...], list[Lane]]]
    #: Elements of any kind.
    Elements: TypeAlias = Union[ArrayLike, Vector]
    #: Elements, as the arguments were.
    Made: TypeAlias = Union[NDArray[Any], Vector]

#: The ciphers, with the bits of a key.
CipherName: TypeAlias = Literal[
    "aes-128",
    "aes-192",
    "aes-256",
    "serpent-128",
    "serpent-192",
    "serpent-256",
    "sm4",
    "camellia-128",
    "camellia-192",
    "camellia-256",
    "aria-128",
    "aria-192",
    "aria-256",
    "kuznyechik",
]

#: The modes without a tag, for `encrypt` and `decrypt`.
PlainModeName: TypeAlias = Literal["ecb", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ctr", "xts"]

#: The modes of `encrypt_records`.
RecordModeName: TypeAlias = Literal["ecb", "cbc", "ctr"]

#: The modes with a tag, for `seal` and `unseal`.
SealedModeName: TypeAlias = Literal["eax", "gcm", "ccm", "gcm-siv", "ocb", "siv"]

#: All modes.
ModeName: TypeAlias = Union[PlainModeName, SealedModeName]

#: The suites of encrypted files.
SuiteName: TypeAlias = Literal[
    "aes-256-gcm",
    "aes-128-gcm",
    "serpent-256-eax",
    "aes-256-eax",
    "aes-256-ocb",
    "serpent-256-ocb",
    "aes-256-gcm-siv",
]

#: The formats of encrypted files whose passphrase can be searched for.
FileFormatName: TypeAlias = Literal["crossgrain", "openssl", "luks", "zip", "age", "veracrypt", "truecrypt"]

#: The headers of VeraCrypt and TrueCrypt volumes.
HeaderName: TypeAlias = Literal["outer", "hidden", "backup", "hidden-backup", "system"]

#: The hashes of key derivations.
HashName: TypeAlias = Literal["sha256", "sha512", "md5", "sha1", "ripemd160", "whirlpool", "streebog", "blake2s"]

#: The looks of a plaintext.
LookName: TypeAlias = Literal["any", "printable", "text", "file"]

#: The key derivations of a search.
KdfName: TypeAlias = Literal[
    "exact",
    "zeros",
    "repeat",
    "sha256",
    "pbkdf2-sha1",
    "pbkdf2-sha256",
    "pbkdf2-sha512",
    "scrypt",
    "argon2id",
]

#: The formats of word lists.
FormName: TypeAlias = Literal["lines", "hex", "raw"]

#: The leaks that kernels may have.
PolicyName: TypeAlias = Literal["constant-time", "any"]


class How(TypedDict):
    """What narrows down the kernels. The native half reads it."""

    threads: int
    policy: PolicyName
    isa: str | None
    variants: list[str]
    plans: list[str]
