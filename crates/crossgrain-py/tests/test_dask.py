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


@pytest.mark.parametrize("make", [AESCounter, SerpentCounter, lambda seed: np.random.Generator(AESCounter(seed))])
def test_each_call_takes_new_numbers_from_a_generator(make):
    from crossgrain import dask

    source = make(6)
    stream = source if isinstance(source, np.random.BitGenerator) else source.bit_generator
    want = type(stream)(6).random_raw(36)
    arrays = [dask.bits(10, seed=source), dask.bits((2, 5), chunks=2, seed=source), dask.bits((), seed=source), dask.bits((0, 3), seed=source)]
    assert stream.position == 21
    stream.state = type(stream)(7).state
    arrays.append(dask.uniform(15, chunks=4, seed=stream))
    got = [array.compute(scheduler="synchronous") for array in arrays]
    assert np.array_equal(np.concatenate([part.ravel() for part in got[:4]]), want[:21])
    assert np.array_equal(got[4], type(stream)(7).fill(np.empty(15))) and stream.position == 15
    assert not np.array_equal(dask.uniform(5, seed=stream).compute(), dask.uniform(5, seed=stream).compute())


def test_a_seed_gives_the_same_numbers_each_time():
    from crossgrain import dask

    assert np.array_equal(dask.uniform(5, seed=3).compute(), dask.uniform(5, seed=3).compute())
    assert not np.array_equal(dask.uniform(5).compute(), dask.uniform(5).compute())


def test_an_array_may_end_where_the_stream_repeats():
    from crossgrain import dask

    last = AESCounter(key=1, counter=2**128 - 1)
    assert np.array_equal(dask.bits(4, chunks=1, seed=last).compute()[2:], AESCounter(key=1).random_raw(2))


@pytest.mark.parametrize(("wrong", "error"), [({"size": 1.5}, TypeError), ({"size": (2, -1)}, ValueError), ({"seed": 1.5}, TypeError), ({"seed": np.random.PCG64(1)}, TypeError)])
def test_arguments_that_make_no_sense_are_refused(wrong, error):
    from crossgrain import dask

    stream = AESCounter(1)
    with pytest.raises(error):
        dask.uniform(**{"size": 3, "seed": stream, **wrong})
    assert stream.position == 0
