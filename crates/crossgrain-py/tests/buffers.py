"""Calls every public function that reads or writes a buffer, with all kinds of buffers. test_buffers.py runs it in another process.

    python buffers.py SEED

Each call returns the same result as for `bytes`, or raises TypeError, ValueError or BufferError and leaves the memory unchanged.
Bytes around an output stay unchanged, and so do Python objects.
"""

import array
import ctypes
import inspect
import io
import mmap
import pickle
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import crossgrain
import crossgrain.dask
from crossgrain.random import AESCounter

SIZE = 192
GUARD = 64
KEY, IV, NONCE, AAD = bytes(range(32)), bytes(range(16)), bytes(range(48)), bytes(range(96))
PLAIN = bytes(7 * i % 256 for i in range(SIZE))
CIPHERTEXT = crossgrain.encrypt(PLAIN, key=KEY, iv=IV)
SEALED = crossgrain.seal(PLAIN, key=KEY, nonce=NONCE, aad=AAD)
WORD_KEY = bytes(range(1, 17))

#: Parameters that are not buffers: numbers, names, paths, functions, and values that NumPy or JSON parse.
NO_BUFFERS = set(
    """
    self cipher mode sector sector_bytes threads policy isa variants plan tag_bytes name model features is_software source
    target suite overwrite progress path offset whence looks key_mask hex range form kdf iterations log_n block_size lanes
    memory_kib search skip limit shard goes_on device seed counter bits delta jumps size output n_children kind position
    length value decrypt costs runners_up ax client journal restore shard_seconds retries chunks number candidate found
    bundle_blocks fixed_ns per_byte_ns stages round leaks job plans json total pure pure_with_ends gain_percent greedy args
    low high endpoint encoding errors newline sources targets key_file key_env passphrase_file passphrase_env source_options
    target_options compute format hash pbkdf2 pim slot header rule_files strict_rules
    recipients identity increment increment_min increment_max any_target
    """.split()
)

#: Parameters with the name of a buffer: paths and file objects, and arrays of integers. Functions that may also take a
#: function copy a key as `bytes_of` does.
NO_BUFFERS |= {f"{function}_files.{secret}" for function in ("encrypt", "decrypt") for secret in ("key", "passphrase")}
NO_BUFFERS |= {"EncryptedFile.file", "open.file", *(f"{cls}.fill_integers.out" for cls in ("AESCounter", "SerpentCounter"))}

#: Buffers that need not be given: `None` stands for none.
OPTIONAL = ("aad", "Search.plain", "Search.mask_before", "Search.mask_after", "Search.words_after", "Search.rule_right")


class In(NamedTuple):
    """A function that reads a buffer: the bytes to lend, and a call that returns a comparable result."""

    content: bytes
    call: Callable[[Any], Any]
    #: Whether a call is slow, so that only a few are made.
    is_slow: bool = False
    #: Whether arrays are read as numbers.
    is_of_words: bool = False


class Out(NamedTuple):
    """A function that writes a buffer: the bytes expected, and the call."""

    want: bytes
    call: Callable[[Any], Any]
    is_uniform: bool = False
    #: Whether it is a generator's, which fills arrays of any layout.
    is_fill: bool = False
    #: The bytes expected of float32.
    want_f32: bytes = b""


def file_of(folder: Path, **secret: Any) -> Path:
    """An encrypted file of PLAIN."""
    path = folder / "sealed"
    with crossgrain.EncryptedFile(path, "w", **secret) as file:
        file.write(PLAIN)
    return path


def read(path: Path, opened: bool = False, **secret: Any) -> bytes:
    make: Any = crossgrain.open if opened else crossgrain.EncryptedFile
    with make(path, **(secret or {"key": KEY})) as file:
        return file.read()


def written(folder: Path, data: Any) -> bytes:
    with crossgrain.EncryptedFile(folder / "written", "w", key=KEY) as file:
        assert file.write(data) == SIZE
    return read(folder / "written")


def encrypted(folder: Path, **secret: Any) -> bytes:
    """The plaintext of a file that was encrypted under a secret given as a buffer."""
    (folder / "plain").write_bytes(PLAIN)
    crossgrain.encrypt_file(folder / "plain", folder / "there", overwrite=True, **secret)
    return read(folder / "there", **{name: bytes(memoryview(KEY)) for name in secret})


