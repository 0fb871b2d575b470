"""Key search on a cluster whose workers are killed at random moments, while the search is interrupted and restored.

`CROSSGRAIN_KILLS` is the number of workers killed for each kind of candidates: 3 unless given. The nightly run kills 50.
"""

import hashlib
import json
import os
import random
import signal
import threading
import time

import pytest

import crossgrain
from crossgrain import Search, search_shard

distributed = pytest.importorskip("distributed")
Status = pytest.importorskip("distributed.core").Status
dask_config = pytest.importorskip("dask.config")
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals (not on this system)"),
    pytest.mark.filterwarnings("ignore:all that fit are returned"),
]

KILLS = int(os.environ.get("CROSSGRAIN_KILLS", "3"))

#: Kills between two interruptions of the search.
KILLS_PER_STOP = max(KILLS // 10, 1)

#: The search has at least this many shards, of this many candidates.
SHARDS, SHARD_CANDIDATES = 4 * KILLS, 64

#: The time in which a worker must start, in seconds.
START_S = 300

#: The time that a kill waits for a worker with a shard, in seconds.
PATIENCE_S = 2

SALT, ITERATIONS, PASSPHRASE = bytes(range(8)), 4000, b"word50000"

#: Each kind has 100,000 candidates, and the passphrase is number 50,000.
WORDS = {"words": [b"word%d" % (number if number < 12_500 else number + 37_500) for number in range(25_000)], "rules": [":", "u", "$1", "r"]}
LISTS = {"words": [b"word%d" % number for number in range(100)], "words_after": [b"%02d" % number for number in range(100)], "mask_after": "?d"}
CANDIDATES = {"words and rules": WORDS, "two lists and a mask": LISTS, "mask": {"mask": "word?d?d?d?d?d"}}


def encrypted():
    """A file as `openssl enc -aes-256-cbc -pbkdf2 -iter …` writes it."""
    derived = hashlib.pbkdf2_hmac("sha256", PASSPHRASE, SALT, ITERATIONS, 48)
    crypt = crossgrain.encrypt(b"\x10" * 16, key=derived[:32], iv=derived[32:], cipher="aes-256", mode="cbc")
    return b"Salted__" + SALT + crypt


class Killer(threading.Thread):
    """Kills workers of a local cluster at random moments. The cluster starts each again.

    It kills the first worker as soon as one has a shard, so that this happens on a machine of any speed. Later, it kills a
    worker without a shard only if no worker has had one for a while: the search may wait for the kill.
    """

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.ended = cluster, threading.Event()
        self.killed, self.while_searching = [], 0

    def run(self):
        until = float("inf")
        while len(self.killed) < KILLS and not self.ended.wait(random.uniform(0, 0.4) if self.killed else 0.001):
            nanny = random.choice(list(self.cluster.workers.values()))
            worker = self.cluster.scheduler.workers.get(nanny.worker_address)
            # A cluster gives a worker up that dies while it starts. The scheduler may know such a worker already.
            is_running = nanny.process is not None and nanny.process.status == nanny.status == Status.running
            if worker is None or not is_running or nanny.pid in self.killed:
                continue
            if not worker.processing and time.monotonic() < until:
                continue
            self.while_searching += bool(worker.processing)
            self.killed.append(nanny.pid)
            os.kill(nanny.pid, signal.SIGKILL)
            until = time.monotonic() + PATIENCE_S


class Stopped(Exception):
    """The process that searches was interrupted."""


@pytest.mark.parametrize("kind", CANDIDATES)
def test_workers_are_killed_again_and_again(kind, tmp_path):
    from crossgrain import _search_dask, dask

    search = Search(file=encrypted(), iterations=ITERATIONS, looks="any", **CANDIDATES[kind])
    count = SHARDS * SHARD_CANDIDATES
    part = {"skip": 50_000 - count // 2, "limit": count}
    assert search.size == 100_000
    # One wrong passphrase in 256 fits, so that a lost or doubled shard shows.
    expected = search_shard(search, **part)
    assert PASSPHRASE in [one.passphrase for one in expected] and len(expected) > 1
    told, stops, began = [], 0, time.monotonic()

    def progress(tried, total):
        assert total == count and tried <= total and (not told or tried > told[-1])
        told.append(tried)
        # The search waits for the kills, so that they are spread over the first nine tenths of it.
        until = time.monotonic() + START_S
        while len(killer.killed) < min(KILLS, 10 * KILLS * tried // (9 * total)):
            assert time.monotonic() < until, "no worker starts"
            time.sleep(0.01)
        if len(killer.killed) // KILLS_PER_STOP > stops:
            raise Stopped

    with (
        pytest.MonkeyPatch.context() as patch,
        # Otherwise a cluster gives a worker up that starts again 15 s after it was lost: it may have been killed twice.
        dask_config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp://"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        # Shards do not grow, and workers have some in store while the search waits.
        patch.setattr(_search_dask, "_FIRST", SHARD_CANDIDATES)
        patch.setattr(_search_dask, "_GROWTH", 1)
        patch.setattr(_search_dask, "_SHARDS_PER_THREAD", 4)
        killer = Killer(cluster)
        killer.start()
        try:
            while True:
                try:
                    found = dask.search(
                        client, search, journal=tmp_path / "lost", restore=stops > 0, retries=KILLS, progress=progress, **part
                    )
                    break
                except Stopped:
                    stops = len(killer.killed) // KILLS_PER_STOP
        finally:
            killer.ended.set()
            killer.join()
    assert found == expected and told[-1] == count
    assert len(killer.killed) == KILLS and killer.while_searching > 0 and stops > 0
    # The journal has every candidate once.
    lines = [json.loads(line) for line in (tmp_path / "lost").read_bytes().splitlines()[1:]]
    shards = sorted((int(line["from"]), int(line["to"]), int(line["tried"])) for line in lines if "from" in line)
    at = part["skip"]
    for start, stop, tried in shards:
        assert start == at and tried == stop - start
        at = stop
    assert at == part["skip"] + count and len(shards) >= SHARDS
    numbers = [int(line["found"]) for line in lines if "found" in line]
    assert sorted(numbers) == [one.number for one in expected]
    print(
        f"{kind}: {KILLS} workers killed, {killer.while_searching} of them with a shard; {stops} restores; {count} candidates in "
        f"{len(shards)} shards, {len(found)} found, in {time.monotonic() - began:.0f} s"
    )
