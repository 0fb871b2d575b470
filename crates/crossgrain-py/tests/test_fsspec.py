"""The file system of encrypted objects: contents and ranges, changed objects, aborted writes, keys, requests."""

import gzip
import hashlib
import io
import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crossgrain

fsspec = pytest.importorskip("fsspec")

from crossgrain.fsspec import EncryptedFileSystem  # noqa: E402

KEY = bytes(range(32))
CHUNK, SEALED, START = 16384, 16400, 69
DATA = b"".join(hashlib.sha256(bytes([n % 256, n // 256])).digest() for n in range(3 * CHUNK // 32 + 10))


def over(store, **options):
    return EncryptedFileSystem(fs=store.fs, skip_instance_cache=True, **{"key": KEY, **options})


def key_of_path(path):
    return hashlib.sha256(path.encode()).digest()


def refused(fs, path, kind=crossgrain.Error, starts=(0,)):
    """Every way of reading an object is refused, and ranges that begin at these places and end where it seems to end."""
    with pytest.raises(kind) as raised:
        fs.cat_file(path)
    assert path in str(raised.value)
    with pytest.raises(kind), fs.open(path, "rb") as file:
        file.read()
    with pytest.raises(kind), fs.open(path, "rb") as file:
        while file.read(1000):
            pass
    size = fs.info(path)["size"]
    if size is not None:
        for start in starts:
            with pytest.raises(kind):
                fs.cat_file(path, start if start >= 0 else max(size + start, 0), size)
    (found,) = fs.cat_ranges([path], [0], [None])
    assert isinstance(found, kind)


# Contents


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, len(DATA)])
def test_objects_are_files_of_the_program(store, size, tmp_path):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA[:size])
    with crossgrain.open(io.BytesIO(store.fs.cat_file(path)), key=KEY) as file:
        assert file.read() == DATA[:size]
    with fs.open(path, "wb", block_size=1000) as file:
        file.write(DATA[: size // 2])
        file.write(DATA[size // 2 : size])
    assert fs.cat_file(path) == fs.open(path).read() == DATA[:size]
    assert fs.size(path) == fs.info(path)["size"] == fs.open(path).size == size
    assert store.fs.size(path) == fs.info(path)["encrypted_size"] == START + size + 16 * (size // CHUNK + 1)
    fs.get(path, str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == DATA[:size]


BOUNDS = st.one_of(st.none(), st.integers(-len(DATA) - 9, len(DATA) + 40000), st.sampled_from([0, CHUNK, 2 * CHUNK, 3 * CHUNK, len(DATA)]))


def test_ranges_are_slices(store):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)

    @settings(max_examples=20 if store.kind == "s3" else 100)
    @given(st.lists(st.tuples(BOUNDS, BOUNDS), min_size=1, max_size=4))
    def check(ranges):
        want = [DATA[start:end] for start, end in ranges]
        assert fs.cat_ranges([path] * len(ranges), *map(list, zip(*ranges))) == want
        assert fs.cat_file(path, *ranges[0]) == want[0]

    check()


def test_files_seek(store):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    steps = st.tuples(st.integers(0, len(DATA) + 10), st.integers(-1, 40000))

    @settings(max_examples=20 if store.kind == "s3" else 100)
    @given(st.lists(steps, max_size=12), st.sampled_from([1000, 1 << 17, 1 << 22]))
    def check(steps, block_size):
        with fs.open(path, "rb", block_size=block_size) as file, io.BytesIO(DATA) as want:
            for place, count in steps:
                if place % 3 == 0:
                    assert file.seek(place) == want.seek(place)
                assert file.read(count) == want.read(count)

    check()


@pytest.mark.parametrize("cache", ["none", "readahead", "bytes", "blockcache", "first", "all", "background"])
def test_files_take_the_caches_of_fsspec(store, cache):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    with fs.open(path, "rb", cache_type=cache, block_size=CHUNK) as file:
        file.seek(20000)
        assert file.read(20000) == DATA[20000:40000]
        assert file.read() == DATA[40000:]


def test_text_and_compression(store):
    fs, path = over(store), store.path("lines")
    lines = [f"line {n} é\n" for n in range(30000)]
    with fs.open(path, "wt", encoding="utf-8") as file:
        file.writelines(lines)
    with fs.open(path, "rt", encoding="utf-8") as file:
        assert list(file) == lines
    with fs.open(path, "rb") as file:
        assert [file.readline().decode() for _ in lines] == lines and file.readline() == b""
        file.seek(0)
        assert file.readline(4) == b"line" and file.readline() == " 0 é\n".encode()
    with fs.open(path + ".gz", "wt", compression="infer", encoding="utf-8") as file:
        file.writelines(lines)
    assert gzip.decompress(fs.cat_file(path + ".gz")).decode() == "".join(lines)
    with fsspec.open(store.address("more.gz"), "wt", compression="gzip", encoding="utf-8", crossgrain={"key": KEY}, **store.options) as file:
        file.writelines(lines)
    with fsspec.open(store.address("more.gz"), "rt", compression="gzip", encoding="utf-8", crossgrain={"key": KEY}, **store.options) as file:
        assert list(file) == lines


def test_listings_have_plain_lengths(store):
    fs = over(store)
    for name, size in (("a", 5), ("folder/b", CHUNK), ("folder/c", 0)):
        fs.makedirs(store.path(name).rpartition("/")[0], exist_ok=True)
        fs.pipe_file(store.path(name), DATA[:size])
    store.fs.pipe_file(store.path("none"), b"no encrypted file")
    found = {info["name"]: info["size"] for info in fs.ls(store.path("folder"))}
    assert found == {store.path("folder/b"): CHUNK, store.path("folder/c"): 0}
    assert {path: info["size"] for path, info in fs.find(store.folder, detail=True).items()} == {**found, store.path("a"): 5, store.path("none"): None}
    assert fs.find(store.path("folder")) == sorted(found) == fs.glob(store.path("folder/*")) == fs.ls(store.path("folder"), detail=False)
    assert fs.glob(store.path("**/b"), detail=True)[store.path("folder/b")]["size"] == CHUNK
    assert fs.du(store.path("folder")) == CHUNK and fs.du(store.folder) == CHUNK + 5 and fs.isdir(store.path("folder")) and fs.isfile(store.path("a"))
    assert fs.cat([store.path("a"), store.path("folder/b")]) == {store.path("a"): DATA[:5], store.path("folder/b"): DATA[:CHUNK]}
    assert set(fs.cat(store.folder, recursive=True, on_error="omit")) == {store.path("a"), *found}
    assert isinstance(fs.cat(store.folder, recursive=True, on_error="return")[store.path("none")], crossgrain.Error)
    with pytest.raises(crossgrain.Truncated, match="none"):
        fs.open(store.path("none"))
    with pytest.raises(FileNotFoundError):
        fs.open(store.path("missing"))
    with pytest.raises(FileNotFoundError):
        fs.cat_file(store.path("missing"))
    before = fs.ukey(store.path("a"))
    fs.mv(store.path("a"), store.path("d"))
    assert not fs.exists(store.path("a")) and fs.cat_file(store.path("d")) == DATA[:5] and fs.head(store.path("d"), 2) == DATA[:2]
    fs.cp_file(store.path("d"), store.path("e"))
    assert fs.cat_file(store.path("e")) == DATA[:5] == fs.tail(store.path("e"), 5)
    fs.pipe({store.path("e"): b"1", store.path("f"): b"22"})
    assert fs.sizes([store.path("e"), store.path("f")]) == [1, 2] and fs.modified(store.path("f"))
    fs.touch(store.path("f"))
    assert fs.size(store.path("f")) == 0
    fs.pipe_file(store.path("a"), b"other")
    assert fs.ukey(store.path("a")) != before
    fs.rm(store.path("folder"), recursive=True)
    assert not fs.exists(store.path("folder/b"))


def test_addresses_are_chained(store):
    options = {"crossgrain": {"key": KEY}, **store.options}
    with fsspec.open(store.address("object"), "wb", **options) as file:
        file.write(DATA)
    fs, path = fsspec.url_to_fs(store.address("object"), **options)
    assert isinstance(fs, EncryptedFileSystem) and path == store.path("object") and fs.cat_file(store.address("object")) == DATA
    assert fs.cat_file(fs.unstrip_protocol(path)) == DATA and fs.unstrip_protocol(path).startswith("crossgrain://")
    (file,) = fsspec.open_files(store.address("*"), **options)
    with file as opened:
        assert opened.read() == DATA


# Changed objects


def test_a_flipped_byte_is_refused(store):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    sealed = store.fs.cat_file(path)
    for place in (0, 10, 11, 12, 13, 40, START, START + SEALED - 1, START + SEALED, len(sealed) - 20, len(sealed) - 1):
        changed = bytearray(sealed)
        changed[place] ^= 4
        store.fs.pipe_file(path, bytes(changed))
        with pytest.raises((crossgrain.Damaged, crossgrain.WrongKey, crossgrain.Error)):
            fs.cat_file(path)
        with pytest.raises(crossgrain.Error), fs.open(path) as file:
            file.read()
    changed = bytearray(sealed)
    changed[START + SEALED] ^= 1
    store.fs.pipe_file(path, bytes(changed))
    assert fs.cat_file(path, 0, CHUNK) == DATA[:CHUNK]
    with pytest.raises(crossgrain.Damaged):
        fs.cat_file(path, CHUNK, CHUNK + 1)


@pytest.mark.parametrize("size", [0, 5, CHUNK, 3 * CHUNK, len(DATA)])
def test_a_truncated_object_is_refused(store, size):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA[:size])
    sealed = store.fs.cat_file(path)
    places = {0, 1, 12, 13, START - 1, START, START + 1, START + 15, START + 16, START + 17, len(sealed) - 17, len(sealed) - 16, len(sealed) - 1}
    places |= {START + n * SEALED + more for n in range(1, 4) for more in (-17, -16, -1, 0, 1, 15, 16, 17)}
    for place in sorted(place for place in places if place < len(sealed))[:: 3 if store.kind == "s3" else 1]:
        store.fs.pipe_file(path, sealed[:place])
        refused(fs, path, crossgrain.Damaged, starts=(0, -5))
    for more in (1, 16, SEALED):
        store.fs.pipe_file(path, sealed + bytes(more))
        refused(fs, path, starts=(0, -5))


def test_the_reported_end_is_verified(store):
    """An object cut so that its last chunk seems to be empty: what is left is authentic, and only its end is not."""
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    sealed = store.fs.cat_file(path)
    store.fs.pipe_file(path, sealed[: START + 2 * SEALED + 16])
    assert fs.size(path) == 2 * CHUNK
    for read in (lambda: fs.cat_file(path, 0, 2 * CHUNK), lambda: fs.cat_file(path, CHUNK, 2 * CHUNK), lambda: fs.open(path).read(), lambda: fs.tail(path, 10)):
        with pytest.raises(crossgrain.Damaged):
            read()
    for start in (2 * CHUNK, 3 * CHUNK, len(DATA) + CHUNK):
        with pytest.raises(crossgrain.Damaged):
            fs.cat_file(path, start, start + 5)
    store.fs.pipe_file(path, sealed[: START + 16])
    assert fs.size(path) == 0
    with pytest.raises(crossgrain.Damaged):
        fs.open(path)


def test_swapped_chunks_are_refused(store):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    sealed = store.fs.cat_file(path)
    chunks = [sealed[at : at + SEALED] for at in range(START, len(sealed), SEALED)]
    store.fs.pipe_file(path, sealed[:START] + b"".join([chunks[1], chunks[0], *chunks[2:]]))
    refused(fs, path, crossgrain.Damaged)
    fs.pipe_file(store.path("other"), DATA)
    other = store.fs.cat_file(store.path("other"))
    store.fs.pipe_file(path, other[: START + SEALED] + sealed[START + SEALED :])
    refused(fs, path, crossgrain.Damaged)
    store.fs.pipe_file(path, sealed)
    refused(over(store, key=bytes(32)), path, crossgrain.WrongKey)
    refused(over(store, key=None, passphrase="words"), path, crossgrain.WrongKey)


# Writing


def nothing(store):
    """No object and no unfinished upload is left."""
    if store.kind == "s3":
        assert "Uploads" not in store.fs.call_s3("list_multipart_uploads", Bucket=store.folder)
    return store.fs.find(store.folder) == []


class Broken(Exception):
    pass


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("mode", ["wb", "xb", "wt"])
def test_an_aborted_write_leaves_nothing(store, mode, big):
    fs, path = over(store), store.path("object")
    data = (DATA * 300)[: 14 << 20] if big else DATA  # several parts of an upload
    data = data.hex()[: len(data)] if mode == "wt" else data
    with pytest.raises(Broken), fs.open(path, mode) as file:
        file.write(data)
        raise Broken
    assert nothing(store)
    with pytest.warns(UserWarning, match="nothing was written"), pytest.raises(Broken):
        file = fs.open(path, mode)
        try:
            file.write(data)
            raise Broken
        finally:
            file.close()
    assert nothing(store)
    with pytest.warns(UserWarning, match="nothing was written"), pytest.raises(Broken):
        with fsspec.open(store.address("object"), mode, crossgrain={"key": KEY}, **store.options) as file:
            file.write(data)
            raise Broken
    assert nothing(store)
    if mode != "wt":
        file = fs.open(path, mode)
        file.write(data)
        with pytest.warns(ResourceWarning, match="not closed"):
            del file
        assert nothing(store)


def test_a_file_may_be_written_while_an_exception_is_handled(store):
    fs, path = over(store), store.path("object")
    try:
        raise Broken
    except Broken:
        with fs.open(path, "wb") as file:
            file.write(DATA)
    assert fs.cat_file(path) == DATA


def test_an_existing_object_stays_until_the_new_one_is_complete(store):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, b"old")
    with pytest.raises(Broken), fs.open(path, "wb") as file:
        file.write(DATA)
        raise Broken
    assert fs.cat_file(path) == b"old"
    with fs.open(path, "wb") as file:
        file.write(DATA)
        assert fs.cat_file(path) == b"old"
    assert fs.cat_file(path) == DATA
    with pytest.raises(FileExistsError):
        fs.open(path, "xb")
    with pytest.raises(FileExistsError):
        fs.pipe_file(path, b"", mode="create")
    for mode in ("ab", "r+b"):
        with pytest.raises(ValueError, match="written anew"):
            fs.open(path, mode)
    with pytest.raises(crossgrain.Error, match="suite"):
        over(store, suite="none").open(path, "wb")
    assert fs.cat_file(path) == DATA


def test_transactions(store):
    fs = over(store)
    with pytest.raises(Broken), fs.transaction:
        with fs.open(store.path("a"), "wb") as file:
            file.write(DATA)
        raise Broken
    assert nothing(store)
    with fs.transaction:
        with fs.open(store.path("a"), "wb") as file:
            file.write(DATA)
        fs.pipe_file(store.path("b"), DATA)
        assert not fs.exists(store.path("b")) and not fs.exists(store.path("a"))
    assert fs.cat_file(store.path("a")) == DATA == fs.cat_file(store.path("b"))


def test_a_store_that_fails_leaves_nothing(tmp_path, monkeypatch):
    """Stores without uploads in parts: the object gets its name when it is complete."""
    below = fsspec.filesystem("dir", path=str(tmp_path), target_protocol="file", skip_instance_cache=True)
    fs = EncryptedFileSystem(fs=below, key=KEY, skip_instance_cache=True)
    with fs.open("object", "wb") as file:
        file.write(DATA)
        file.flush()
    assert fs.cat_file("object") == DATA and [path.name for path in tmp_path.iterdir()] == ["object"]
    with pytest.raises(FileExistsError):
        fs.open("object", "xb")
    with pytest.raises(Broken), fs.open("other", "wb") as file:
        file.write(DATA)
        raise Broken

    def broken(*_, **__):
        raise Broken

    monkeypatch.setattr(below, "mv", broken)
    with pytest.raises(Broken), fs.open("object", "wb") as file:
        file.write(b"new")
    assert fs.cat_file("object") == DATA and [path.name for path in tmp_path.iterdir()] == ["object"]


def test_a_decrypted_file_appears_when_it_is_authentic(store, tmp_path):
    fs, path, target = over(store), store.path("object"), tmp_path / "target"
    fs.pipe_file(path, DATA)
    fs.get(path, str(target))
    assert target.read_bytes() == DATA and target.stat().st_mode & 0o77 == 0
    target.unlink()
    store.fs.pipe_file(path, store.fs.cat_file(path)[:-20])
    with pytest.raises(crossgrain.Damaged):
        fs.get(path, str(target))
    assert {one.name for one in tmp_path.iterdir()} <= {"object"}
    with pytest.raises(FileNotFoundError):
        fs.get(store.path("missing"), str(target))
    assert not target.exists()


# Keys


def test_sources_of_keys(store, tmp_path, monkeypatch):
    fs, path = over(store), store.path("object")
    fs.pipe_file(path, DATA)
    monkeypatch.setenv("SOME_KEY", KEY.hex() + "\n")
    (tmp_path / "hex").write_text(KEY.hex() + "\n")
    (tmp_path / "raw").write_bytes(KEY)
    sources = [{"key_env": "SOME_KEY"}, {"key_file": tmp_path / "hex"}, {"key_file": str(tmp_path / "raw")}, {"key": lambda path: KEY}, {"key": bytearray(KEY)}]
    for source in sources:
        assert over(store, **{"key": None, **source}).cat_file(path, 5, 10) == DATA[5:10]
    with pytest.raises(crossgrain.Error, match="give key, key_file or key_env"):
        over(store, key=None).cat_file(path)
    monkeypatch.setenv("CROSSGRAIN_KEY", KEY.hex())
    assert over(store, key=None).cat_file(path) == DATA
    monkeypatch.setenv("CROSSGRAIN_KEY_FILE", str(tmp_path / "hex"))
    monkeypatch.setenv("CROSSGRAIN_KEY", "no hex")
    assert over(store, key=None).cat_file(path) == DATA
    monkeypatch.delenv("CROSSGRAIN_KEY_FILE")
    (tmp_path / "bad").write_text("no key")
    for source, match in (({}, "CROSSGRAIN_KEY holds no key"), ({"key_env": "MISSING"}, "MISSING is not set"), ({"key_file": tmp_path / "bad"}, "bad holds no key")):
        with pytest.raises(crossgrain.Error, match=match):
            over(store, **{"key": None, **source}).cat_file(path)
    with pytest.raises(FileNotFoundError):
        over(store, key=None, key_file=tmp_path / "missing").cat_file(path)
    with pytest.raises(crossgrain.Error, match="key has 5 bytes|key"):
        over(store, key=b"short").cat_file(path)
    with pytest.raises(crossgrain.Error, match="one source"):
        over(store, key_env="SOME_KEY")
    with pytest.raises(TypeError, match="bytes.fromhex"):
        over(store, key=KEY.hex())
    with pytest.raises(ValueError, match="give one of them"):
        EncryptedFileSystem(key=KEY)


def test_passphrases(store, tmp_path, monkeypatch):
    fs, path = over(store, key=None, passphrase="some words"), store.path("object")
    fs.pipe_file(path, DATA)
    assert fs.cat_file(path) == DATA == fs.open(path).read() and fs.size(path) == len(DATA)
    assert fs.cat_ranges([path, path], [5, CHUNK], [9, None]) == [DATA[5:9], DATA[CHUNK:]]
    (other,) = fs.ls(store.folder)
    assert other["size"] == len(DATA)
    (tmp_path / "words").write_text("some words\nmore\n")
    monkeypatch.setenv("WORDS", "some words")
    for source in ({"passphrase_file": tmp_path / "words"}, {"passphrase_env": "WORDS"}, {"passphrase": lambda path: b"some words"}):
        assert over(store, key=None, **source).cat_file(path, 0, 3) == DATA[:3]
    refused(over(store, key=None, passphrase="other words"), path, crossgrain.WrongKey)


def test_a_key_of_its_own_binds_an_object_to_its_path(store):
    fs, paths = over(store, key=key_of_path), [store.path(name) for name in ("a", "b", "c")]
    fs.pipe_file(paths[0], b"one")
    fs.cp_file(paths[0], paths[1])
    assert fs.cat_file(paths[1]) == b"one" and store.fs.cat_file(paths[0]) != store.fs.cat_file(paths[1])
    fs.mv(paths[1], paths[2])
    assert fs.cat_file(paths[2]) == b"one" and not fs.exists(paths[1])
    store.fs.pipe_file(paths[2], store.fs.cat_file(paths[0]))
    refused(fs, paths[2], crossgrain.WrongKey)


def test_keys_are_not_shown(tmp_path, monkeypatch):
    (tmp_path / "key").write_text(KEY.hex())
    monkeypatch.setenv("SOME_KEY", KEY.hex())
    forms = (KEY, KEY.hex().encode(), repr(KEY).encode(), b"secret words")
    for source in ({"key": key_of_path}, {"key_env": "SOME_KEY"}, {"key_file": str(tmp_path / "key")}):
        fs = EncryptedFileSystem("memory", **source)
        fs.pipe_file("/object", DATA)
        file = fs.open("/object")
        again = pickle.loads(pickle.dumps(fs))
        assert again.cat_file("/object") == DATA and again == fs
        reopened = pickle.loads(pickle.dumps(file))
        assert reopened.read(5) == DATA[:5]
        for shown in (pickle.dumps(fs), pickle.dumps(file)):
            assert not any(form in shown for form in forms)
    for source in ({"key": KEY}, {"passphrase": "secret words"}):
        fs = EncryptedFileSystem("memory", **source)
        assert pickle.loads(pickle.dumps(fs)).secrets.of("") == fs.secrets.of("")
        for shown in (repr(fs), str(fs), repr(fs.secrets), fs.to_json(include_password=False), str(fs.__dask_tokenize__()), str(fs.__dict__["secrets"])):
            assert not any(form in shown.encode() for form in forms)
    assert json.loads(EncryptedFileSystem("memory", key_env="SOME_KEY").to_json())["key_env"] == "SOME_KEY"


def test_another_process_opens_the_same_address(tmp_path):
    fs = EncryptedFileSystem("file", key=KEY)
    fs.pipe_file(str(tmp_path / "object"), DATA)
    code = "import pickle, sys; sys.stdout.buffer.write(pickle.load(sys.stdin.buffer).cat_file(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "object")], input=pickle.dumps(fs), capture_output=True, cwd=tmp_path)
    assert done.stdout == DATA, done.stderr


# Requests


def test_reads_fetch_the_chunks_that_they_need(s3):
    fs, path = over(s3), s3.path("object")
    data = (DATA * 200)[: 8 << 20]
    fs.pipe_file(path, data)
    s3.reads()
    assert fs.cat_file(path, 5 << 20, (5 << 20) + 1) == data[5 << 20 : (5 << 20) + 1]
    assert [one.sent_bytes for one in s3.reads()] in ([START, SEALED], [SEALED, START])
    assert fs.cat_file(path, 1, 2) == data[1:2]
    assert [one.sent_bytes for one in s3.reads()] == [START + SEALED]
    with fs.open(path) as file:
        file.seek(3 << 20)
        file.read(100)
        file.seek(6 << 20)
        file.read(100)
        assert sum(one.sent_bytes for one in s3.reads()) == START + 2 * (SEALED + 17)
    fs.cat_ranges([path] * 3, [1 << 20, 2 << 20, 3 << 20], [(1 << 20) + 5, (2 << 20) + 5, (3 << 20) + 5])
    assert len(s3.reads()) == 4
    with fs.open(path) as file:
        while file.read(1000):
            pass
    reads = s3.reads()
    # 8 MiB by reads of 1000 bytes: read-ahead doubles up to 4 MiB. Each byte is fetched once.
    assert len(reads) < 20 and sum(one.sent_bytes for one in reads) < 1.01 * len(data)


def test_long_objects_need_little_memory(tmp_path):
    import tracemalloc

    fs, path, block = EncryptedFileSystem("file", key=KEY, skip_instance_cache=True), str(tmp_path / "object"), bytes(1 << 20)
    tracemalloc.start()
    try:
        with fs.open(path, "wb") as file:
            for _ in range(64):
                file.write(block)
        with fs.open(path) as file:
            while file.read(100_000):
                pass
            file.seek(30 << 20)
            assert file.read(10) == bytes(10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20, f"{peak} bytes for an object of 64 MiB"


def test_small_objects_are_written_by_one_request(s3):
    fs = over(s3)
    fs.pipe_file(s3.path("first"), b"")  # s3fs looks at the bucket
    s3.server.requests.clear()
    with fs.open(s3.path("object"), "wb") as file:
        file.write(DATA)
    assert [one.method for one in s3.server.requests] == ["PUT"]


def test_listings_read_no_object(s3):
    fs = over(s3)
    fs.pipe({s3.path(f"folder/{n}"): DATA for n in range(20)})
    s3.reads()
    fs.invalidate_cache()
    assert sum(info["size"] for info in fs.ls(s3.path("folder"))) == 20 * len(DATA) and fs.du(s3.folder) == 20 * len(DATA)
    assert s3.reads() == []
    words = over(s3, key=None, passphrase="words")
    words.pipe_file(s3.path("words/a"), DATA)
    s3.reads()
    assert words.ls(s3.path("words"))[0]["size"] == len(DATA)
    assert [one.sent_bytes for one in s3.reads()] == [4]


def test_another_process_finds_the_protocol(tmp_path):
    from importlib import metadata

    if not any(point.name == "crossgrain" for point in metadata.entry_points(group="fsspec.specs")):
        pytest.skip("fsspec's list of protocols (the package was copied, not installed)")
    done = subprocess.run([sys.executable, "-c", "import fsspec; print(fsspec.get_filesystem_class('crossgrain'))"], capture_output=True, text=True, cwd=tmp_path)
    assert "EncryptedFileSystem" in done.stdout, done.stderr