def decrypted(folder: Path, sealed: Path, **secret: Any) -> bytes:
    crossgrain.decrypt_file(sealed, folder / "back", overwrite=True, **secret)
    return (folder / "back").read_bytes()


def read_into(sealed: Path, buffer: Any) -> None:
    with crossgrain.EncryptedFile(sealed, key=KEY) as file:
        assert file.readinto(buffer) == SIZE


def sought(**options: Any) -> list[crossgrain.Found]:
    """The hits of a search among 256 keys."""
    given = {"cipher": "aes-128", "key_mask": WORD_KEY.hex()[:-2] + "??", **options}
    return crossgrain.search_shard(crossgrain.Search(**given), threads=1)


def searches() -> dict[str, In]:
    def crypt(plain: bytes, **given: Any) -> bytes:
        return crossgrain.encrypt(plain, key=WORD_KEY, cipher="aes-128", **{"mode": "ecb", **given})

    block, text = PLAIN[:16], b"all printable text" * 8
    sealed = crossgrain.seal(PLAIN, key=WORD_KEY, cipher="aes-128", nonce=NONCE, aad=AAD)
    tagged = {"mode": "gcm", "iv": NONCE, "aad": AAD, "crypt": sealed[:-16], "tag": sealed[-16:]}
    texts = [(block, crypt(block))]
    derived = crossgrain.Search(cipher="aes-128", known=texts, words=[b"w"], kdf="pbkdf2-sha256", salt=IV, iterations=2)
    fields = {name: value for name, value in vars(derived).items() if not name.startswith("_")}
    openssl = b"U2FsdGVkX1/D1A2D8NKh6adUmWte+5tr6+dglBVLdu4MUm5mmQCRUsgWSUbgACMS"
    listed = {"key_mask": None, "known": texts, "kdf": "exact", "form": "raw"}
    printable, second = crypt(text, mode="ctr", iv=IV), {"words_after": [b"x"]}
    return {
        "known": In(block, lambda x: sought(known=[(x, crypt(block))])),
        "crypt": In(printable[:64], lambda x: sought(crypt=x, looks="printable", mode="ctr", iv=IV)),
        "iv": In(IV, lambda x: sought(crypt=printable, looks="printable", mode="ctr", iv=x)),
        "aad": In(AAD, lambda x: sought(**{**tagged, "aad": x})),
        "tag": In(sealed[-16:], lambda x: sought(**{**tagged, "tag": x})),
        "salt": In(IV, lambda x: (x, repr(crossgrain.Search(**{**fields, "salt": x})))[1]),
        "words": In(bytes(16) + WORD_KEY, lambda x: sought(**listed, words=x)),
        "mask": In(b"?d?l" * 4, lambda x: repr(crossgrain.Search(cipher="aes-128", known=texts, mask=x))),
        "sets": In(b"0123", lambda x: repr(crossgrain.Search(cipher="aes-128", known=texts, mask="?1" * 4, sets=[x]))),
        "rules": In(b"$1$2", lambda x: repr(crossgrain.Search(cipher="aes-128", known=texts, words=[b"w"], rules=[x]))),
        **{
            name: In(content, lambda x, name=name: repr(crossgrain.Search(file=openssl, words=[b"w"], **{**second, name: x})))
            for name, content in {"mask_before": b"?d", "mask_after": b"?l?d", "words_after": b"a\nb\n", "rule_right": b"$1"}.items()
        },
        "plain": In(b"PK", lambda x: repr(crossgrain.Search(file=openssl, cipher="aes-128", mask="secret?d", plain=x))),
        "file": In(SEALED_FILE.read_bytes()[:128], lambda x: repr(crossgrain.Search(file=x, range=(0, 99)))),
    }


FOLDER = Path(tempfile.mkdtemp(prefix="crossgrain-buffers-"))
SEALED_FILE = file_of(FOLDER, key=KEY)


