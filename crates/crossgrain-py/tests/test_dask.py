"""Dask arrays whose numbers do not depend on their chunks."""

import numpy as np
import pytest

from crossgrain.random import AESCounter, SerpentCounter

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("cls", [AESCounter, SerpentCounter])
def test_chunks_change_nothing(cls):
    from crossgrain import dask

    shape = (13, 7, 30)
    want = cls(5).fill(np.empty(shape))
    for chunks in (shape, (1, 7, 30), (5, 7, 30), (5, 3, 30), (13, 7, 4), (4, 3, 7), -1, "auto"):
        got = dask.uniform(shape, chunks=chunks, seed=cls(5))
        assert got.shape == shape and got.dtype == np.float64
        assert np.array_equal(got.compute(), want)
        assert np.array_equal(got.compute(scheduler="synchronous"), want)
    assert np.array_equal(dask.bits(1000, chunks=77, seed=cls(5)).compute(), cls(5).random_raw(1000))


def test_it_begins_where_the_generator_stands():
    from crossgrain import dask

    stream = AESCounter(6)
    stream.random_raw(5)
    assert np.array_equal(dask.bits((4, 4), chunks=3, seed=stream).compute().ravel(), AESCounter(6).random_raw(21)[5:])
    assert dask.uniform((), seed=6).compute() == AESCounter(6).fill(np.empty(1))[0]
    assert dask.uniform((0, 5), seed=6).compute().shape == (0, 5)


def test_dasks_own_generator_takes_ours():
    rng = da.random.default_rng(AESCounter(3))
    assert 0 <= rng.random(1000, chunks=100).compute().min()
