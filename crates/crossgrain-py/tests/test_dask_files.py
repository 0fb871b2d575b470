"""Files and random arrays on a Dask cluster that loses a worker, and the arguments of both."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import crossgrain
from crossgrain import dask
from crossgrain.random import AESCounter

pytest.importorskip("distributed")
pytest.importorskip("fsspec")

KEY = bytes(range(32))


@pytest.fixture
def in_this_process():
    import dask as library

    with library.config.set(scheduler="threads"):
        yield


@pytest.fixture
def files(tmp_path):
    """Twelve files, some of them empty."""
    folder = tmp_path / "plain"
    folder.mkdir()
    numbers = np.random.default_rng(6)
    for n in range(12):
        (folder / f"{n:02}.bin").write_bytes(numbers.bytes(n % 4 * 100_000))
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def dies_once(marker, result):
    """A function that kills its process at its seventh call on all workers, and otherwise returns the result."""

    def called(*_):
        with open(marker, "ab", buffering=0) as file:
            file.write(b".")
            number = file.tell()  # of this byte, whoever else has written since
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return called


def test_files_come_back_although_a_worker_dies(client, files, tmp_path):
    sealed, again = tmp_path / "sealed", tmp_path / "again"
    sizes = dask.encrypt_files(f"{files}/*.bin", str(sealed), key=dies_once(str(tmp_path / "first"), KEY))
    assert sizes == [len(data) for _, data in sorted(contents(files).items())]
    assert os.path.getsize(tmp_path / "first") > len(sizes)  # some keys were asked for twice
    assert set(contents(sealed)) == set(contents(files))
    for name, data in contents(sealed).items():
        with crossgrain.open(sealed / name, key=KEY) as file:
            assert data.startswith(b"crossgrain") and file.read() == (files / name).read_bytes()
    assert dask.decrypt_files(f"{sealed}/*.bin", str(again), key=dies_once(str(tmp_path / "second"), KEY)) == sizes
    assert contents(again) == contents(files)
    assert (again / "03.bin").stat().st_mode & 0o77 == 0


def test_a_worker_that_is_killed_leaves_no_part_of_a_file(client, tmp_path):
    plain, sealed = tmp_path / "plain", tmp_path / "sealed"
    plain.mkdir()
    for n in range(8):
        with open(plain / str(n), "wb") as file:
            file.truncate(48 << 20)
    killed = []

    def kill():
        while not list(sealed.glob("*")):
            time.sleep(0.01)
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    sealed.mkdir()
    killer = threading.Thread(target=kill)
    killer.start()
    assert dask.encrypt_files(f"{plain}/*", str(sealed), key=KEY) == [48 << 20] * 8
    killer.join()
    assert killed and sorted(os.listdir(sealed)) == [str(n) for n in range(8)]
    assert {os.path.getsize(path) for path in sealed.iterdir()} == {69 + 3072 * 16400 + 16}
    assert crossgrain.decrypt_file(sealed / "7", tmp_path / "back", key=KEY) == 48 << 20


@pytest.mark.parametrize("make", [dask.uniform, dask.bits])
def test_random_arrays_are_the_same_although_a_worker_dies(client, tmp_path, make):
    marker = str(tmp_path / "calls")
    called = dies_once(marker, None)

    def passed(block):
        called()
        return block

    got = make((40, 50), chunks=(7, 20), seed=5).map_blocks(passed, meta=np.empty((0, 0), "f8" if make is dask.uniform else "u8")).compute()
    assert os.path.getsize(marker) > 18
    stream = AESCounter(5)
    want = stream.fill(np.empty((40, 50))) if make is dask.uniform else stream.random_raw((40, 50))
    assert np.array_equal(got, want)


def test_files_of_other_stores(store, tmp_path, files, in_this_process):
    sealed, again, plain = (f"{store.kind}://{store.path(name)}" for name in ("sealed", "again", "plain"))
    options = store.options.get(store.kind)
    dask.encrypt_files(f"{files}/*.bin", sealed, key=KEY, target_options=options)
    assert all(store.fs.cat_file(path, start=0, end=10) == b"crossgrain" for path in store.fs.find(store.path("sealed")))
    dask.decrypt_files(f"{sealed}/*.bin", again, key=KEY, source_options=options, target_options=options)
    found = {path.rpartition("/")[2]: store.fs.cat_file(path) for path in store.fs.find(store.path("again"))}
    assert found == contents(files)
    dask.encrypt_files([f"{again}/01.bin"], [f"{plain}/one"], passphrase="words", source_options=options, target_options=options)
    dask.decrypt_files(f"{plain}/one", [str(tmp_path / "one")], passphrase="words", source_options=options)
    assert (tmp_path / "one").read_bytes() == found["01.bin"]
    store.fs.pipe_file(store.path("sealed/03.bin"), store.fs.cat_file(store.path("sealed/03.bin"))[:-5])
    for target, given in ((str(tmp_path / "bad"), None), (f"{store.kind}://{store.path('bad')}", options)):
        with pytest.raises(crossgrain.Damaged):
            dask.decrypt_files(f"{sealed}/03.bin", [target], key=KEY, source_options=options, target_options=given)
    assert not (tmp_path / "bad").exists() and not store.fs.exists(store.path("bad"))


def test_targets_are_chosen_before_anything_is_written(files, tmp_path, in_this_process):
    sealed = tmp_path / "sealed"
    dask.encrypt_files(str(files / "01.bin"), str(sealed), key=KEY)
    before = contents(sealed)
    with pytest.raises(FileExistsError, match="01.bin exists"):
        dask.encrypt_files(f"{files}/*.bin", str(sealed), key=KEY)
    assert contents(sealed) == before
    assert dask.encrypt_files(f"{files}/0[12].bin", str(sealed), key=KEY, overwrite=True) == [100_000, 200_000]
    for sources, targets, error in (
        (f"{files}/*.none", str(sealed), FileNotFoundError),
        (str(files / "none"), str(sealed), FileNotFoundError),
        ([str(files / "01.bin"), str(files / "02.bin")], [str(sealed / "x")], crossgrain.Error),
        ([str(files / "01.bin")] * 2, str(tmp_path / "other"), crossgrain.Error),
        (str(files / "01.bin"), str(files), crossgrain.Error),
    ):
        with pytest.raises(error):
            dask.encrypt_files(sources, targets, key=KEY)
    with pytest.raises(crossgrain.Error, match="one source"):
        dask.encrypt_files(str(files / "03.bin"), str(sealed), key=KEY, key_env="X")
    with pytest.raises(crossgrain.WrongKey):
        dask.decrypt_files(f"{sealed}/*.bin", str(tmp_path / "again"), key=bytes(32))
    assert contents(tmp_path / "again") == {}


def test_graphs_have_no_keys(files, tmp_path, monkeypatch, in_this_process):
    import dask as library

    monkeypatch.setenv("SOME_KEY", KEY.hex())
    (tmp_path / "key").write_text(KEY.hex())
    for n, source in enumerate(({"key_env": "SOME_KEY"}, {"key_file": str(tmp_path / "key")})):
        tasks = dask.encrypt_files(f"{files}/*.bin", str(tmp_path / f"sealed{n}"), compute=False, **source)
        sent = pickle.dumps([task.__dask_graph__() for task in tasks]) + repr(tasks).encode()
        assert KEY not in sent and KEY.hex().encode() not in sent
        library.compute(*tasks)
        assert len(contents(tmp_path / f"sealed{n}")) == 12