def inputs() -> dict[str, In]:
    """The functions that read buffers, by function and parameter."""
    aead = {"key": KEY, "nonce": NONCE, "aad": AAD}
    ctr, record = {"key": KEY, "iv": IV}, {"keys": KEY, "ivs": IV}
    cases = {
        "encrypt.data": In(PLAIN, lambda x: crossgrain.encrypt(x, **ctr)),
        "encrypt.key": In(KEY, lambda x: crossgrain.encrypt(PLAIN, **{**ctr, "key": x})),
        "encrypt.iv": In(IV, lambda x: crossgrain.encrypt(PLAIN, **{**ctr, "iv": x})),
        "decrypt.data": In(CIPHERTEXT, lambda x: crossgrain.decrypt(x, **ctr)),
        "decrypt.key": In(KEY, lambda x: crossgrain.decrypt(CIPHERTEXT, **{**ctr, "key": x})),
        "decrypt.iv": In(IV, lambda x: crossgrain.decrypt(CIPHERTEXT, **{**ctr, "iv": x})),
        "encrypt_records.data": In(PLAIN, lambda x: crossgrain.encrypt_records(x, **record)),
        "encrypt_records.keys": In(KEY, lambda x: crossgrain.encrypt_records(PLAIN, **{**record, "keys": x})),
        "encrypt_records.ivs": In(IV, lambda x: crossgrain.encrypt_records(PLAIN, **{**record, "ivs": x})),
        "decrypt_records.data": In(CIPHERTEXT, lambda x: crossgrain.decrypt_records(x, **record)),
        "decrypt_records.keys": In(KEY, lambda x: crossgrain.decrypt_records(CIPHERTEXT, **{**record, "keys": x})),
        "decrypt_records.ivs": In(IV, lambda x: crossgrain.decrypt_records(CIPHERTEXT, **{**record, "ivs": x})),
        "seal.data": In(PLAIN, lambda x: crossgrain.seal(x, **aead)),
        "unseal.data": In(SEALED, lambda x: crossgrain.unseal(x, **aead)),
        "encrypt_file.key": In(KEY, lambda x: encrypted(FOLDER, key=x)),
        "encrypt_file.passphrase": In(KEY, lambda x: encrypted(FOLDER, passphrase=x), is_slow=True),
        "decrypt_file.key": In(KEY, lambda x: decrypted(FOLDER, SEALED_FILE, key=x)),
        "decrypt_file.passphrase": In(KEY, lambda x: decrypted(FOLDER, by_passphrase(), passphrase=x), is_slow=True),
        "EncryptedFile.key": In(KEY, lambda x: read(SEALED_FILE, key=x)),
        "EncryptedFile.passphrase": In(KEY, lambda x: read(by_passphrase(), passphrase=x), is_slow=True),
        "open.key": In(KEY, lambda x: read(SEALED_FILE, opened=True, key=x)),
        "open.passphrase": In(KEY, lambda x: read(by_passphrase(), opened=True, passphrase=x), is_slow=True),
        "EncryptedFile.write.data": In(PLAIN, lambda x: written(FOLDER, x)),
    }
    for name, value in aead.items():
        cases[f"seal.{name}"] = In(value, lambda x, name=name: crossgrain.seal(PLAIN, **{**aead, name: x}))
        cases[f"unseal.{name}"] = In(value, lambda x, name=name: crossgrain.unseal(SEALED, **{**aead, name: x}))
    for cls in ("AESCounter", "SerpentCounter"):
        make = getattr(crossgrain.random, cls)
        cases[f"{cls}.key"] = In(WORD_KEY, lambda x, make=make: make(key=x).bytes(64), is_of_words=True)
    return {**cases, **{f"Search.{name}": case for name, case in searches().items()}}


def by_passphrase() -> Path:
    path = FOLDER / "by-passphrase"
    if not path.exists():
        with crossgrain.EncryptedFile(path, "w", passphrase=KEY) as file:
            file.write(PLAIN)
    return path


