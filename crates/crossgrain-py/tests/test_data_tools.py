"""Libraries that read and write encrypted objects by their addresses, on each kind of store."""

import numpy as np
import pytest

import crossgrain

fsspec = pytest.importorskip("fsspec")

from crossgrain.fsspec import EncryptedFileSystem  # noqa: E402

KEY = bytes(range(32))
#: A reader of some columns may fetch this many times the encrypted bytes of these columns and of the footer.
MOST = 1.1


def options(store):
    return {"crossgrain": {"key": KEY}, **store.options}


def over(store):
    return EncryptedFileSystem(fs=store.fs, skip_instance_cache=True, key=KEY)


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def frame(pandas):
    numbers = np.random.default_rng(1)
    return pandas.DataFrame({"n": np.arange(20000), "x": numbers.normal(size=20000), "text": [f"row {n}" for n in range(20000)]})


def damaged(store, name, read, place=-100_000):
    """Reading fails if a byte was flipped, if the end is missing, and if the object was replaced by the halves of two."""
    path = store.path(name)
    sealed = store.fs.cat_file(path)
    flipped = bytearray(sealed)
    flipped[max(place, -len(sealed) // 2)] ^= 1
    for changed in (bytes(flipped), sealed[: len(sealed) // 16400 * 16400], sealed[: 69 + (len(sealed) - 69) // 16400 * 16400 - 16384]):
        store.fs.pipe_file(path, changed)
        with pytest.raises(Exception) as raised:
            read()
        assert any(kind in f"{raised.value!r} {raised.value.__cause__!r}" for kind in ("Damaged", "Truncated", "chunk", "cut off")), raised.value
    store.fs.pipe_file(path, sealed)
    read()


def test_pandas_csv(store, pandas, frame):
    address = store.address("table.csv")
    frame.to_csv(address, index=False, storage_options=options(store))

    def read():
        return pandas.read_csv(address, storage_options=options(store))

    assert read()["text"].equals(frame["text"]) and np.array_equal(read()["n"], frame["n"])
    assert store.fs.cat_file(store.path("table.csv"), start=0, end=10) == b"crossgrain"
    chunks = pandas.read_csv(address, storage_options=options(store), chunksize=3000)
    assert sum(len(chunk) for chunk in chunks) == len(frame)
    frame.to_csv(address + ".gz", index=False, storage_options=options(store))
    assert pandas.read_csv(address + ".gz", storage_options=options(store))["n"].equals(frame["n"])
    damaged(store, "table.csv", read)


@pytest.mark.filterwarnings("ignore:.*nothing was written")
def test_pandas_that_fails_writes_nothing(store, pandas):
    class Unprintable:
        def __str__(self):
            raise RuntimeError

    table = pandas.DataFrame({"a": [1, Unprintable()]})
    with pytest.raises(RuntimeError):
        table.to_csv(store.address("table.csv"), storage_options=options(store))
    assert not store.fs.exists(store.path("table.csv"))


def test_pandas_parquet(store, pandas, frame):
    pytest.importorskip("pyarrow")
    address = store.address("table.parquet")
    frame.to_parquet(address, storage_options=options(store), row_group_size=5000)

    def read():
        return pandas.read_parquet(address, storage_options=options(store))

    assert read().equals(frame)
    assert pandas.read_parquet(address, storage_options=options(store), columns=["x"]).equals(frame[["x"]])
    damaged(store, "table.parquet", read)


# Columns of Parquet files


@pytest.fixture
def columns(s3):
    """A table of eight columns, and the length of a column's encrypted bytes with the footer."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fs, numbers = over(s3), np.random.default_rng(2)
    table = pa.table({f"c{n}": numbers.normal(size=400_000) for n in range(8)})
    path = s3.path("table.parquet")
    parquet.write_table(table, path, filesystem=fs, row_group_size=100_000)
    footer = parquet.read_metadata(path, filesystem=fs)
    groups = [footer.row_group(n) for n in range(footer.num_row_groups)]

    def needed(*names):
        plain = sum(group.column(int(name[1:])).total_compressed_size for group in groups for name in names) + footer.serialized_size
        return plain * 16400 / 16384

    s3.reads()
    return table, fs, path, needed


READERS = {
    "read_table": lambda path, fs, names: pytest.importorskip("pyarrow.parquet").read_table(path, filesystem=fs, columns=names),
    "read_table without buffer": lambda path, fs, names: pytest.importorskip("pyarrow.parquet").read_table(path, filesystem=fs, columns=names, pre_buffer=False),
    "dataset": lambda path, fs, names: pytest.importorskip("pyarrow.dataset").dataset(path, filesystem=fs).to_table(columns=names),
}


@pytest.mark.parametrize("names", [["c3"], ["c3", "c4"], ["c0", "c7"]], ids=" ".join)
@pytest.mark.parametrize("reader", READERS)
def test_pyarrow_fetches_the_columns_that_it_reads(s3, columns, reader, names):
    table, fs, path, needed = columns
    found = READERS[reader](path, fs, names)
    reads = s3.reads()
    assert found.equals(table.select(names))
    # The footer is read by guess: the last 64 KiB, and once more by a dataset.
    footers = (2 if reader == "dataset" else 1) * (65536 + 2 * 16400)
    assert sum(one.sent_bytes for one in reads) <= MOST * needed(*names) + footers
    assert all(one.range for one in reads) and len(reads) < 8 + 4 * len(names)


def test_one_column_costs_its_own_bytes(s3, columns):
    """The promise of the documentation: at most 1.1 times the encrypted bytes of the column, with everything else."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    _, fs, path, _ = columns
    table = pa.table({f"c{n}": np.random.default_rng(n).normal(size=1_000_000) for n in range(4)})
    parquet.write_table(table, path, filesystem=fs, row_group_size=250_000)
    footer = parquet.read_metadata(path, filesystem=fs)
    needed = sum(footer.row_group(n).column(2).total_compressed_size for n in range(footer.num_row_groups)) * 16400 / 16384
    s3.reads()
    assert parquet.read_table(path, filesystem=fs, columns=["c2"]).equals(table.select(["c2"]))
    ratio = sum(one.sent_bytes for one in s3.reads()) / needed
    print(f"one column of four: {ratio:.3f} times its encrypted bytes")
    assert 1 <= ratio <= MOST


def test_pyarrow_datasets(store):
    pa, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    fs = over(store)
    table = pa.table({"part": np.repeat(np.arange(4), 1000), "x": np.arange(4000.0)})
    dataset.write_dataset(table, store.path("parts"), filesystem=fs, format="parquet", partitioning=["part"])
    found = dataset.dataset(store.path("parts"), filesystem=fs, format="parquet", partitioning=["part"])
    assert found.to_table(filter=dataset.field("part") == 2).num_rows == 1000
    assert found.to_table(columns=["x"]).sort_by("x").column("x").equals(table.column("x"))
    assert all(store.fs.cat_file(name, start=0, end=10) == b"crossgrain" for name in store.fs.find(store.path("parts")))


def test_duckdb(store):
    duckdb = pytest.importorskip("duckdb")
    fs = over(store)
    with duckdb.connect() as database:
        database.register_filesystem(fs)
        for kind in ("parquet", "csv"):
            address = f"crossgrain://{store.path('table')}.{kind}"
            database.execute(f"copy (select range as n, range * 0.5 as x from range(50000)) to '{address}' (format {kind})")
            assert database.sql(f"select count(*), sum(n), sum(x) from '{address}'").fetchall() == [(50000, 1249975000, 624987500.0)]
            assert store.fs.cat_file(f"{store.path('table')}.{kind}", start=0, end=10) == b"crossgrain"
        assert database.sql(f"select count(*) from '{address.replace('table', '*')}'").fetchall() == [(50000,)]
        with pytest.raises(duckdb.Error):
            database.execute(f"copy (select error('no') from range(50000)) to 'crossgrain://{store.path('none')}.csv'")
        assert not store.fs.exists(store.path("none.csv"))
        damaged(store, "table.parquet", lambda: database.sql(f"select sum(x) from 'crossgrain://{store.path('table.parquet')}'").fetchall())


def test_duckdb_fetches_the_columns_that_it_reads(s3, columns):
    duckdb = pytest.importorskip("duckdb")
    table, fs, path, needed = columns
    with duckdb.connect() as database:
        database.register_filesystem(fs)
        ((found,),) = database.sql(f"select sum(c3) from 'crossgrain://{path}'").fetchall()
    assert found == pytest.approx(np.sum(table["c3"].to_numpy()))
    assert sum(one.sent_bytes for one in s3.reads()) <= MOST * needed("c3") + 2 * 65536


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_dask_dataframes(store, pandas, frame):
    dataframe = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    parts = dataframe.from_pandas(frame, npartitions=4)
    parts.to_parquet(store.address("parts"), storage_options=options(store))
    found = dataframe.read_parquet(store.address("parts"), storage_options=options(store), columns=["n", "x"])
    assert found.compute().equals(frame[["n", "x"]])
    parts.to_csv(store.address("table-*.csv"), index=False, storage_options=options(store))
    found = dataframe.read_csv(store.address("table-*.csv"), storage_options=options(store), blocksize=50_000)
    assert found.npartitions > 8 and np.array_equal(found["n"].compute(), frame["n"])
    name = store.fs.glob(store.path("table-*.csv"))[0].rpartition("/")[2]
    damaged(store, name, lambda: found.compute(), place=-40_000)


def test_xarray(store):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    numbers = np.random.default_rng(3)
    data = xarray.Dataset({"t": (("time", "x"), numbers.normal(size=(60, 40)))}, coords={"time": np.arange(60)}, attrs={"from": "here"})
    address, given = store.address("data.zarr"), {**options(store), "file": {"auto_mkdir": True}}
    data.to_zarr(address, storage_options=given, zarr_format=3, consolidated=False, encoding={"t": {"chunks": (20, 20)}})

    def read():
        return xarray.open_zarr(address, storage_options=given, consolidated=False, chunks=None).load()

    assert read().identical(data)
    assert all(store.fs.cat_file(name, start=0, end=10) == b"crossgrain" for name in store.fs.find(store.path("data.zarr")))
    damaged(store, "data.zarr/t/c/0/0", read, place=-10)
    with pytest.raises((crossgrain.WrongKey, FileNotFoundError)):
        xarray.open_zarr(address, storage_options={**given, "crossgrain": {"key": bytes(32)}}, consolidated=False).load()
