"""The Zarr codec: contents, and chunks that were changed, moved or exchanged."""

import asyncio
import hmac
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crossgrain

zarr = pytest.importorskip("zarr", minversion="3")

from crossgrain.zarr import EncryptedCodec, set_key  # noqa: E402
from zarr.codecs import BloscCodec, BytesCodec, ShardingCodec, VLenUTF8Codec  # noqa: E402

KEY = bytes(range(32))
DATA = np.random.default_rng(4).integers(0, 1000, (45, 35)).astype("i4")


@pytest.fixture(autouse=True)
def no_key_is_left():
    yield
    set_key()


def created(below, name="a", codec=None, data=DATA, chunks=(20, 15), **options):
    codec = EncryptedCodec(key=KEY) if codec is None else codec
    array = zarr.create_array(below, name=name, shape=data.shape, chunks=chunks, dtype=data.dtype, serializer=codec, compressors=None, **options)
    array[...] = data
    return array


def opened(below, name="a", **options):
    set_key(**(options or {"key": KEY}))
    return zarr.open_array(below, path=name, mode="r")


def content(below, name):
    return asyncio.run(below.get(name, zarr.core.buffer.default_buffer_prototype())).to_bytes()


def put(below, name, data):
    asyncio.run(below.set(name, zarr.core.buffer.default_buffer_prototype().buffer.from_bytes(data)))


@pytest.mark.parametrize("kind", ["memory", "file", "s3", "crossgrain"])
def test_arrays_come_back(kind, tmp_path, request):
    if kind == "s3":
        s3 = request.getfixturevalue("s3")
        below = zarr.storage.FsspecStore.from_url(f"s3://{s3.folder}/arrays", storage_options=s3.server.options)
    elif kind == "crossgrain":
        pytest.importorskip("fsspec")
        below = zarr.storage.FsspecStore.from_url("crossgrain::memory://arrays", storage_options={"key": KEY})
    else:
        below = zarr.storage.MemoryStore() if kind == "memory" else zarr.storage.LocalStore(tmp_path / "arrays")
    array = created(below)
    assert np.array_equal(array[:], DATA) and np.array_equal(opened(below)[:], DATA)
    array[5:40, 7] = 1
    assert np.array_equal(opened(below)[5:40, 7], np.ones(35))
    array.resize((50, 35))
    assert np.array_equal(opened(below)[48], np.zeros(35))


CODECS = {
    "default": lambda: None,
    "bytes": lambda: [BytesCodec()],
    "blosc": lambda: [BytesCodec(), BloscCodec()],
    "shards": lambda: [ShardingCodec(chunk_shape=(5, 5))],
    "dictionaries": lambda: [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 1}}],
}


@pytest.mark.parametrize("codecs", CODECS)
def test_selections_are_those_of_numpy(codecs):
    below, want = zarr.storage.MemoryStore(), DATA.copy()
    array = created(below, codec=EncryptedCodec(CODECS[codecs](), key=KEY))
    slices = st.tuples(*(st.one_of(st.integers(0, size - 1), st.slices(size).filter(lambda one: one.step is None or one.step > 0)) for size in DATA.shape))
    lists = st.tuples(*(st.lists(st.integers(0, size - 1), min_size=1, max_size=5, unique=True).map(sorted) for size in DATA.shape))

    @settings(max_examples=15)
    @given(slices, lists, st.integers(0, 1000))
    def check(basic, some, value):
        assert np.array_equal(array[basic], want[basic])
        assert np.array_equal(array.oindex[some], want[np.ix_(*some)])
        count = min(map(len, some))
        points = tuple(one[:count] for one in some)
        assert np.array_equal(array.vindex[points], want[points])
        array[basic] = value
        want[basic] = value
        array.oindex[some[0], 3] = np.arange(len(some[0]))
        want[some[0], 3] = np.arange(len(some[0]))
        array.vindex[points] = value + np.arange(count)
        want[points] = value + np.arange(count)
        assert np.array_equal(array[:], want)

    check()
    assert np.array_equal(opened(below)[:], want)


@pytest.mark.parametrize("encoding", [{"name": "default", "separator": "/"}, {"name": "default", "separator": "."}, {"name": "v2", "separator": "/"}, {"name": "v2", "separator": "."}])
@pytest.mark.parametrize("shape", [(), (9,), (5, 6), (3, 4, 5)])
def test_names_and_shapes_of_chunks(shape, encoding):
    below, data = zarr.storage.MemoryStore(), np.arange(int(np.prod(shape))).reshape(shape) + 1
    created(below, "7/5", data=data, chunks=tuple(2 for _ in shape), chunk_key_encoding=encoding)
    assert np.array_equal(opened(below, "7/5")[...], data)