def outputs() -> dict[str, Out]:
    """The functions that write buffers, by function and parameter."""
    aead = {"key": KEY, "nonce": NONCE, "aad": AAD}
    sealed = crossgrain.seal(PLAIN[16:], **aead)
    cases = {
        "encrypt.out": Out(CIPHERTEXT, lambda x: crossgrain.encrypt(PLAIN, key=KEY, iv=IV, out=x)),
        "decrypt.out": Out(PLAIN, lambda x: crossgrain.decrypt(CIPHERTEXT, key=KEY, iv=IV, out=x)),
        "encrypt_records.out": Out(CIPHERTEXT, lambda x: crossgrain.encrypt_records(PLAIN, keys=KEY, ivs=IV, out=x)),
        "decrypt_records.out": Out(PLAIN, lambda x: crossgrain.decrypt_records(CIPHERTEXT, keys=KEY, ivs=IV, out=x)),
        "seal.out": Out(sealed, lambda x: crossgrain.seal(PLAIN[16:], **aead, out=x)),
        "unseal.out": Out(PLAIN, lambda x: crossgrain.unseal(SEALED, **aead, out=x)),
        "EncryptedFile.readinto.buffer": Out(PLAIN, lambda x: read_into(SEALED_FILE, x)),
    }
    for cls in ("AESCounter", "SerpentCounter"):
        make = getattr(crossgrain.random, cls)
        words, numbers = make(5).random_raw(SIZE // 8).tobytes(), np.random.Generator(make(5)).random(SIZE // 8).tobytes()
        floats = np.random.Generator(make(5)).random(SIZE // 4, dtype=np.float32).tobytes()
        cases[f"{cls}.fill.out"] = Out(words, lambda x, make=make: make(5).fill(x, kind="bits"), is_fill=True)
        cases[f"{cls}.fill_at.out"] = Out(words, lambda x, make=make: make(5).fill_at(0, x, kind="bits"), is_fill=True)
        cases[f"{cls}.fill.out uniform"] = Out(numbers, lambda x, make=make: make(5).fill(x), is_uniform=True, is_fill=True, want_f32=floats)
        cases[f"{cls}.fill_at.out uniform"] = Out(numbers, lambda x, make=make: make(5).fill_at(0, x), is_uniform=True, is_fill=True, want_f32=floats)
    return cases


def parameters() -> set[str]:
    """Every parameter of every public function and method, as `function.parameter`, except those that are not buffers."""
    found = set()
    for module in (crossgrain, crossgrain.random, crossgrain.dask):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and not issubclass(thing, BaseException):
                methods = {method for cls in thing.__mro__ if cls.__module__.startswith("crossgrain") for method in vars(cls)}
                for method in methods:
                    if method == "__init__" or not method.startswith("_") and inspect.isfunction(getattr(thing, method)):
                        called = name if method == "__init__" else f"{name}.{method}"
                        found |= {f"{called}.{given}" for given in inspect.signature(getattr(thing, method)).parameters}
            elif inspect.isfunction(thing):
                found |= {f"{name}.{given}" for given in inspect.signature(thing).parameters}
    return {one for one in found if not {one, one.rpartition(".")[2]} & NO_BUFFERS}


class Lender(NamedTuple):
    """An object that lends memory."""

    name: str
    object: Any
    #: Returns the present content of the memory. Fails if bytes around it were changed.
    peek: Callable[[], Any]
    #: Whether it must be accepted (True), must be refused (an exception), or either (None).
    reads: Any = None
    writes: Any = None
    #: Whether generators may fill it although it does not lie in one piece.
    is_filled: bool = False


PLAIN_TYPES: list[Any] = [
    *"b B h H i I l L q Q e f d g F D G >i2 >u4 >i8 >f4 >f8 >c16 S4 S1 V4 V1".split(),
    np.dtype([("O", "u1"), ("}O&", "u1"), ("c", ">u2")]),
    np.dtype([("a", [("x", "u2"), ("y", "S2")]), ("b", "f4"), ("c", "u1", (2, 4))]),
    np.dtype([("wide", "f8"), ("a\nname" * 9, "c8")]),
]
#: Types for which some bytes are invalid.
PICKY_TYPES: list[Any] = ["?", "U1", "U2", np.dtype([("a", "?"), ("b", "u1")]), np.dtype([("a", "U1"), ("b", "(2,)?"), ("c", "u2")])]
#: Types with bytes that belong to no field.
GAPPED_TYPES: list[Any] = [
    np.dtype([("a", "u1"), ("b", "u4")], align=True),
    np.dtype([("b", "u4"), ("a", "u1")], align=True),
    np.dtype({"names": ["a"], "formats": ["u2"], "itemsize": 8}),
    np.dtype({"names": [], "formats": [], "itemsize": 4}),
]
#: Types that NumPy does not export.
OTHER_TYPES: list[Any] = ["M8[s]", "m8[ns]", np.dtype([("t", "M8[ms]"), ("x", "f8")])]
OBJECT_TYPES: list[Any] = [
    "O",
    np.dtype([("a", "O")]),
    np.dtype([("a", "O"), ("b", "i8")]),
    np.dtype([("n", [("x", "i8"), ("deep", "O", (2,))]), ("s", "S8")]),
]


def over(content: bytes, shift: int = 0) -> tuple[np.ndarray, Callable[[], bytes]]:
    """Bytes between guard bytes."""
    whole = np.full(GUARD + shift + len(content) + GUARD, 0xA5, np.uint8)
    inner = whole[GUARD + shift : GUARD + shift + len(content)]
    inner[:] = np.frombuffer(content, np.uint8)

    def peek() -> bytes:
        assert (whole[: GUARD + shift] == 0xA5).all() and (whole[-GUARD:] == 0xA5).all(), "a guard was touched"
        return inner.tobytes()

    return inner, peek


def numpys(content: bytes, chance: random.Random) -> list[Lender]:
    """NumPy arrays of all types that hold these bytes, also in other layouts."""
    lenders = []
    kinds = [(PLAIN_TYPES, True, True), (PICKY_TYPES, True, TypeError), (GAPPED_TYPES, TypeError, TypeError)]
    for types, reads, writes in [*kinds, (OTHER_TYPES, BufferError, BufferError)]:
        for given in types:
            dtype = np.dtype(given)
            if dtype.itemsize == 0 or len(content) % dtype.itemsize:
                continue
            inner, peek = over(content)
            whole = inner.view(dtype)
            lenders.append(Lender(f"{dtype}", whole, peek, reads, writes))
            if types is not GAPPED_TYPES:  # a copy has gaps, too
                lenders.append(laid_out(content, dtype, reads, writes, chance.choice(LAYOUTS)))
    return [lender for lender in lenders if lender is not None]


LAYOUTS = ["read-only", "strided", "backwards", "fortran", "plane", "shifted", "scalar", "masked", "repeated", "transposed"]


def laid_out(content: bytes, dtype: np.dtype, reads: Any, writes: Any, how: str) -> Any:
    inner, peek = over(content, shift=1 if how == "shifted" else 0)
    flat, name = inner.view(dtype), f"{dtype} {how}"
    if how == "read-only":
        flat.flags.writeable = False
        return Lender(name, flat, peek, reads, BufferError)
    if how in ("shifted", "masked"):
        return Lender(name, flat if how == "shifted" else np.ma.MaskedArray(flat), peek)
    if how == "plane" and len(flat) % 2 == 0:
        return Lender(name, flat.reshape(2, 1, -1), peek, reads, writes)
    if how == "scalar" and len(flat) == 1:
        return Lender(name, flat.reshape(()), peek, reads, writes)
    if len(flat) < 4 or len(flat) % 2:
        return None
    if how == "strided":
        lies = np.zeros((len(flat), 3), dtype)[:, 1]
    elif how == "backwards":
        lies = np.zeros(len(flat), dtype)[::-1]
    elif how == "repeated":
        return Lender(name, np.broadcast_to(flat[:1], len(flat)), peek, Exception, Exception)
    elif how == "transposed":
        lies = np.zeros((len(flat) // 2, 2), dtype).T
    else:
        lies = np.zeros((2, len(flat) // 2), dtype, order="F")
    lies[...] = flat.reshape(lies.shape)
    return Lender(name, lies, lies.tobytes, Exception, Exception, is_filled=True)


class Thing:
    """An object to which arrays point."""


def objects(length: int) -> list[Lender]:
    """Arrays of Python objects: none of their bytes may be read or changed."""
    lenders = []
    for given in OBJECT_TYPES:
        dtype = np.dtype(given)
        for count in {length // dtype.itemsize, 0}:
            whole = np.zeros(count, dtype)
            things = [Thing() for _ in range(count)]
            field = whole if dtype.names is None else whole[dtype.names[0]]
            if field.dtype == object:
                field[...] = things
            lenders.append(Lender(f"{dtype} x {count}", whole, lambda whole=whole: repr(whole.tolist()), TypeError, TypeError))
        if dtype.names == ("a", "b"):
            chosen = whole_of_objects(length)[["b"]]
            lenders.append(Lender("a field beside objects", chosen, lambda chosen=chosen: repr(chosen.base.tolist()), TypeError, TypeError))
    count = length // 8
    pointers = (ctypes.py_object * count)(*[Thing() for _ in range(count)])
    lenders.append(Lender("ctypes objects", pointers, lambda: repr(list(pointers)), TypeError, TypeError))
    for made in (Union, Packed, Around):
        several = (made * (length // ctypes.sizeof(made)))()
        lenders.append(Lender(f"ctypes {made.__name__}", several, lambda several=several: ctypes.string_at(several, ctypes.sizeof(several)), TypeError, TypeError))
    for kind in (ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.CFUNCTYPE(None)):
        several = (kind * count)()
        lenders.append(Lender(f"ctypes {kind.__name__}", several, lambda several=several: ctypes.string_at(several, ctypes.sizeof(several)), TypeError, TypeError))
    return lenders


def whole_of_objects(length: int) -> np.ndarray:
    whole = np.zeros(length // 16, [("a", "O"), ("b", "i8")])
    whole["a"] = [Thing() for _ in whole]
    return whole


class Union(ctypes.Union):
    _fields_ = [("thing", ctypes.py_object), ("number", ctypes.c_int)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("thing", ctypes.py_object), ("number", ctypes.c_int64)]


class Around(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int64), ("inner", Union)]


def others(content: bytes) -> list[Lender]:
    """Other objects that lend memory."""
    size = len(content)
    own = bytearray(content)
    lenders = [
        Lender("bytes", content, lambda: content, True, BufferError),
        Lender("bytearray", own, lambda: bytes(own), True, True),
        Lender("read-only view", memoryview(bytearray(content)).toreadonly(), lambda: content, True, BufferError),
    ]
    for code in "cbBhHiIlLqQfdnN?":
        memory = bytearray(content)
        if size % struct.calcsize(code) == 0:
            view = memoryview(memory).cast(code)
            lenders.append(Lender(f"view as {code}", view, lambda memory=memory: bytes(memory), True, TypeError if code == "?" else True))
    for code in array.typecodes:
        held = array.array(code)
        if size % held.itemsize == 0:
            held.frombytes(content)
            lenders.append(Lender(f"array of {code}", held, held.tobytes, True, TypeError if code in "uw" else True))
    for kind in (ctypes.c_ubyte, ctypes.c_char, ctypes.c_uint16, ctypes.c_int64, ctypes.c_float, ctypes.c_double, ctypes.c_bool):
        if size and size % ctypes.sizeof(kind) == 0:
            held = (kind * (size // ctypes.sizeof(kind))).from_buffer_copy(content)
            writes = TypeError if kind is ctypes.c_bool else True
            lenders.append(Lender(f"ctypes {kind.__name__}", held, lambda held=held: ctypes.string_at(held, size), True, writes))
    if size:
        mapped = mmap.mmap(-1, size)
        mapped[:] = content
        lenders.append(Lender("mmap", mapped, lambda: mapped[:], True, True))
    stream = io.BytesIO(content)
    lenders.append(Lender("BytesIO", stream.getbuffer(), stream.getvalue, True, True))
    for how, view in {"every other": memoryview(bytearray(2 * size))[::2], "backwards": memoryview(bytearray(content[::-1]))[::-1]}.items():
        lenders.append(Lender(f"view {how}", view, view.tobytes, Exception if size > 1 else None, Exception if size > 1 else None))
    pickled = bytearray(content)
    lenders.append(Lender("PickleBuffer", pickle.PickleBuffer(pickled), lambda: bytes(pickled), True, True))
    for what in (None, 5, 2.5, [1, 2], {1}, object(), range(3), Thing()):
        lenders.append(Lender(f"no buffer: {what!r}", what, lambda: None, Exception, Exception))
    return lenders


REFUSALS = (TypeError, ValueError, BufferError)


def lenders_of(content: bytes, chance: random.Random) -> list[Lender]:
    return [*others(content), *numpys(content, chance), *objects(max(len(content), 32))]


def take(name: str, case: In, lender: Lender, want: Any) -> None:
    """Lends a buffer for reading."""
    before, told = lender.peek(), None
    try:
        got = case.call(lender.object)
    except REFUSALS as refusal:
        told = refusal
        # The engine accepts these bytes, so an error means that it received other bytes than were lent.
        assert not isinstance(told, crossgrain.Error) or lender.reads is Exception, f"refused: {told!r}"
    assert lender.peek() == before, "an input was written"
    if told is None:
        assert got == want, "other bytes were read"
    if not case.is_of_words:
        expected(told, lender.reads)


def put(case: Out, lender: Lender) -> None:
    """Lends a buffer for writing."""
    before, told = lender.peek(), None
    try:
        case.call(lender.object)
    except REFUSALS as refusal:
        told = refusal
    is_f32 = told is None and case.is_uniform and format_of(lender.object) == "f"
    want = case.want_f32 if is_f32 else case.want
    assert lender.peek() == (want if told is None else before), "other bytes were written"
    if told is None and case.is_fill and lender.is_filled:
        return
    if not case.is_uniform:
        expected(told, lender.writes)
    elif told is None:
        assert format_of(lender.object) in ("d", "f"), "no float64 or float32"


def format_of(lent: Any) -> str:
    """The format of the elements, without a mark for the byte order of this machine."""
    return memoryview(lent).format.lstrip("<=" if sys.byteorder == "little" else ">=")


def expected(told: Any, want: Any) -> None:
    if want is True:
        assert told is None, f"refused: {told!r}"
    elif want is not None:
        assert isinstance(told, want), f"{told!r} instead of {want}"
        assert "\n" not in str(told), "more than a line"


def main(seed: str) -> None:
    chance, calls = random.Random(seed), 0
    reading, writing = inputs(), outputs()
    for name, case in reading.items():
        want = case.call(case.content)
        lenders = lenders_of(case.content, chance)
        for lender in chance.sample(lenders, 4) if case.is_slow else lenders:
            if case.is_of_words and not acts_as_bytes(lender):
                continue
            if name == "Search.file":  # everything else is taken as a path
                lender = lender._replace(reads=True if isinstance(lender.object, bytes) else Exception)
            if name.endswith(OPTIONAL) and lender.object is None:
                continue  # not given
            attempt(f"{seed}: {name} of {lender.name}", lambda: take(name, case, lender, want))
            calls += 1
    for name, case in writing.items():
        for lender in lenders_of(chance.randbytes(SIZE) if chance.random() < 0.5 else bytes(SIZE), chance):
            if lender.object is None:
                continue  # no output given
            attempt(f"{seed}: {name} of {lender.name}", lambda: put(case, lender))
            calls += 1
    calls += nothing(seed, chance)
    print(f"{calls} calls")


def acts_as_bytes(lender: Lender) -> bool:
    """Whether a key given as words equals the bytes in memory: false for big-endian numbers and for plain numbers."""
    is_big_endian = isinstance(lender.object, np.ndarray) and lender.object.dtype.byteorder == ">"
    return not is_big_endian and not lender.name.startswith("no buffer")


def nothing(seed: str, chance: random.Random) -> int:
    """Buffers without bytes."""
    calls = 0
    reading = {
        "data": In(b"", lambda x: crossgrain.encrypt(x, key=KEY, iv=IV)),
        "aad": In(b"", lambda x: crossgrain.seal(PLAIN, key=KEY, nonce=NONCE, aad=x)),
        "iv": In(b"", lambda x: crossgrain.encrypt(PLAIN, key=KEY, iv=x, mode="ecb")),
    }
    writing = {
        "out": Out(b"", lambda x: crossgrain.encrypt(b"", key=KEY, iv=IV, out=x)),
        "fill": Out(b"", lambda x: AESCounter(1).fill(x, kind="bits")),
    }
    for lender in [*others(b""), *numpys(b"", chance), *objects(0)]:
        for name, case in reading.items():
            if name == "aad" and lender.object is None:
                continue  # no associated data
            attempt(f"{seed}: no {name} of {lender.name}", lambda: take(name, case, lender, case.call(b"")))
        for name, case in writing.items():
            if lender.object is not None:
                attempt(f"{seed}: no {name} of {lender.name}", lambda: put(case, lender))
        calls += len(reading) + len(writing)
    return calls


def attempt(what: str, work: Callable[[], None]) -> None:
    try:
        work()
    except BaseException:
        print(f"in {what}", file=sys.stderr, flush=True)
        raise


if __name__ == "__main__":
    main(sys.argv[1])
