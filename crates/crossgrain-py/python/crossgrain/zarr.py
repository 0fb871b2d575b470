"""A codec for Zarr arrays (format 3) that encrypts each chunk and binds it to its place.

Each chunk, or each shard, is an encrypted file (docs/format.md) under a key of its own::

    chunk key = HKDF-Expand(SHA-256, key, "crossgrain zarr chunk v1" ‖ 0x00 ‖ array ‖ coordinates)

`array` is 16 random bytes from the array's metadata, `coordinates` the text of the chunk's indices, such as `0/12`. A chunk
that was moved to another place or another array therefore fails like a changed one.

Zarr gives a codec the bytes of a chunk without its place, except a codec from arrays to bytes that reads parts of chunks,
such as `sharding_indexed`: this one reads the store itself, and sees the key of the chunk. `EncryptedCodec` is therefore of
that kind. It contains the codecs that come before it, and replaces the array's serializer.

Metadata is not encrypted. The codec does not notice a chunk that was deleted or replaced by an earlier version of the same
chunk, or a change of the metadata.

Importing the module registers the codec. With an installed package, Zarr finds it without that.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets as random_bytes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.codecs import BytesCodec, ZstdCodec
from zarr.registry import get_codec_class, get_pipeline_class, register_codec
from zarr.storage import StorePath

from . import _native
from ._keys import Secrets
from ._native import Error, Forged, WrongKey
from ._ranges import HEADER, PREFIX, Request, complete, named, plain_bytes
from ._sinks import sealed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from typing_extensions import Self
    from zarr.abc.codec import Codec
    from zarr.abc.store import ByteGetter, ByteRequest, ByteSetter
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, BufferPrototype, NDBuffer
    from zarr.core.common import JSON
    from zarr.core.indexing import SelectorTuple

    from ._types import Bytes, KeySource, SuiteName

__all__ = ["EncryptedCodec", "set_key"]

_CHUNK_LABEL, _CHECK_LABEL = b"crossgrain zarr chunk v1\0", b"crossgrain zarr check v1\0"

#: The key of arrays that are opened.
_default = Secrets({}, keys_only=True)


def set_key(*, key: KeySource | None = None, key_file: str | os.PathLike[str] | None = None, key_env: str | None = None) -> None:
    """Choose the key of encrypted arrays that this process opens from now on.

    The metadata of an array does not tell where its key is. Without this call, the key is that of the environment variable
    `CROSSGRAIN_KEY_FILE` or `CROSSGRAIN_KEY`. An array that is pickled keeps its source.

    Parameters
    ----------
    key, key_file, key_env
        As of `crossgrain.fsspec.EncryptedFileSystem`. A function is called with the array's identity in hex.

    Returns
    -------
    None
        Nothing.
    """
    global _default
    _default = Secrets({"key": key, "key_file": key_file, "key_env": key_env}, keys_only=True)


@dataclass(frozen=True)
class EncryptedCodec(ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin):
    """Encrypts the chunks of an array. Give it as the serializer, and give no compressors and filters besides.

    Parameters
    ----------
    codecs : sequence of codecs
        What happens to a chunk before it is encrypted: the serializer and compressors, or sharding. The default is the bytes
        of the array and Zstandard.
    suite : str
        The cipher and the mode, as of `encrypt_file`.
    array : str
        The identity of the array in hex. It is chosen when the array is created.
    check : str
        Eight bytes in hex that are derived from the key, so that a wrong key is told from a changed chunk.
    key, key_file, key_env
        As of `set_key`.

    Examples
    --------
    >>> import crossgrain, zarr
    >>> from crossgrain.zarr import EncryptedCodec
    >>> codec = EncryptedCodec(key=crossgrain.generate_key())
    >>> array = zarr.create_array({}, shape=(4, 4), chunks=(2, 2), dtype="i4", serializer=codec, compressors=None)
    >>> array[:] = 7
    >>> int(array[1:3, 1:3].sum())
    28
    """

    codecs: tuple[Codec, ...]
    suite: SuiteName
    array: str | None
    check: str | None
    secrets: Secrets = field(repr=False, compare=False)

    #: Zarr asks for it. The length of compressed chunks varies.
    is_fixed_size = False

    def __init__(
        self,
        codecs: Iterable[Codec | dict[str, JSON]] | None = None,
        *,
        suite: SuiteName = "aes-256-gcm",
        array: str | None = None,
        check: str | None = None,
        key: KeySource | None = None,
        key_file: str | os.PathLike[str] | None = None,
        key_env: str | None = None,
    ) -> None:
        given = {"key": key, "key_file": key_file, "key_env": key_env}
        inner = (BytesCodec(), ZstdCodec()) if codecs is None else tuple(map(_codec, codecs))
        if array is not None and not re.fullmatch("[0-9a-f]{32}", array):
            raise Error("array is no identity: it has 32 hex digits")
        object.__setattr__(self, "codecs", inner)
        object.__setattr__(self, "suite", suite)
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "check", check)
        object.__setattr__(self, "secrets", Secrets(given, keys_only=True) if any(one is not None for one in given.values()) else _default)

    # Metadata

    @classmethod
    def from_dict(cls, data: dict[str, JSON]) -> Self:
        """Create the codec from an array's metadata."""
        configuration: Any = data.get("configuration")
        return cls(**configuration)

    def to_dict(self) -> dict[str, JSON]:
        """Describe the codec for an array's metadata. The key is left out."""
        names: dict[str, JSON] = {"suite": self.suite, "array": self.array, "check": self.check}
        return {"name": "crossgrain", "configuration": {**names, "codecs": tuple(one.to_dict() for one in self.codecs)}}

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Adapt the inner codecs, and give a new array its identity."""
        codecs = tuple(one.evolve_from_array_spec(array_spec=array_spec) for one in self.codecs)
        if self.array is not None:
            return self._with(codecs=codecs)
        new = self._with(codecs=codecs, array=random_bytes.token_hex(16))
        return new._with(check=_derived(new._key(), _CHECK_LABEL, bytes.fromhex(new.array or "")).hex()[:16])

    def _with(self, **changes: Any) -> Self:
        new = object.__new__(type(self))
        for name in ("codecs", "suite", "array", "check", "secrets"):
            object.__setattr__(new, name, changes.get(name, getattr(self, name)))
        return new

    def validate(self, **given: Any) -> None:
        """Check the inner codecs against the array."""
        for one in self.codecs:
            one.validate(**given)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Refuse: the codec is none that others may contain."""
        raise NotImplementedError("an encrypted chunk has no fixed length")

    # Chunks

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        raise _misplaced()

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        raise _misplaced()

    async def _decode_partial_single(self, byte_getter: ByteGetter, selection: SelectorTuple, chunk_spec: ArraySpec) -> NDBuffer | None:
        shape = np.broadcast_to(np.uint8(0), chunk_spec.shape)[selection].shape
        out = chunk_spec.prototype.nd_buffer.empty(shape=shape, dtype=chunk_spec.dtype.to_native_dtype(), order=chunk_spec.order)
        whole = (slice(None),) * len(shape)
        place = self._place(byte_getter, chunk_spec)
        await self._pipeline().read([(place, chunk_spec, selection, whole, _is_whole(selection, chunk_spec))], out)
        return out

    async def _encode_partial_single(self, byte_setter: ByteSetter, chunk_array: NDBuffer, selection: SelectorTuple, chunk_spec: ArraySpec) -> None:
        pipeline, place = self._pipeline(), self._place(byte_setter, chunk_spec)
        if chunk_array.shape and not pipeline.supports_partial_encode:
            # An orthogonal selection keeps an axis that the index removed.
            chunk_array = chunk_array.reshape(np.broadcast_to(np.uint8(0), chunk_spec.shape)[selection].shape)
        whole = (slice(None),) * len(chunk_array.shape)
        await pipeline.write([(place, chunk_spec, selection, whole, _is_whole(selection, chunk_spec))], chunk_array)

    def _pipeline(self) -> Any:
        return get_pipeline_class().from_codecs(self.codecs)

    def _place(self, below: ByteGetter | ByteSetter, chunk_spec: ArraySpec) -> _Place:
        if not isinstance(below, StorePath):
            raise _misplaced()
        return _Place(below, self._chunk_key(_coordinates(below.path, len(chunk_spec.shape))), self.suite)

    def _key(self) -> bytes:
        return self.secrets.of(self.array or "")

    def _chunk_key(self, coordinates: str) -> bytes:
        key, array = self._key(), bytes.fromhex(self.array or "")
        if self.check is not None and not hmac.compare_digest(_derived(key, _CHECK_LABEL, array).hex()[:16], self.check):
            raise WrongKey("the key is not that of the array: give its key by set_key")
        return _derived(key, _CHUNK_LABEL, array, coordinates.encode())


