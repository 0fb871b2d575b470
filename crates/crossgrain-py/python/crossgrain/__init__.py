"""A bulk block-cipher engine: AES, Serpent and others for large data, in constant time.

Functions accept every object that lends its bytes: bytes, bytearray, memoryview, NumPy arrays. The result is bytes, or
written into `out`. Other Python threads run meanwhile. Only keys, nonces, associated data and the input of `unseal` are
copied.

The memory must be contiguous in C's order, and all its bytes must be plain data: numbers, characters, structures of them.
Objects, addresses and gaps raise TypeError, and so do bools and characters as an output, because not all bytes are valid
ones. An object that lends no memory, or only for reading, raises BufferError. Memory in pieces or of a wrong size raises
ValueError. In all these cases nothing is written. For arrays that NumPy does not lend, such as datetime64, give a view as
numpy.uint8.

`crossgrain.random` has generators for NumPy, `crossgrain.parallel` algorithms over arrays, and `crossgrain.dask` arrays
that do not depend on their chunks. `Search` describes a lost key or passphrase. `search_shard` searches for it, and
`crossgrain.dask.search` does so on many machines.

Examples
--------
>>> import crossgrain
>>> key, iv = crossgrain.generate_key(), bytes(16)
>>> sealed = crossgrain.encrypt(b"some text", key=key, iv=iv)
>>> crossgrain.decrypt(sealed, key=key, iv=iv)
b'some text'
"""

from . import _gpu as _gpu  # first: it decides which native half is used
from . import parallel, random
from ._device import Device, devices
from ._files import EncryptedFile, decrypt_file, encrypt_file, generate_identity, open, recipient_of
from ._modes import CIPHERS, MODES, Mode, decrypt, decrypt_records, encrypt, encrypt_records, generate_key, seal, unseal
from ._native import Damaged, Error, Forged, NothingTried, Truncated, WrongKey, __version__
from ._plan import Composition, Plan, Plans, Stage, compose, plan
from ._search import Found, Search, search_shard
from ._types import CipherName, ModeName, PlainModeName, PolicyName, RecordModeName, SealedModeName, SuiteName

__all__ = [
    "CIPHERS",
    "CipherName",
    "Composition",
    "Damaged",
    "Device",
    "EncryptedFile",
    "Error",
    "Forged",
    "Found",
    "MODES",
    "Mode",
    "ModeName",
    "NothingTried",
    "PlainModeName",
    "Plan",
    "Plans",
    "PolicyName",
    "RecordModeName",
    "Search",
    "SealedModeName",
    "Stage",
    "SuiteName",
    "Truncated",
    "WrongKey",
    "__version__",
    "compose",
    "decrypt",
    "decrypt_file",
    "decrypt_records",
    "devices",
    "encrypt",
    "encrypt_file",
    "encrypt_records",
    "generate_identity",
    "generate_key",
    "open",
    "parallel",
    "plan",
    "random",
    "recipient_of",
    "seal",
    "search_shard",
    "unseal",
]
