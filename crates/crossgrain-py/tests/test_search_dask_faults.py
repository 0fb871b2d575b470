"""Key search on a cluster whose workers are lost, stopped or join: no candidate is lost, and none counts twice."""

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

import crossgrain
from crossgrain import Search, search_shard

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals (not on this system)")

#: A file of `openssl enc -aes-256-cbc -pbkdf2 -iter 20 -a` with the passphrase word7000.
FILE = (
    b"U2FsdGVkX18MzlL+SUsEnovcSmtTBahm9oKa8VaIA4LY19jo7htapiZJ8Yhz3AJjvItdz7aUDGn2DNDD4Dh6M/j/ODxWid2cpRFu"
    b"pkzo4uLg8cMG29ce3YI8E0rCUGoOT3rCWDGPY209F3JtA7/DUK9i11oQH7uV+pn1bapdamObCxR+GKfypO8pquR32J6fw/K0HWo4"
    b"d8CwPmU5MBraCbnHb57bZWdDHOzsFj2UO6FYHEWjZ8n110DUAbC4P163MA0q5LPVZYcFehd/AtKjlitTkgys2gg+4ULUQPVtjPTJ"
    b"xZV2dq3S/TWQFu6Ep5sVmSyagILVw7AdbjccTkjAqQ2AqSHvuY93DGB0d+t4bgLLfxghi8zz68l8ySgLD5l1PsiKqXpj72XNXNkR"
    b"/LFlzXJjwx+TNfkbOhw+PVkv0O4="
)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@contextmanager
def joined(client):
    """A worker that is not restarted when it is killed."""
    command = ["-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def doubtful(words=None, **options):
    """A search that one wrong passphrase in 256 fits, so that a lost or doubled shard shows."""
    words = [b"word%d" % number for number in range(20_000)] if words is None else words
    return Search(file=FILE, iterations=20, looks="any", words=words, **options)


@pytest.fixture(scope="module")
def expected():
    with pytest.warns(UserWarning, match="all that fit are returned"):
        found = search_shard(doubtful())
    assert 40 < len(found) < 160 and 7000 in [one.number for one in found]
    return found


def run(client, search, during=lambda tried: None, **options):
    """Searches, and checks that the progress counts each candidate once."""
    from crossgrain import dask

    told = []

    def progress(tried, total):
        assert total == search.size and tried <= total and (not told or tried > told[-1])
        told.append(tried)
        during(tried)

    with pytest.warns(UserWarning, match="all that fit are returned"):
        found = dask.search(client, search, progress=progress, **{"shard_seconds": 0.1, **options})
    assert told[-1] == search.size
    return found


def pids(client):
    return list(client.run(os.getpid).values())


def test_a_worker_joins_and_is_lost_for_ever(client, expected):
    with joined(client) as worker:

        def kill(tried):
            if tried > 10_000 and worker.poll() is None:
                worker.kill()

        client.wait_for_workers(3)
        assert run(client, doubtful(), kill) == expected


def test_a_worker_joins_during_the_search(client, expected):
    with joined(client):
        assert run(client, doubtful(), lambda tried: time.sleep(0.05)) == expected


def test_a_worker_that_stops_for_a_while_is_waited_for(client, expected):
    stopped = []

    def stop(tried):
        if not stopped:
            stopped.append(pids(client)[0])
            os.kill(stopped[0], signal.SIGSTOP)
            threading.Timer(3, os.kill, (stopped[0], signal.SIGCONT)).start()

    assert run(client, doubtful(), stop) == expected


def test_a_find_ends_the_shards_of_others(client, monkeypatch):
    from crossgrain import _search_dask, dask

    # The second shard would take years.
    monkeypatch.setattr(_search_dask, "_FIRST", 1 << 50)
    key = bytes(14) + b"\x01\x07"
    crypt = crossgrain.encrypt(bytes(16), key=key, cipher="aes-128", mode="ecb")
    search = Search(cipher="aes-128", known=[(bytes(16), crypt)], mask="?b" * 16)
    assert [one.key for one in dask.search(client, search)] == [key]
    for _ in range(600):
        if sum(client.run(lambda dask_worker: len(dask_worker.state.executing)).values()) == 0:
            break
        time.sleep(0.1)
    else:
        pytest.fail("a task still runs")
    # The workers are free for the next search.
    assert [one.key for one in dask.search(client, search, limit=1 << 20)] == [key]


def test_lists_rules_and_numbers_are_those_of_one_process(client, tmp_path, monkeypatch):
    from crossgrain import _search_dask

    monkeypatch.setattr(_search_dask, "_PIECE_BYTES", 1000)
    # Words that look like the beginning of a list, where a piece may begin, and a line that is too long.
    marks = ["\ufeff", "\u00e4", "$HEX[61]", "", "word7000"]
    text = "\ufeff" + "".join(f"{marks[number % 5]}word{number}\r\n" for number in range(700)) + "x" * (2 << 20) + "\nlast"
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress(text.encode()))
    for words in (path, text.encode()):
        search = doubtful(words=words, rule_files=[b":\n$1\nu\n", b":\nr\n"])
        assert search.size == 702 * 6
        with pytest.warns(UserWarning):
            whole = search_shard(search, skip=11, limit=4000)
        from crossgrain import dask

        with pytest.warns(UserWarning):
            assert dask.search(client, search, skip=11, limit=4000, shard_seconds=0.02) == whole


def test_a_list_that_shrinks_is_told(client, tmp_path):
    from crossgrain import dask

    path = tmp_path / "list"
    path.write_bytes(b"word\n" * 100)
    search = doubtful(words=path)
    assert search.size == 100
    path.write_bytes(b"word\n" * 10)
    with pytest.warns(UserWarning), pytest.raises(crossgrain.Error, match="became shorter"):
        dask.search(client, search)


def test_nothing_tried_on_a_cluster(client, tmp_path):
    from crossgrain import dask

    search = Search(cipher="aes-128", known=[(bytes(16), bytes(16))], words=[b"x" * 17] * 40)
    for restore in (False, True):
        with pytest.warns(UserWarning, match="40 candidates were left out"), pytest.raises(crossgrain.NothingTried):
            dask.search(client, search, journal=tmp_path / "lost", restore=restore)
    with pytest.raises(crossgrain.NothingTried):
        dask.search(client, Search(cipher="aes-128", known=[(bytes(16), bytes(16))], words=[]))


def test_only_the_header_of_a_file_is_sent(client, tmp_path):
    import pickle

    from crossgrain import dask

    (tmp_path / "in").write_bytes(bytes(3 << 20))
    crossgrain.encrypt_file(tmp_path / "in", tmp_path / "out", key=bytes(range(32)))
    search = Search(file=tmp_path / "out", key_mask=bytes(range(31)).hex() + "??")
    assert len(pickle.dumps(search)) < 10_000
    (tmp_path / "out").unlink()
    assert dask.search(client, search)[0].key == bytes(range(32))
