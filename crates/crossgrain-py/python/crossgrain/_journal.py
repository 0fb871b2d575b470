"""The journal of a search: the hits, and the candidates that were tried.

The file has one JSON object per line: first the digest of the search, then hits and shards in order of arrival. A line is valid
once its line end is on disk. The file is created once and then only appended to. It is locked while a process writes it, and
only its owner can read it because it contains keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from . import _native
from ._search import Found
from ._search_input import Masks, to_bytes

try:
    import fcntl
except ImportError:  # systems without this lock
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._search import LeftOut, Search

#: The version of the file format.
_VERSION = 1

#: Bytes of a word list that are read at a time.
_READ_BYTES = 1 << 20


class Journal:
    """A journal in a file, or only in memory if the path is None."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        restore: bool,
        search: Search,
        whole: tuple[int, int],
        goes_on: bool = False,
    ) -> None:
        #: The hits by number and target.
        self.found: dict[tuple[int, int], Found] = {}
        #: The number of candidates that were tried.
        self.tried = 0
        self._left_out: dict[str, tuple[int, int]] = {}
        self._done: list[tuple[int, int]] = []
        self._path = path
        self._file: int | None = None
        if path is None:
            return
        begun = {"crossgrain_search": _VERSION, "digest": _digest(search, whole, goes_on)}
        # The flags refuse symbolic links.
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        file = self._file = os.open(path, flags if restore else flags | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            self._refuse_others(file)
            self._lock(file)
            if restore:
                self._read(file, begun)
            else:
                self._add(begun)
        except BaseException:
            os.close(file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)

    def keep(self, found: Sequence[Found]) -> None:
        """Records hits."""
        for one in found:
            if (one.number, one.target) not in self.found:
                line = {"found": str(one.number), "candidate": one.candidate.hex(), "key": one.key.hex()}
                self._add({**line, "target": one.target} if one.target else line)
            self.found[one.number, one.target] = one

    def done(self, start: int, stop: int, left_out: Sequence[LeftOut], tried: int) -> None:
        """Records that no candidate with these numbers is left. `tried` of them were candidates; others were refused."""
        self._add({"from": str(start), "to": str(stop), "left_out": left_out, "tried": str(tried)})
        self._note(start, stop, left_out, tried)

    def rest(self, whole: tuple[int, int]) -> list[tuple[int, int]]:
        """The untried ranges of the whole, the last one first."""
        rest, at = [], whole[0]
        for start, stop in sorted(self._done):
            if start > at:
                rest.append((at, start))
            at = max(at, stop)
        if at < whole[1]:
            rest.append((at, whole[1]))
        return rest[::-1]

    def left_out(self) -> list[LeftOut]:
        """The refused words: the reason, their count, and the number of the first."""
        return [(reason, count, first) for reason, (count, first) in self._left_out.items()]

    def _note(self, start: int, stop: int, left_out: Sequence[LeftOut], tried: int) -> None:
        self._done.append((start, stop))
        self.tried += tried
        for reason, count, first in left_out:
            before, lowest = self._left_out.get(reason, (0, first))
            self._left_out[reason] = (before + count, min(lowest, first))

    def _refuse_others(self, file: int) -> None:
        """Refuses a file that may belong to another user, because it is written and its content is trusted."""
        found = os.fstat(file)
        is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not (stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and is_own):
            raise _native.Error(f"{self._path} is no file of one name and of yours: begin another journal")
        if os.name == "posix" and found.st_mode & 0o077:
            raise _native.Error(f"{self._path} can be read or written by others: chmod 600 it, or begin another")

    def _lock(self, file: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _native.Error(f"another search writes {self._path}: let it finish") from None

    def _add(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        rest = memoryview(_line(line))
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)

    def _read(self, file: int, begun: dict[str, Any]) -> None:
        """Reads the lines that an earlier search wrote."""
        with open(file, "rb", closefd=False) as journal:
            text = journal.read()
        # The search was killed while it wrote a line without a line end.
        whole, text = text, text[: text.rfind(b"\n") + 1]
        lines = text.splitlines()
        if not lines and not _line(begun).startswith(whole):
            raise _native.Error(f"{self._path} is damaged in line 1: begin another journal")
        for number, line in enumerate(lines, 1):
            try:
                self._take(json.loads(line), begun if number == 1 else None)
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, _native.Error):
                    raise
                why = f"{self._path} is damaged in line {number}: begin another journal"
                raise _native.Error(why) from None
        # Truncate only after the whole file was found to be a journal.
        os.ftruncate(file, len(text))
        if not lines:
            self._add(begun)

    def _take(self, line: dict[str, Any], begun: dict[str, Any] | None) -> None:
        if begun is not None:
            if line != begun:
                raise _native.Error(f"{self._path} is of another search: give the one that it was begun with")
        elif "found" in line:
            number, target = int(line["found"]), int(line.get("target", 0))
            candidate, key = bytes.fromhex(line["candidate"]), bytes.fromhex(line["key"])
            self.found[number, target] = Found(number, candidate, key, target)
        else:
            start, stop = int(line["from"]), int(line["to"])
            # Earlier versions did not record how many were tried.
            tried = int(line.get("tried", stop - start))
            self._note(start, stop, [tuple(one) for one in line["left_out"]], tried)


def _line(line: dict[str, Any]) -> bytes:
    return json.dumps(line).encode() + b"\n"


def _digest(search: Search, whole: tuple[int, int], goes_on: bool = False) -> str:
    """A digest that differs between searches. That of several targets also depends on `goes_on`, because candidates are not
    tried on targets that are found."""
    digest = hashlib.sha256(repr(whole).encode())
    job = search._job()
    # In the form of earlier versions, so that their journals can be restored. They had no other files.
    headers, targets, is_any, _ = (job.pop(name) for name in ("headers", "targets", "any_target", "finished"))
    file = [("header", headers[0] if len(headers) == 1 else headers), ("facts", job.pop("facts"))]
    rules = [(name, job.pop(name)) for name in ("rule_files", "strict_rules")]
    hybrid = [(name, _digested(name, job.pop(name))) for name in ("words_after", "mask_before", "mask_after", "rule_right", "increment")]
    added = [
        *(file if search.file is not None else ()),
        *(rules if search.rule_files else ()),
        *(one for one in hybrid if one[1] is not None),
        *([("targets", targets)] if targets else ()),
        *([("several", is_any, goes_on)] if len(search._doubts()) > 1 else ()),
    ]
    job["mask"] = _digested("mask", job["mask"])
    if search.mode != "siv":
        job["aad"] = b"".join(job["aad"])
    job["salt"] = job["salt"] or b""
    job["sets"] = [to_bytes(text, "sets") for text in job["sets"]]
    job["words"] = _digested("words", job["words"])
    for one in [*sorted({**job, "file": None}.items()), *added]:
        digest.update(repr(one).encode())
    return digest.hexdigest()


def _digested(name: str, given: Any) -> Any:
    """What a digest takes of a word list or of masks."""
    if given is None or name in ("rule_right", "increment"):
        return given
    if isinstance(given, Masks):
        is_one = given.file is None and len(given.texts) == 1
        return given.texts[0] if is_one else (given.file is not None, given.texts)
    return _digest_of(given) if isinstance(given, str) else _native.bytes_of(given, name)


def _digest_of(path: str) -> str:
    """The digest of a file, which is too long to be read at once."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()