def test_chunks_are_encrypted_files_under_their_own_keys():
    below = zarr.storage.MemoryStore()
    created(below, codec=EncryptedCodec([BytesCodec()], key=KEY))
    array = opened(below).metadata.codecs[0].array
    info = b"crossgrain zarr chunk v1\0" + bytes.fromhex(array) + b"1/2\1"
    with crossgrain.open(io.BytesIO(content(below, "a/c/1/2")), key=hmac.digest(KEY, info, "sha256")) as file:
        chunk = np.frombuffer(file.read(), "<i4").reshape(20, 15)
    assert np.array_equal(chunk[:, :5], DATA[20:40, 30:])
    created(below, "short", codec=EncryptedCodec([BytesCodec()], key=KEY[:16], suite="aes-128-gcm"))
    assert np.array_equal(opened(below, "short", key=KEY[:16])[:], DATA)


@pytest.mark.parametrize("codecs", ["bytes", "shards"])
def test_changed_chunks_are_refused(codecs):
    below, codec = zarr.storage.MemoryStore(), EncryptedCodec(CODECS[codecs](), key=KEY)
    for name in "ab":
        created(below, name, codec=codec)
    array, chunks = opened(below), {place: content(below, f"a/c/{place}") for place in ("0/0", "0/1", "1/0")}

    def is_refused(read=lambda: array[:20, :15], error=crossgrain.Forged):
        with pytest.raises(error) as raised:
            read()
        assert "a/c/0/" in str(raised.value)
        put(below, "a/c/0/0", chunks["0/0"])
        assert np.array_equal(array[:], DATA)

    for place in ("0/1", "1/0"):
        put(below, "a/c/0/0", chunks[place])
        is_refused()
        put(below, "a/c/0/0", chunks[place])
        is_refused(lambda: array[3, 3])
    put(below, "a/c/0/0", content(below, "b/c/0/0"))
    is_refused()
    for place in (0, 11, 20, 60, 69, 100, len(chunks["0/0"]) - 1):
        changed = bytearray(chunks["0/0"])
        changed[place] ^= 1
        put(below, "a/c/0/0", bytes(changed))
        is_refused(error=crossgrain.Error)
    for length in (0, 30, 69, 85, len(chunks["0/0"]) - 16, len(chunks["0/0"]) - 1):
        put(below, "a/c/0/0", chunks["0/0"][:length])
        is_refused(error=crossgrain.Damaged)


