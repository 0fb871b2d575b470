"""Key search on many machines. Shards are Dask tasks; the process that waits for them keeps the journal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import _native
from ._journal import Journal
from ._number import number
from ._search import Found, Search, _warn, _warn_of_devices, device_names

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from ._search import LeftOut

#: The size of the first shard, in candidates.
_FIRST = 16

#: The maximum growth from one shard to the next.
_GROWTH = 8

#: The words sent to a worker at a time, in bytes.
_PIECE_BYTES = 1 << 23

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
    """Search for a lost key on a Dask cluster, by `search_shard` in tasks of one thread each.

    A key is planted in every shard. A shard that fails, or is lost with its worker, is tried again. Ctrl-C ends the search.

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
        The right candidates.
    """
    start, retries, devices = min(number("skip", skip, None), search.size), number("retries", retries, None), device_names(device)
    stop = search.size if limit is None else min(start + number("limit", limit, None), search.size)
    with Journal(journal, restore, search, (start, stop)) as kept:
        if goes_on or not kept.found:
            _Run(client, search, kept, goes_on, progress, shard_seconds, retries, devices).go((start, stop))
        _warn(kept.left_out())
        return sorted(kept.found.values())


class _Run:
    """The shards that are being searched."""

    def __init__(
        self,
        client: Any,
        search: Search,
        journal: Journal,
        goes_on: bool,
        progress: Callable[[int, int], object] | None,
        shard_seconds: float,
        retries: int,
        devices: list[str],
    ) -> None:
        self.client, self.search, self.journal, self.goes_on = client, search, journal, goes_on
        self.progress, self.shard_seconds, self.retries, self.devices = progress, shard_seconds, retries, devices
        self.count = _FIRST
        #: The range of each future, and the number of earlier attempts.
        self.running: dict[Any, tuple[int, int, int]] = {}

    def go(self, whole: tuple[int, int]) -> None:
        """Searches all candidates that the journal does not list as tried."""
        from distributed import as_completed

        rest = self.journal.rest(whole)
        total, tried = whole[1] - whole[0], whole[1] - whole[0] - sum(stop - start for start, stop in rest)
        completed = as_completed()  # type: ignore[no-untyped-call]
        try:
            self._fill(completed, rest)
            for future in completed:
                start, stop, attempt = self.running.pop(future)
                if future.status != "finished":
                    self._again(completed, future, (start, stop, attempt + 1))
                    continue
                found, left_out, seconds, failures = future.result()
                _warn_of_devices(failures)
                self.journal.keep(found)
                if found and not self.goes_on:
                    return
                self.journal.done(start, stop, left_out)
                tried += stop - start
                if self.progress is not None:
                    self.progress(tried, total)
                fits = int((stop - start) * self.shard_seconds / max(seconds, 1e-6))
                self.count = max(1, min(fits, (stop - start) * _GROWTH))
                self._fill(completed, rest)
        finally:
            self.client.cancel(list(self.running))

    def _fill(self, completed: Any, rest: list[tuple[int, int]]) -> None:
        """Submits shards until every thread of the cluster has enough."""
        threads = sum(self.client.nthreads().values())
        while rest and len(self.running) < max(_SHARDS_PER_THREAD * threads, 1):
            start, stop = rest.pop()
            end = min(start + self._most(), stop)
            if end < stop:
                rest.append((end, stop))
            self._submit(completed, (start, end, 0))

    def _most(self) -> int:
        """The number of candidates in the next shard."""
        if self.search.words is None:
            return self.count
        words = max(len(self.search._bounds) - 1, 1)
        fit = _PIECE_BYTES * words // max(int(self.search._bounds[-1]), 1)
        return max(1, min(self.count, fit * self.search._per_word))

    def _submit(self, completed: Any, shard: tuple[int, int, int]) -> None:
        start, stop, _ = shard
        piece, base = self.search._piece(start, stop)
        future = self.client.submit(_shard, piece, base, start, stop, self.goes_on, self.devices, pure=False)
        self.running[future] = shard
        completed.add(future)

    def _again(self, completed: Any, future: Any, shard: tuple[int, int, int]) -> None:
        """Retries a shard that failed or was lost."""
        start, stop, attempt = shard
        if attempt > self.retries:
            error = future.exception() if future.status == "error" else None
            why = f"the shard from candidate {start} to {stop} failed {attempt} times: look after the workers"
            raise _native.Error(why) from error
        self._submit(completed, shard)


def _shard(
    piece: Search, base: int, start: int, stop: int, goes_on: bool, devices: list[str]
) -> tuple[list[Found], list[LeftOut], float, list[str]]:
    """Searches one shard on a worker. Returns the hits, the refused words, the time, and the reasons of failed devices."""
    began = time.perf_counter()
    job, skip, limit = piece._job(), start - base, stop - start
    found, left_out, failures = _native.search_shard(job, skip, limit, None, goes_on, None, 1, devices)
    words = base // piece._per_word
    return (
        [Found(base + number, candidate, key) for number, candidate, key in found],
        [(reason, count, words + first) for reason, count, first in left_out],
        time.perf_counter() - began,
        failures,
    )
