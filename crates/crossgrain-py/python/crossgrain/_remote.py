"""Files of `crossgrain.fsspec`, and their read-ahead."""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import io
import sys
import warnings
from typing import TYPE_CHECKING, Any

from fsspec.caching import BaseCache, register_cache  # type: ignore[import-untyped,import-not-found,unused-ignore]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ._ranges import CHUNK, Reader, Request, complete
from ._sinks import Target, open_sink

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from ._native import Chunks

#: The most bytes that are read ahead, and the bytes that are encrypted at a time.
BLOCK_BYTES = 4 << 20

#: Bytes that one line is searched for in.
_LINE_BYTES = 64 << 10


class ReadAhead(BaseCache):  # type: ignore[misc,unused-ignore]
    """Fetches whole chunks, and reads ahead only while a file is read in order.

    A read that jumps fetches its own chunks and nothing else, so that a reader of columns gets the bytes of these columns.
    From the third read in order on, reads shorter than a quarter of the block fetch as many bytes again as have been read
    in order before, up to a block.
    """

    name = "crossgrain"

    def __init__(self, blocksize: int, fetcher: Any, size: int, **_: Any) -> None:
        super().__init__(blocksize, fetcher, size)
        self._first, self._held = 0, b""
        self._expected, self._in_order, self._in_order_bytes = -1, 0, 0

    def _fetch(self, start: int | None, stop: int | None) -> bytes:
        start, stop = start or 0, self.size if stop is None else min(stop, self.size)
        if start >= stop:
            return b""
        ahead = self._ahead(start, stop)
        end = self._first + len(self._held)
        if start < self._first or stop > end:
            self.miss_count += 1
            to = min(-(-(stop + ahead) // CHUNK) * CHUNK, self.size)
            inside = self._first <= start < end
            begin = end if inside else start // CHUNK * CHUNK
            self.total_requested_bytes += to - begin
            fetched = self.fetcher(begin, to)
            kept = self._held[(start - self._first) // CHUNK * CHUNK :] if inside else b""
            self._first, self._held = begin - len(kept), kept + fetched
        else:
            self.hit_count += 1
        wanted = self._held[start - self._first : stop - self._first]
        if (spare := len(self._held) - self.blocksize) > 0:
            # A long read need not stay in memory.
            self._first += spare // CHUNK * CHUNK
            self._held = self._held[spare // CHUNK * CHUNK :]
        return wanted

    def _ahead(self, start: int, stop: int) -> int:
        """Bytes to read ahead, if this read is not in the buffer."""
        if start == self._expected or self._first < start < self._first + len(self._held) < stop:
            self._in_order += 1
        else:
            self._in_order = self._in_order_bytes = 0
        is_short = 4 * (stop - start) <= self.blocksize
        ahead = min(self._in_order_bytes, self.blocksize) if self._in_order >= 2 and is_short else 0
        self._in_order_bytes += stop - start
        self._expected = stop
        return ahead


register_cache(ReadAhead, clobber=True)


class EncryptedObject(AbstractBufferedFile):  # type: ignore[misc,unused-ignore]
    """An encrypted object, as a file of its plaintext.

    A written object appears when the file is closed. It does not appear if the `with` block raises, if writing fails, if the
    file is dropped without `close`, or if it is closed while an exception is handled that occurred after it was opened.
    """

    DEFAULT_BLOCK_SIZE = BLOCK_BYTES

    def __init__(self, fs: Any, path: str, mode: str = "rb", block_size: Any = "default", autocommit: bool = True, **options: Any) -> None:
        self._chunks: dict[str, Chunks] = {}
        self._sink: Target | None = None
        self._begun_under = sys.exc_info()[1]
        size = options.pop("size", None)
        if mode == "rb":
            size = complete(fs.info(path)["size"] if size is None else size, path)
        options["cache_type"] = options.get("cache_type") or ReadAhead.name
        super().__init__(fs, path, mode, block_size, autocommit, size=size, **options)
        if mode == "rb" and size == 0:
            self._verified(Request(path))  # `read` would fetch nothing
        if mode in ("wb", "xb"):
            self._sink = open_sink(fs.fs, path, "wb" if mode == "wb" else "xb", fs.secrets, fs.suite, fs.threads)

    # Reading

    def _fetch_range(self, start: int, end: int) -> bytes:
        # At the end of the file the range is left open. Its last chunk is then verified to be the last one.
        return self._verified(Request(self.path, start, None if end >= self.size else end))

    def _verified(self, request: Request) -> bytes:
        reader: Reader = self.fs.reader
        (data,) = reader.read([request], self._chunks)
        if isinstance(data, Exception):
            raise data
        return data

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line, with its end."""
        line: bytes = self.readuntil(b"\n", _LINE_BYTES)
        if size is not None and 0 <= size < len(line):
            self.seek(size - len(line), io.SEEK_CUR)
            line = line[:size]
        return line

    # Writing

    def _upload_chunk(self, final: bool = False) -> bool:
        assert self._sink is not None
        with self.buffer.getbuffer() as data:
            if len(data) > 0:
                self._sink.write(data)
        if final and self.autocommit:
            self.commit()
        return True

    def commit(self) -> None:
        """Make the written object appear."""
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.commit()
            self.fs.invalidate_cache(self.path)

    def discard(self) -> None:
        """Close the file without the written object."""
        sink, self._sink = self._sink, None
        self.closed = True
        if sink is not None:
            sink.discard()

    def close(self) -> None:
        """Close the file. A written object appears now."""
        if self.closed or self.mode == "rb":
            super().close()
            return
        error, before = sys.exc_info()[1], self._begun_under
        self._begun_under = None
        if error is not None and error is not before:
            warnings.warn(f"{self.path} was closed because of an exception: nothing was written", stacklevel=2)
            self.discard()
            return
        try:
            super().close()
        except BaseException:
            self.discard()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and self.mode != "rb":
            self.discard()
        else:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __del__(self) -> None:
        if getattr(self, "_sink", None) is not None and not self.closed:
            warnings.warn(f"{self.path} was not closed: nothing was written", ResourceWarning, stacklevel=2)
            self.discard()


class EncryptedText(io.TextIOWrapper):
    """Text before an encrypted object. If its block raises, no object appears."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        below: Any = self.buffer
        if kind is not None and isinstance(below, EncryptedObject):
            below.discard()
        else:
            self.close()


def closing_both(file: Any, below: EncryptedObject) -> Any:
    """A compressing file whose `close` also closes the object below, which would not appear otherwise."""
    close = file.close

    def close_both() -> None:
        close()
        below.close()

    file.close = close_both
    return file
