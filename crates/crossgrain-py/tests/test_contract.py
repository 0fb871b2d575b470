"""Generators keep the contract of NumPy's own: which arguments they take, what they refuse, and what they draw.

The checks of Philox and PCG64 in NumPy's test-suite are the model. Where NumPy does the same, the test compares with it.
"""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import PCG64, BitGenerator, Generator, Philox, RandomState, SeedSequence
from numpy.random.bit_generator import ISeedSequence

import crossgrain
from crossgrain.random import AESCounter, SerpentCounter

BOTH = [AESCounter, SerpentCounter]
both = pytest.mark.parametrize("cls", BOTH)

#: Values other than integers. NumPy's integer arguments refuse all of them.
NO_INTEGERS = [0.5, 1.0, 1.9, np.float64(2), "1", b"1", None, [1], 1j, np.array([1, 2]), np.array(1.0), object()]

#: Integers of several types, each equal to 3.
THREES = [3, np.int8(3), np.uint64(3), np.int64(3), np.array(3)]

#: Methods with an integer, and the name of the argument.
INTEGERS = [
    (lambda cls, value: cls(1).advance(value), "delta"),
    (lambda cls, value: cls(1).jumped(value), "jumps"),
    (lambda cls, value: cls(1).fill_at(value, np.empty(2)), "position"),
    (lambda cls, value: cls(1).spawn(value), "n_children"),
    (lambda cls, value: cls(1).bytes(value), "size"),
    (lambda cls, value: cls(1, threads=value), "threads"),
    (lambda cls, value: cls(1).fill_integers(np.empty(2, np.int64), value, 10), "low"),
]


@both
@pytest.mark.parametrize(("call", "name"), INTEGERS)
@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_only_integers_are_integers(cls, call, name, value):
    if name == "size" and isinstance(value, (list, np.ndarray)):
        pytest.skip("a size may be several integers")
    with pytest.raises(TypeError, match=f"{name} is an integer, not a"):
        call(cls, value)


@both
@pytest.mark.parametrize("value", THREES, ids=repr)
def test_every_kind_of_integer_is_one(cls, value):
    stream = cls(1)
    assert stream.advance(value).position == 3
    assert stream.jumped(value).position == stream.position + 3 * 2**64
    assert cls(1, counter=value).position == 6
    assert np.array_equal(stream.fill_at(value, np.empty(2, np.uint64), "bits"), cls(1).random_raw(5)[3:])
    assert len(cls(1).spawn(value)) == 3 and len(cls(1).random_raw(value)) == 3 and len(cls(1).bytes(value)) == 3
    assert cls(key=value).random_raw() == cls(key=3).random_raw()
    assert cls(1, threads=value).random_raw() == cls(1).random_raw()


@both
def test_truth_values_are_integers_as_in_numpy(cls):
    assert cls(1).advance(True).position == 1 and len(cls(1).spawn(True)) == 1
    assert Philox(1).advance(True).random_raw() == Philox(1).advance(1).random_raw()


@both
@pytest.mark.parametrize("value", [value for value in NO_INTEGERS if value is not None], ids=repr)
def test_counters_are_integers(cls, value):
    with pytest.raises(TypeError, match="counter is an integer, not a"):
        cls(1, counter=value)
    with pytest.raises(TypeError, match="bits is an integer, not a"):
        cls(1, bits=value)


@both
@pytest.mark.parametrize("value", [-1, 2**128, -(2**200), 2**200])
def test_counters_do_not_wrap(cls, value):
    with pytest.raises(ValueError, match=r"counter is out of range: give an integer from 0 to 2\*\*128 - 1"):
        cls(1, counter=value)
    with pytest.raises(ValueError, match="counter"):
        Philox(key=1, counter=value << 128 if value > 0 else value)


@both
def test_no_counter_is_the_first(cls):
    assert cls(key=1, counter=None).position == 0
    assert (Philox(key=1, counter=None).state["state"]["counter"] == 0).all()


@both
@pytest.mark.parametrize("value", [-1, 2**129, 2**200])
def test_positions_do_not_wrap(cls, value):
    stream, out = cls(1), np.full(3, 7.0)
    with pytest.raises(ValueError, match="position is out of range"):
        stream.fill_at(value, out)
    assert (out == 7).all() and stream.position == 0


@both
@pytest.mark.parametrize("jumps", [-3, 0, 2**70])
def test_jumps_of_any_number(cls, jumps):
    assert cls(1).jumped(jumps).position == jumps * 2**64 % 2**129
    Philox(1).jumped(jumps), PCG64(1).jumped(jumps)


