"""Key search on many machines. Shards are Dask tasks; the process that waits for them keeps the journal.

A shard is a range of candidates. It is recorded once, when its result has arrived, so no candidate is lost with a worker
and none counts twice. Each task takes all that it needs with it: the search without its words, which holds the header of
a file, the words of its shard, and all of the second list.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native, _search_input
from ._journal import Journal
from ._number import number
from ._search import _MASKS, Found, Search, _warn, _warn_of_devices, device_names, nothing_tried, warn_of_doubt

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence
    from numpy.typing import NDArray

    from ._search import LeftOut

#: The size of the first shard, in candidates.
_FIRST = 16

#: The maximum growth from one shard to the next.
_GROWTH = 8

#: The words sent to a worker at a time, in bytes.
_PIECE_BYTES = 1 << 22

#: The most bytes of a second list, or of masks, that every task contains. Dask warns of tasks with 10 MB.
_SENT_BYTES_MAX = 1 << 23

#: Shards per thread of the cluster: one that runs, one that waits.
_SHARDS_PER_THREAD = 2


def search(
    client: Any,
    search: Search,
    *,
    skip: int = 0,
    limit: int | None = None,
    goes_on: bool = False,
    journal: str | os.PathLike[str] | None = None,
    restore: bool = False,
    progress: Callable[[int, int], object] | None = None,
    shard_seconds: float = 10.0,
    retries: int = 3,
    device: str | Sequence[str] | None = None,
) -> list[Found]:
    """Search for a lost key or passphrase on a Dask cluster, by `search_shard` in tasks of one thread each.

    A key is planted in every shard. A shard that fails, or is lost with its worker, is tried again. Workers may be slow, leave
    or join. A find or Ctrl-C ends the search and cancels its tasks.

    The workers need no files: each task contains the header of the encrypted file, its words, the masks and the second list.
    Masks and the second list may have up to 8 MiB. Of several targets, new shards leave out those that are found.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    search : Search
        The search.
    skip, limit, goes_on
        As of `search_shard`.
    journal : str or path, optional
        A file of this process that records hits and finished shards. Each line is on the disk before the search continues.
    restore : bool
        Whether an existing journal, which must be of the same search, is continued. Without it, an existing file is refused.
    progress : callable, optional
        It is called after every shard, as in `search_shard`.
    shard_seconds : float
        The time that a shard should take.
    retries : int
        How many times a shard is tried again.
    device : str or sequence of str, optional
        The devices of every worker, as in `search_shard`. Give such workers one thread each.

    Returns
    -------
    list of Found
        The right candidates; an empty list if all were tried and none is right.

    Raises
    ------
    NothingTried
        As of `search_shard`.
    """
    start, retries, devices = min(number("skip", skip, None), search.size), number("retries", retries, None), device_names(device)
    stop = search.size if limit is None else min(start + number("limit", limit, None), search.size)
    if start == stop:
        raise nothing_tried()
    job = _sent(search)
    warn_of_doubt(search)
    with Journal(journal, restore, search, (start, stop), goes_on) as kept:
        goals = _Goals(search, goes_on, kept.found.values())
        if not goals.are_over():
            _Run(client, search, job, kept, goals, progress, shard_seconds, retries, devices).go((start, stop))
        _warn(kept.left_out())
        if not kept.found and kept.tried == 0:
            raise nothing_tried()
        return sorted(kept.found.values())


class _Shard(NamedTuple):
    """The candidates from `start` to `stop`, and their words."""

    start: int
    stop: int
    #: The lines of the words; None for other candidates.
    lines: bytes | None
    #: The number that candidate 0 of these lines has in the whole list.
    base: int
    #: The number of earlier attempts.
    attempt: int = 0


def _sent(search: Search) -> dict[str, Any]:
    """The part of the job that every task contains: all but the words."""
    job = {**search._job(), "words": None}
    if job["words_after"] is not None:
        job["words_after"] = _search_input.content(job["words_after"], "words_after", _SENT_BYTES_MAX + 1)
    contents = {name: b"".join(job[name].texts) for name in _MASKS if job[name] is not None}
    for name, content in {**contents, "words_after": job["words_after"] or b""}.items():
        if len(content) > _SENT_BYTES_MAX:
            why = f"{name} has more than {_SENT_BYTES_MAX >> 20} MiB, and every task contains it: split it, or use search_shard"
            raise _native.Error(why)
    if search.words_after is not None and _native.search_check({**job, "words": b""})[1] != search._checked[1]:
        raise _native.Error("words_after has changed since the search was described: describe it again")
    return job


class _Run:
    """The shards that are being searched."""

    def __init__(
        self,
        client: Any,
        search: Search,
        job: dict[str, Any],
        journal: Journal,
        goals: _Goals,
        progress: Callable[[int, int], object] | None,
        shard_seconds: float,
        retries: int,
        devices: list[str],
    ) -> None:
        self.client, self.journal, self.goals = client, journal, goals
        self.progress, self.shard_seconds, self.retries, self.devices = progress, shard_seconds, retries, devices
        self.job = job
        self.words = None if search.words is None else _Words(search)
        self.count = _FIRST
        self.running: dict[Any, _Shard] = {}

    def go(self, whole: tuple[int, int]) -> None:
        """Searches all candidates that the journal does not list as tried."""
        from distributed import as_completed

        rest = self.journal.rest(whole)
        total, tried = whole[1] - whole[0], whole[1] - whole[0] - sum(stop - start for start, stop in rest)
        completed = as_completed()  # type: ignore[no-untyped-call]
        try:
            self._fill(completed, rest)
            for future in completed:
                shard = self.running.pop(future)
                try:
                    # The worker may be lost after it has finished. Dask then repeats the task, which may fail.
                    found, left_out, seconds, failures, count = future.result()
                except Exception as error:  # noqa: BLE001 - whatever a task or a lost worker raises
                    self._again(completed, shard, error)
                    continue
                _warn_of_devices(failures)
                self.journal.keep(self.goals.wanted(found))
                if self.goals.are_over():
                    return
                self.journal.done(shard.start, shard.stop, left_out, count)
                tried += shard.stop - shard.start
                if self.progress is not None:
                    self.progress(tried, total)
                fits = int((shard.stop - shard.start) * self.shard_seconds / max(seconds, 1e-6))
                self.count = max(1, min(fits, (shard.stop - shard.start) * _GROWTH))
                self._fill(completed, rest)
        finally:
            self.client.cancel(list(self.running))

    def _fill(self, completed: Any, rest: list[tuple[int, int]]) -> None:
        """Submits shards until every thread of the cluster has enough."""
        threads = sum(self.client.nthreads().values())
        while rest and len(self.running) < max(_SHARDS_PER_THREAD * threads, 1):
            start, stop = rest.pop()
            end = min(start + self.count, stop)
            shard = _Shard(start, end, None, 0) if self.words is None else self.words.shard(start, end)
            if shard.stop < stop:
                rest.append((shard.stop, stop))
            self._submit(completed, shard)

    def _submit(self, completed: Any, shard: _Shard) -> None:
        job = {**self.job, "words": shard.lines, "finished": sorted(self.goals.closed)}
        part = (shard.start - shard.base, shard.stop - shard.start)
        future = self.client.submit(_shard, job, *part, self.goals.goes_on, self.devices, shard.base, self._per_word(), pure=False)
        self.running[future] = shard
        completed.add(future)

    def _per_word(self) -> int:
        return 1 if self.words is None else self.words.per_word

    def _again(self, completed: Any, shard: _Shard, error: Exception) -> None:
        """Retries a shard that failed or was lost."""
        shard = shard._replace(attempt=shard.attempt + 1)
        if shard.attempt > self.retries:
            why = f"the shard from candidate {shard.start} to {shard.stop} failed {shard.attempt} times: look after the workers"
            raise _native.Error(why) from error
        self._submit(completed, shard)


class _Goals:
    """Which targets are found, and when the search is over."""

    def __init__(self, search: Search, goes_on: bool, found: Iterable[Found]) -> None:
        self.goes_on, self._any = goes_on, search.any_target
        #: For each target, whether all keys are wanted that fit.
        self._is_open = [goes_on or doubt is not None for doubt in search._doubts()]
        #: The targets of which no more keys are wanted.
        self.closed: set[int] = set()
        self.wanted(found)

    def wanted(self, found: Iterable[Found]) -> list[Found]:
        """Records hits. Returns those that are wanted: of most targets, one key is enough."""
        wanted = []
        for one in found:
            if one.target not in self.closed:
                wanted.append(one)
                if not self._is_open[one.target]:
                    self.closed.add(one.target)
        return wanted

    def are_over(self) -> bool:
        """Whether enough targets are found and no more keys are wanted."""
        return bool(self.closed) if self._any else len(self.closed) == len(self._is_open)


class _Words:
    """The words of a list, read once from the beginning to the end."""

    def __init__(self, search: Search) -> None:
        self.per_word = search._checked[1]
        self._record_bytes = search._checked[2] if search.form == "raw" else None
        self._pieces = _native.WordPieces(search._job())
        #: The first word that was read, their lines, and the offset of each line and of the end.
        self._first, self._lines, self._bounds = 0, b"", np.zeros(1, np.intp)

    def shard(self, start: int, stop: int) -> _Shard:
        """The shard from candidate `start` on. It ends at `stop` or where the lines that were read end."""
        first, last = start // self.per_word, -(-stop // self.per_word)
        while first >= self._first + len(self._bounds) - 1:
            piece = self._pieces.next(_PIECE_BYTES)
            if piece is None:
                raise _native.Error("the word list became shorter during the search: begin again")
            self._first, _, self._lines = piece
            self._bounds = self._bounds_of(self._lines)
        last = min(last, self._first + len(self._bounds) - 1)
        lines = self._lines[self._bounds[first - self._first] : self._bounds[last - self._first]]
        stop = min(stop, last * self.per_word)
        if self._record_bytes is not None:
            return _Shard(start, stop, lines, first * self.per_word)
        # An empty line in front: no word of these is the first one of a list, which may begin with a signature.
        return _Shard(start, stop, b"\n" + lines, (first - 1) * self.per_word)

    def _bounds_of(self, lines: bytes) -> NDArray[np.intp]:
        if self._record_bytes is not None:
            starts = np.arange(0, len(lines), self._record_bytes)
        else:
            starts = np.concatenate([[0], np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1])
        # No word follows a final line end.
        return np.append(starts[starts < len(lines)], len(lines))


def _shard(
    job: dict[str, Any], skip: int, limit: int, goes_on: bool, devices: list[str], base: int, per_word: int
) -> tuple[list[Found], list[LeftOut], float, list[str], int]:
    """Searches one shard on a worker.

    Returns the hits, the refused words, the time, the reasons of failed devices, and the number of candidates tried.
    """
    began = time.perf_counter()
    found, left_out, failures, tried = _native.search_shard(job, skip, limit, None, goes_on, _ending(), 1, devices)
    words = base // per_word
    return (
        [Found(base + number, candidate, key, target) for number, candidate, key, target in found],
        [(reason, count, words + first) for reason, count, first in left_out],
        time.perf_counter() - began,
        failures,
        tried,
    )


def _ending() -> Callable[[int, int], None] | None:
    """A callback that ends this task if it was cancelled: Dask does not interrupt threads. None outside of a worker."""
    from distributed import get_worker

    try:
        worker = get_worker()
        key = worker.get_current_task()
    except (ValueError, KeyError):
        return None

    def end(*_: int) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _native.Error("the search was ended")

    return end
