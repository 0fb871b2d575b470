"""Ranges of plaintext of encrypted objects in another file system, without reading the whole objects.

Chunk k of a file begins at `start + k * SEALED`, where `start` is the length of header, salt and commitment
(docs/format.md). With a key, `start` is known beforehand: the beginning of an object and its ranges are fetched together.
With a passphrase the header has a length of its own, and is fetched first.

A file ends with a chunk shorter than the others. An object cut at a chunk boundary has no such chunk. To notice that, a
range that ends at a boundary is fetched with the shortest last chunk and one byte more: if these bytes are missing, the
object ends here, and its last chunk is verified as such. A reader that stops at the length that the store reports has
therefore verified that length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._native import Error, Truncated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._keys import Secrets

#: Bytes of a chunk's plaintext and of its tag, bytes between the header and the first chunk, and bytes of the longest header.
CHUNK, TAG, PREFIX, HEADER_MAX = _native.Chunks.SIZES
#: Bytes of a chunk with its tag.
SEALED = CHUNK + TAG
#: Bytes of a header of version 1 without passphrase.
HEADER = 13
#: The bytes of a header that determine its length: the version, the suite, and the length of the rest.
_LENGTH = slice(10, 14)


def _header_bytes(field: Any) -> int | None:
    """Bytes of the header with these bytes at `_LENGTH`. None if there is no such header."""
    if not isinstance(field, bytes) or len(field) != 4 or field[0] not in (1, 2):
        return None
    return 13 + field[2] if field[0] == 1 else 14 + int.from_bytes(field[2:], "big") + 32


def plain_bytes(object_bytes: int, header_bytes: int = HEADER) -> int | None:
    """Bytes of plaintext in an object of this length. None if no complete file has this length."""
    whole, last = divmod(object_bytes - header_bytes - PREFIX, SEALED)
    return whole * CHUNK + last - TAG if whole >= 0 and last >= TAG else None


class Span(NamedTuple):
    """The chunks of a range of plaintext."""

    #: The first chunk, and the chunk after the last one. None stands for the end of the object.
    first: int
    after: int | None
    #: The place of the range in the plaintext of the chunks.
    skip: int
    length: int | None

    @classmethod
    def of(cls, begin: int, end: int | None) -> Span:
        """The chunks that cover the range."""
        first = begin // CHUNK
        return cls(first, None if end is None else -(-end // CHUNK), begin - first * CHUNK, None if end is None else end - begin)

    def fetched(self, start: int, at_boundary: bool) -> tuple[int, int | None]:
        """The bytes of the object to fetch, if its first chunk is at `start`."""
        end = None if self.after is None else start + self.after * SEALED + (TAG + 1 if at_boundary else 0)
        return start + self.first * SEALED, end


class Request(NamedTuple):
    """A range of plaintext of an object. Both bounds are counted from the beginning; an end of None is that of the object."""

    path: str
    begin: int = 0
    end: int | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether it is empty and needs no look at the object. At the beginning it may be an object cut to nothing."""
        return self.begin == self.end and self.begin > 0

    @property
    def span(self) -> Span:
        """Its chunks."""
        return Span.of(self.begin, self.end)

    def bounds(self, start: int) -> tuple[int, int | None]:
        """The bytes of the object to fetch."""
        return self.span.fetched(start, self.end is not None and self.end % CHUNK == 0)

    def opened(self, chunks: _native.Chunks, sealed: memoryview) -> memoryview:
        """The plaintext, from the bytes that were fetched."""
        span, (low, high) = self.span, self.bounds(chunks.start)
        is_last = high is None or len(sealed) < high - low
        if not is_last:
            assert span.after is not None
            sealed = sealed[: (span.after - span.first) * SEALED]
        out = bytearray(-(-len(sealed) // SEALED) * CHUNK)
        count = chunks.open(span.first, is_last, sealed, out)
        return memoryview(out)[:count][span.skip :][: span.length]


class Reader:
    """Reads ranges of encrypted objects.

    Parameters
    ----------
    fs : fsspec file system
        The file system of the objects.
    secrets : Secrets
        Their keys or passphrases.
    threads : int
        The most threads.
    """

    def __init__(self, fs: Any, secrets: Secrets, threads: int) -> None:
        self.fs, self.secrets, self.threads = fs, secrets, threads

    def chunks(self, path: str, beginning: bytes | memoryview) -> _native.Chunks:
        """The chunks of an object that begins with these bytes."""
        return _native.Chunks(beginning, self.secrets.pair(path), self.threads)

    def header_bytes(self, paths: Sequence[str]) -> list[int | None]:
        """Bytes of the header of each object. Only those with a passphrase need to be read."""
        if not self.secrets.is_passphrase:
            return [HEADER] * len(paths)
        return [_header_bytes(one) for one in self._fetch([(path, _LENGTH.start, _LENGTH.stop) for path in paths])]

    def read(self, requests: Sequence[Request], known: dict[str, _native.Chunks] | None = None) -> list[bytes | Exception]:
        """Fetch and decrypt ranges, with one call of the file system below if the secret is a key.

        Parameters
        ----------
        requests : sequence of Request
            The ranges.
        known : dict, optional
            The chunks of objects whose beginnings were read before. Those that are read now are added.

        Returns
        -------
        list of bytes or exception
            For each range its plaintext, shorter if the object ends before, or the reason why there is none.
        """
        chunks: dict[str, _native.Chunks | Exception] = dict(known or {})
        if self.secrets.is_passphrase:
            chunks.update(self._begun([one for one in requests if one.path not in chunks]))
        wanted = [(one.path, *one.bounds(self._start(chunks.get(one.path)))) for one in requests]
        # A range from the first chunk on is fetched from the beginning of the object.
        wanted = [(path, 0 if one.span.first == 0 else low, high) for one, (path, low, high) in zip(requests, wanted)]
        missing = {one.path for one in requests} - chunks.keys() - {path for path, low, _ in wanted if low == 0}
        heads = [(path, 0, HEADER + PREFIX) for path in sorted(missing)]
        found = self._fetch([*heads, *wanted])
        beginnings = {path: data for (path, low, _), data in zip([*heads, *wanted], found) if low == 0}
        for path, data in beginnings.items():
            if path not in chunks:
                chunks[path] = self._tried(path, data)
        if known is not None:
            known.update({path: one for path, one in chunks.items() if isinstance(one, _native.Chunks)})
        return [self._opened(one, chunks[one.path], low, data) for one, (_, low, _), data in zip(requests, wanted, found[len(heads) :])]

    @staticmethod
    def _start(chunks: _native.Chunks | Exception | None) -> int:
        return chunks.start if isinstance(chunks, _native.Chunks) else HEADER + PREFIX

    def _begun(self, requests: Sequence[Request]) -> dict[str, _native.Chunks | Exception]:
        paths = sorted({one.path for one in requests})
        return {path: self._tried(path, data) for path, data in zip(paths, self._fetch([(path, 0, HEADER_MAX + PREFIX) for path in paths]))}

    def _tried(self, path: str, data: bytes | Exception) -> _native.Chunks | Exception:
        if isinstance(data, Exception):
            return data
        try:
            return self.chunks(path, data)
        except Exception as error:
            return named(error, path)

    def _opened(self, one: Request, chunks: _native.Chunks | Exception, low: int, data: bytes | Exception) -> bytes | Exception:
        if isinstance(chunks, Exception):
            return chunks
        if isinstance(data, Exception):
            return self._beyond(one, data)
        sealed = memoryview(data)[chunks.start if low == 0 else 0 :]
        try:
            return bytes(one.opened(chunks, sealed))
        except Exception as error:
            return named(error, one.path) if sealed else self._beyond(one, named(error, one.path))

    def _beyond(self, one: Request, error: Exception) -> bytes | Exception:
        """Nothing, if the range begins after the verified end of the object. Stores refuse such ranges, or return nothing."""
        if one.begin < CHUNK or isinstance(error, FileNotFoundError):
            return error
        (header,) = self.header_bytes([one.path])
        size = plain_bytes(self.fs.info(one.path)["size"], header) if header is not None else None
        if size is None or one.begin < size:
            return error
        (end,) = self.read([Request(one.path, size // CHUNK * CHUNK)])
        return end if isinstance(end, Exception) else b""

    def _fetch(self, wanted: list[tuple[str, int, int | None]]) -> list[bytes | Exception]:
        if len(wanted) == 1 and wanted[0][1:] == (0, None):
            try:
                return [self.fs.cat_file(wanted[0][0])]
            except Exception as error:
                return [error]
        paths, lows, highs = ([one[i] for one in wanted] for i in range(3))
        found: list[bytes | Exception] = self.fs.cat_ranges(paths, lows, highs, on_error="return") if wanted else []
        return found


def named(error: Exception, path: str) -> Exception:
    """The same error with the path in its message."""
    return type(error)(f"{path}: {error}") if isinstance(error, Error) else error


def complete(size: int | None, path: str) -> int:
    """The length of plaintext, as far as there is one."""
    if size is None:
        raise Truncated(f"{path}: no complete encrypted file has this length: it was cut off, or is no encrypted file")
    return size