@both
def test_advances_are_symmetric(cls):
    stream = cls(5)
    stream.random_raw(3)
    state = stream.state
    for delta in (2**63 + 2**31 + 2**15 + 1, -1, 2**300):
        assert stream.advance(delta) is stream
        stream.advance(-delta)
        assert stream.state == state


@both
def test_an_advance_drops_half_a_word(cls):
    stream = cls(5)
    Generator(stream).integers(0, 2**32, dtype=np.uint32)
    assert stream.state["has_uint32"] == 1
    stream.advance(1)
    assert stream.state["has_uint32"] == 0 == Philox(1).advance(1).state["has_uint32"]


@both
@pytest.mark.parametrize("size", [1.5, "x", "12", (2, 1.5), ("x",), [None], np.array([1.5])], ids=repr)
@pytest.mark.parametrize("output", [True, False])
def test_sizes_are_integers(cls, size, output):
    stream = cls(1)
    with pytest.raises(TypeError, match="size is an integer, not a"):
        stream.random_raw(size, output=output)
    assert stream.position == 0


@both
def test_sizes_are_those_of_numpy(cls):
    for size in (None, (), 0, 3, np.int16(4), (2, 3), [2, 3], np.array([2, 3]), (0, 5)):
        ours, theirs = cls(1).random_raw(size), Philox(1).random_raw(size)
        assert np.shape(ours) == np.shape(theirs)
        assert cls(1).random_raw(size, False) is None
        stream, other = cls(1), cls(1)
        stream.random_raw(size)
        other.random_raw(size, output=False)
        assert stream.position == other.position == np.size(ours)


class Fixed(ISeedSequence):
    """A seed sequence that cannot spawn."""

    def generate_state(self, n_words, dtype=np.uint32):
        return np.arange(n_words, dtype=dtype)


class Spawning(Fixed):
    """One with a method of that name, which NumPy does not use."""

    def spawn(self, n_children):
        return [self] * n_children


@both
@pytest.mark.parametrize("seed", [Fixed, Spawning])
def test_a_seed_sequence_that_cannot_spawn_raises(cls, seed):
    with pytest.raises(TypeError, match="seed is a .*, which cannot spawn"):
        cls(seed()).spawn(1)
    with pytest.raises(TypeError):
        Generator(cls(seed())).spawn(1)
    with pytest.raises(TypeError):
        PCG64(seed()).spawn(1)
    assert cls(seed()).random_raw() == cls(key=np.arange(4, dtype=np.uint32).tobytes()).random_raw()


@both
def test_so_many_children(cls):
    assert cls(1).spawn(0) == []
    for count in (-1, 2**32):
        with pytest.raises(ValueError, match="n_children is out of range"):
            cls(1).spawn(count)


@both
@pytest.mark.parametrize("seed", [3.2, [None], "seed", {}, 1j])
def test_seeds_of_another_type_are_refused(cls, seed):
    for one in (cls, Philox, PCG64):
        with pytest.raises((TypeError, ValueError)):
            one(seed)


@both
def test_negative_seeds_are_refused(cls):
    for one in (cls, Philox, PCG64):
        with pytest.raises(ValueError):
            one(-1)


@both
@pytest.mark.parametrize("key", [1.9, "1", [1.5, 2], [None, 1], np.array([1.0, 2.0]), object()], ids=repr)
def test_keys_of_another_type_are_refused(cls, key):
    with pytest.raises(TypeError, match="key"):
        cls(key=key)


#: Changes to a state, each of which makes it invalid.
WRONG = [
    {"bits": 128.0}, {"bits": 64}, {"bits": None}, {"counter": 1.9}, {"counter": -1}, {"counter": 2**128}, {"counter": "1"},
    {"word": 0.5}, {"word": 2}, {"key": 1.5}, {"key": None}, {"key": "1"}, {"key": bytes(3)},
]  # fmt: skip
WRONG_OUTSIDE = [
    {"has_uint32": 2}, {"has_uint32": "no"}, {"has_uint32": 0.5}, {"has_uint32": None}, {"uinteger": -1},
    {"uinteger": 1.5}, {"uinteger": 2**32}, {"state": None}, {"state": [1]}, {"bit_generator": None},
]  # fmt: skip