class _Place:
    """The place of a chunk in a store, as a place of plaintext."""

    def __init__(self, below: StorePath, key: bytes, suite: SuiteName) -> None:
        self._below, self._key, self._suite = below, key, suite

    async def get(self, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Read plaintext, or None if the chunk is missing."""
        request = await self._request(byte_range)
        if request is None:
            return None
        if (request.begin, request.end) == (0, None):
            found = await self._below.get(prototype)
            return None if found is None else await self._opened(prototype, request, found, None)
        low, high = request.bounds(HEADER + PREFIX)
        wanted: ByteRequest = OffsetByteRequest(low) if high is None else RangeByteRequest(low, high)
        head, found = await asyncio.gather(self._below.get(prototype, RangeByteRequest(0, HEADER + PREFIX)), self._below.get(prototype, wanted))
        return None if head is None or found is None else await self._opened(prototype, request, head, found)

    async def _request(self, byte_range: ByteRequest | None) -> Request | None:
        path = self._below.path
        if isinstance(byte_range, SuffixByteRequest):
            try:
                size = complete(plain_bytes(await self._below.store.getsize(path)), path)
            except FileNotFoundError:
                return None
            return Request(path, max(size - byte_range.suffix, 0))
        if isinstance(byte_range, OffsetByteRequest):
            return Request(path, byte_range.offset)
        return Request(path) if byte_range is None else Request(path, byte_range.start, byte_range.end)

    async def _opened(self, prototype: BufferPrototype, request: Request, head: Buffer, found: Buffer | None) -> Buffer:
        def work() -> memoryview:
            beginning = _memory(head)
            chunks = _native.Chunks(beginning, ("key", self._key), 1)
            return request.opened(chunks, beginning[chunks.start :] if found is None else _memory(found))

        try:
            return prototype.buffer.from_bytes(bytes(await asyncio.to_thread(work)))
        except WrongKey:
            # The key of the array is right: it was compared before.
            raise Forged(f"{request.path}: the chunk was changed, or belongs to another place") from None
        except Error as error:
            raise named(error, request.path) from None

    async def set(self, value: Buffer) -> None:
        """Encrypt and write a chunk."""
        data = await asyncio.to_thread(sealed, value.to_bytes(), {"key": self._key}, self._suite, 1)
        await self._below.set(type(value).from_bytes(data))

    async def delete(self) -> None:
        """Remove the chunk."""
        await self._below.delete()

    async def set_if_not_exists(self, default: Buffer) -> None:
        """Encrypt and write a chunk that is missing."""
        if not await self._below.exists():
            await self.set(default)


def _memory(buffer: Buffer) -> memoryview:
    array: Any = buffer.as_numpy_array()
    return memoryview(array).cast("B")


def _codec(one: Codec | dict[str, JSON]) -> Codec:
    if not isinstance(one, dict):
        return one
    return get_codec_class(str(one["name"])).from_dict(one)


def _derived(key: bytes, label: bytes, *parts: Bytes) -> bytes:
    """HKDF-Expand with SHA-256, for as many bytes as the key has."""
    if len(key) > 32:
        raise Error(f"the key has {len(key)} bytes: it needs 16 or 32, as the suite does")
    return hmac.digest(key, b"".join([label, *map(bytes, parts), b"\1"]), "sha256")[: len(key)]


def _coordinates(path: str, ndim: int) -> str:
    """The indices of the chunk at this path, which ends with one number for each axis."""
    if ndim == 0:
        return ""
    found = re.search(rf"(?:^|[/.])(\d+(?:[/.]\d+){{{ndim - 1}}})$", path)
    if found is None:
        raise Error(f"{path}: the name does not end with {ndim} indices: choose the chunk key encoding default or v2")
    return found[1].replace(".", "/")


def _is_whole(selection: SelectorTuple, chunk_spec: ArraySpec) -> bool:
    """Whether a selection is the whole chunk."""
    parts = selection if isinstance(selection, tuple) else (selection,)
    return len(parts) == len(chunk_spec.shape) and all(
        isinstance(part, slice) and part.indices(length) == (0, length, 1) for part, length in zip(parts, chunk_spec.shape)
    )


def _misplaced() -> Error:
    return Error("the codec must be alone: give it as the serializer with compressors=None, and put compression and sharding into its codecs")


register_codec("crossgrain", EncryptedCodec)