def test_arrays_may_be_renamed_and_chunks_removed(tmp_path):
    created(zarr.storage.LocalStore(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    assert np.array_equal(opened(zarr.storage.LocalStore(tmp_path), "b")[:], DATA)
    assert np.array_equal(opened(zarr.storage.LocalStore(tmp_path / "b"), "")[:], DATA)
    (tmp_path / "b/c/0/0").unlink()
    assert not opened(zarr.storage.LocalStore(tmp_path), "b")[:20, :15].any()  # as documented


def test_empty_chunks_are_not_written():
    below, data = zarr.storage.MemoryStore(), np.zeros((4, 4))
    data[3, 3] = 1
    created(below, data=data, chunks=(2, 2))
    assert [name for name in below._store_dict if "/c/" in name] == ["a/c/1/1"]
    assert np.array_equal(opened(below)[:], data)
    array = created(below, "b", data=data, chunks=(2, 2), config={"write_empty_chunks": True}, fill_value=5)
    assert len([name for name in below._store_dict if "b/c/" in name]) == 4
    array[:] = 5
    assert np.array_equal(opened(below, "b")[:], np.full((4, 4), 5))


@pytest.mark.filterwarnings("ignore:The data type")
def test_text():
    below, data = zarr.storage.MemoryStore(), np.array(["one", "two", "ünïcode", ""] * 5)
    created(below, data=data, chunks=(3,))
    assert np.array_equal(opened(below)[:], data)
    # Zarr accepts text of any length with its own serializer only.
    with pytest.raises(ValueError, match="VLenUTF8Codec"):
        zarr.create_array(below, name="b", shape=(20,), dtype="string", serializer=EncryptedCodec([VLenUTF8Codec()], key=KEY), compressors=None)


def test_arrays_of_one_codec_have_their_own_identities():
    below, codec = zarr.storage.MemoryStore(), EncryptedCodec(key=KEY)
    first, second = created(below, "a", codec=codec), created(below, "b", codec=codec)
    assert first.metadata.codecs[0].array != second.metadata.codecs[0].array
    assert KEY.hex() not in content(below, "a/zarr.json").decode()
    with pytest.raises(crossgrain.Error, match="32 hex digits"):
        EncryptedCodec(key=KEY, array="none")


def test_sources_of_keys(monkeypatch, tmp_path):
    below = zarr.storage.MemoryStore()
    created(below)
    (tmp_path / "key").write_text(KEY.hex())
    monkeypatch.setenv("SOME_KEY", KEY.hex())
    for source in ({"key_file": tmp_path / "key"}, {"key_env": "SOME_KEY"}, {"key": lambda array: KEY}):
        assert np.array_equal(opened(below, **source)[:], DATA)
        created(zarr.storage.MemoryStore(), codec=EncryptedCodec(**source))
    set_key()
    with pytest.raises(crossgrain.Error, match="there is no key"):
        zarr.open_array(below, path="a")[:]
    with pytest.raises(crossgrain.Error, match="there is no key"):
        created(zarr.storage.MemoryStore(), codec=EncryptedCodec())
    monkeypatch.setenv("CROSSGRAIN_KEY", KEY.hex())
    assert np.array_equal(zarr.open_array(below, path="a")[:], DATA)
    with pytest.raises(crossgrain.WrongKey, match="not that of the array"):
        opened(below, key=bytes(32))[:]
    with pytest.raises(crossgrain.Error, match="it needs 16 or 32"):
        created(zarr.storage.MemoryStore(), codec=EncryptedCodec(key=bytes(40)))


def test_the_codec_must_be_alone():
    for codec, options in ((EncryptedCodec(key=KEY), {}), (ShardingCodec(chunk_shape=(10, 10), codecs=[EncryptedCodec(key=KEY)]), {"compressors": None})):
        array = zarr.create_array({}, shape=(40, 40), chunks=(20, 20), dtype="i4", serializer=codec, **options)
        with pytest.raises(crossgrain.Error, match="compressors=None"):
            array[:] = 1


def test_pickled_arrays_keep_the_source_of_the_key(tmp_path):
    created(zarr.storage.LocalStore(tmp_path))
    (tmp_path / "key").write_text(KEY.hex())
    array = opened(zarr.storage.LocalStore(tmp_path), key_file=str(tmp_path / "key"))
    sent = pickle.dumps(array)
    assert KEY not in sent and KEY.hex().encode() not in sent
    set_key()
    assert np.array_equal(pickle.loads(sent)[:], DATA)


def test_dask_reads_and_writes_arrays(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setenv("CROSSGRAIN_KEY", KEY.hex())
    array = created(zarr.storage.LocalStore(tmp_path), codec=EncryptedCodec())
    set_key()
    da.from_array(DATA + 1, chunks=(20, 15)).store(array, lock=False)
    assert np.array_equal(da.from_zarr(zarr.open_array(tmp_path, path="a")).compute(), DATA + 1)


def test_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"t": (("y", "x"), DATA.astype("f8"))}, coords={"x": np.arange(35.0)})
    encoding = {name: {"serializer": EncryptedCodec(key=KEY), "compressors": None} for name in ("t", "x")}
    data.to_zarr(tmp_path / "data", zarr_format=3, consolidated=False, encoding=encoding)
    set_key(key=KEY)
    assert xarray.open_zarr(tmp_path / "data", consolidated=False, chunks=None).load().identical(data)
    assert (tmp_path / "data/t/c/0/0").read_bytes().startswith(b"crossgrain")


def test_a_part_of_a_shard_fetches_its_chunks(s3):
    below = zarr.storage.FsspecStore.from_url(f"s3://{s3.folder}/arrays", storage_options=s3.server.options)
    data = np.random.default_rng(5).normal(size=(1000, 1000))
    created(below, codec=EncryptedCodec([ShardingCodec(chunk_shape=(100, 100))], key=KEY), data=data, chunks=(1000, 1000))
    array = opened(below)
    s3.reads()
    assert np.array_equal(array[250:260, 250:260], data[250:260, 250:260])
    # A shard has 8 MB. The inner chunk has 80 kB, that is up to six chunks of a file; the index up to two.
    reads = s3.reads()
    assert sum(one.sent_bytes for one in reads) <= 8 * 16400 + 2 * (69 + 17), reads