@both
@pytest.mark.parametrize("change", [{"state": change} for change in WRONG] + WRONG_OUTSIDE, ids=repr)
def test_a_state_that_is_refused_changes_nothing(cls, change):
    stream, twin, other = cls(7), cls(7), cls(8, bits=256, counter=5).state
    for one in (stream, twin):
        Generator(one).integers(0, 2**32, 3, dtype=np.uint32)
    inner = change.get("state")
    wrong = {**other, **change, "state": {**other["state"], **inner}} if isinstance(inner, dict) else {**other, **change}
    before, seed = stream.state, stream.seed_seq
    for put in (partial(setattr, stream, "state"), stream.__setstate__, lambda state: stream.__setstate__((state, SeedSequence(1)))):
        with pytest.raises((TypeError, ValueError)):
            put(wrong)
        assert stream.state == before and stream.seed_seq is seed
    assert np.array_equal(Generator(stream).integers(0, 2**32, 9, dtype=np.uint32), Generator(twin).integers(0, 2**32, 9, dtype=np.uint32))


@both
def test_states_go_through_numpys_methods(cls):
    stream = cls(7)
    stream.random_raw(5)
    other = cls(8)
    other.__setstate__(stream.__getstate__())
    assert other.state == stream.state and other.seed_seq is stream.seed_seq
    again = pickle.loads(pickle.dumps(stream))
    assert again.seed_seq.spawn_key == stream.seed_seq.spawn_key and again.random_raw() == stream.random_raw()
    assert [one.random_raw() for one in again.spawn(2)] == [one.random_raw() for one in stream.spawn(2)]


@both
def test_numpys_classes_take_it(cls):
    assert isinstance(Generator(cls()), Generator) and isinstance(RandomState(cls(1)).randint(5), int)
    assert cls.__name__ in repr(Generator(cls(1))) and isinstance(cls(1), BitGenerator)
    stream = cls(2)
    assert stream.cffi is stream.cffi if _has_cffi() else True
    assert stream.ctypes is stream.ctypes
    for _ in range(100):
        assert 0 <= Generator(stream).random(dtype=np.float32) < 1


def _has_cffi():
    try:
        import cffi  # noqa: F401
    except ImportError:
        return False
    return True


@both
def test_seedings_differ(cls):
    seen = {cls(seed).random_raw() for seed in (0, 1, [0, 1], 2**70, SeedSequence(5), np.arange(3))}
    assert len(seen) == 6 and cls().random_raw() != cls().random_raw()


def layouts(dtype):
    """Arrays of one shape in different memory layouts."""
    shape = (13, 6, 5)
    yield "C", np.zeros(shape, dtype)
    yield "F", np.zeros(shape, dtype, order="F")
    yield "transposed", np.zeros(shape[::-1], dtype).T
    yield "strided", np.zeros((26, 6, 15), dtype)[::2, :, ::3]
    yield "backward", np.zeros(shape, dtype)[::-1, ::-1, ::-1]
    yield "unaligned", np.zeros(np.prod(shape) * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype).reshape(shape)
    yield "field", np.zeros(shape, [("a", np.uint8), ("b", dtype)])["b"]


@both
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_do_not_change_uniform_numbers(cls, dtype):
    want = Generator(cls(3)).random((13, 6, 5), dtype=dtype)
    for name, out in layouts(dtype):
        stream = cls(3)
        assert stream.fill(out) is out
        assert np.array_equal(out, want), name
        assert stream.position == -(-390 * np.dtype(dtype).itemsize // 8)
        assert np.array_equal(cls(3).fill_at(0, out), want)


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.complex64, np.float64, [("x", "u1"), ("y", "u2")]])
def test_layouts_do_not_change_bits(cls, dtype):
    want = cls(3).fill(np.zeros((13, 6, 5), dtype), "bits")
    for name, out in layouts(dtype):
        assert cls(3).fill(out, "bits").tobytes() == want.tobytes(), name


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_layouts_do_not_change_integers(cls, dtype):
    want = Generator(cls(3)).integers(5, 99, (13, 6, 5), dtype=dtype)
    for name, out in layouts(dtype):
        assert cls(3).fill_integers(out, 5, 99) is out and np.array_equal(out, want), name


def test_what_may_not_be_written_is_refused_in_any_layout():
    for _, out in layouts(np.float64):
        out.flags.writeable = False
        stream = AESCounter(1)
        with pytest.raises(BufferError):
            stream.fill(out)
        with pytest.raises((BufferError, TypeError)):
            stream.fill_integers(out, 5)
        assert stream.position == 0 and not out.any()
    for dtype in (object, bool, "U3"):
        with pytest.raises(TypeError):
            AESCounter(1).fill(np.zeros((4, 4), dtype)[:, ::2], "bits")


@both
@given(st.lists(st.tuples(st.sampled_from(["fill", "random", "half", "word"]), st.integers(0, 70)), max_size=12))
def test_float32_is_that_of_numpy(cls, draws):
    ours, theirs = cls(4), Generator(cls(4))
    for kind, count in draws:
        if kind == "fill":
            got, want = ours.fill(np.empty(count, np.float32)), theirs.random(count, dtype=np.float32)
        elif kind == "random":
            got, want = (one.random(count, dtype=np.float32) for one in (Generator(ours), theirs))
        elif kind == "half":
            got, want = (one.integers(0, 2**32, count, dtype=np.uint32) for one in (Generator(ours), theirs))
        else:
            got, want = ours.random_raw(count), theirs.bit_generator.random_raw(count)
        assert np.array_equal(got, want) and ours.state == theirs.bit_generator.state


#: Types of integers, with ranges: one value, few, half of the units and one more, all but one, all.
def ranges(dtype):
    info = np.iinfo(dtype)
    count = info.max - info.min + 1
    yield from ((5, 6), (0, 2), (0, 3), (0, 100), (info.min, info.max), (info.min, info.max + 1))
    yield info.min, info.min + count // 2 + 1
    if info.bits == 64:
        yield from ((0, 2**32 - 1), (0, 2**32), (7, 2**32 + 8), (0, 2**33 + 1), (info.max - 2**31 - 2, info.max))


KINDS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@both
@pytest.mark.parametrize("dtype", KINDS)
def test_integers_are_those_of_numpy(cls, dtype):
    for low, high in ranges(dtype):
        ours, theirs = cls(4), Generator(cls(4))
        for count in (0, 1, 2, 3, 7, 1000, 1):
            got, want = ours.fill_integers(np.empty(count, dtype), low, high), theirs.integers(low, high, count, dtype=dtype)
            assert np.array_equal(got, want), (low, high, count)
            assert ours.state == theirs.bit_generator.state, (low, high, count)
            theirs.integers(0, 9, dtype=np.uint32), Generator(ours).integers(0, 9, dtype=np.uint32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("share", [0.5, 0.75, 1])
def test_long_integers_are_the_same_on_any_number_of_threads(dtype, share):
    info = np.iinfo(dtype)
    # Half of the units are rejected, a third, or none.
    last = info.min + int((info.max - info.min) * share) + (share < 1)
    want = Generator(AESCounter(9)).integers(info.min, last, 700_001, dtype=dtype, endpoint=True)
    for threads in (1, 0, 2, 3):
        stream = AESCounter(9, threads=threads)
        got = stream.fill_integers(np.empty(700_001, dtype), info.min, last, endpoint=True)
        assert np.array_equal(got, want)
        assert stream.random_raw() != AESCounter(9).random_raw()


def test_long_float32_is_the_same_on_any_number_of_threads():
    for before in (0, 1):
        theirs = Generator(AESCounter(9))
        theirs.random(before, dtype=np.float32)
        want = theirs.random(1_000_003, dtype=np.float32)
        for threads in (0, 1, 2, 3):
            stream = AESCounter(9, threads=threads)
            Generator(stream).random(before, dtype=np.float32)
            assert np.array_equal(stream.fill(np.empty(1_000_003, np.float32)), want)
            assert stream.state == theirs.bit_generator.state


@pytest.mark.parametrize(
    ("dtype", "low", "high", "error"),
    [
        (np.int64, 5, 5, ValueError), (np.int64, 5, 4, ValueError), (np.uint8, -1, 5, ValueError), (np.uint8, 0, 257, ValueError),
        (np.int8, 0, 2**70, ValueError), (np.int64, 0.5, 3, TypeError), (np.int64, 0, 3.5, TypeError), (np.int64, 0, "3", TypeError),
        (np.float64, 0, 3, TypeError), (bool, 0, 2, TypeError), (">i4", 0, 3, TypeError), (object, 0, 3, TypeError),
    ],
)  # fmt: skip
def test_ranges_that_make_no_sense_are_refused(dtype, low, high, error):
    stream, out = AESCounter(1), np.zeros(3, dtype)
    with pytest.raises(error):
        stream.fill_integers(out, low, high)
    assert stream.position == 0 and not out.astype(bool).any()
    for wrong in (bytearray(8), [1, 2], None):
        with pytest.raises(TypeError, match="out"):
            stream.fill_integers(wrong, 3)


def test_one_number_is_the_end_of_the_range():
    assert np.array_equal(AESCounter(1).fill_integers(np.empty(99, int), 7), Generator(AESCounter(1)).integers(7, size=99))


def test_the_version_is_there():
    assert crossgrain.__version__
