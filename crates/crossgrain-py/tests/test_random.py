"""Generators: published bytes through every NumPy interface, and equality with randomgen if it is installed."""

import copy
import multiprocessing
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import BitGenerator, Generator, SeedSequence

import crossgrain
from crossgrain.random import AESCounter, SerpentCounter, default_rng

BOTH = [AESCounter, SerpentCounter]
DOCS = Path(__file__).parents[3] / "docs" / "streams.md"


def published():
    row = re.compile(r"\| (aes|serpent)-(\d+) \| (\d+) \| (\d+) \| (\d+) \| `([0-9a-f]{64})` \|")
    return [row.fullmatch(line).groups() for line in DOCS.read_text("utf-8").splitlines() if row.fullmatch(line)]


@pytest.mark.parametrize(("family", "bits", "seed", "part", "position", "want"), published())
def test_the_bytes_are_the_published_ones(family, bits, seed, part, position, want):
    cls = AESCounter if family == "aes" else SerpentCounter
    stream = cls(int(seed), bits=int(bits), counter=int(part) << 64)
    word, byte = divmod(int(position), 8)
    if word + 6 > 2**65:  # beyond the end of the part
        want = want[:32]
    stream.advance(word)
    assert stream.bytes(40)[byte : byte + len(want) // 2].hex() == want


def test_the_table_was_found():
    assert len(published()) >= 30


@pytest.mark.parametrize("cls", BOTH)
def test_it_is_a_bit_generator(cls):
    assert issubclass(cls, BitGenerator)
    rng = Generator(cls(1))
    assert rng.bit_generator.__class__ is cls
    for draw in (rng.random, rng.standard_normal, rng.standard_gamma):
        draw(*([2.0] if draw == rng.standard_gamma else []), size=1000)
    assert rng.integers(0, 10, 100).max() < 10
    assert sorted(rng.permutation(50)) == list(range(50))
    assert isinstance(np.random.RandomState(cls(1)).rand(), float)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_all_ways_to_draw_give_the_same_words(cls, bits):
    words = cls(5, bits=bits).random_raw(5000)
    assert words.dtype == np.uint64
    stream = cls(5, bits=bits)
    assert [stream.random_raw() for _ in range(300)] == list(words[:300])
    assert np.array_equal(stream.fill(np.empty(3000, np.uint64), kind="bits"), words[300:3300])
    assert stream.position == 3300
    assert stream.bytes(17) == words[3300:3303].tobytes()[:17]
    assert stream.random_raw() == words[3303]
    assert Generator(cls(5, bits=bits)).integers(0, 2**64, 5000, dtype=np.uint64, endpoint=False).tolist() == words.tolist()
    uniform = (words >> np.uint64(11)) * 2.0**-53
    assert np.array_equal(Generator(cls(5, bits=bits)).random(5000), uniform)
    assert np.array_equal(cls(5, bits=bits).fill(np.empty(5000)), uniform)
    assert np.array_equal(cls(5, bits=bits, threads=1).fill(np.empty((50, 100))).ravel(), uniform)
    halves = Generator(cls(5, bits=bits)).integers(0, 2**32, 5000, dtype=np.uint32)
    assert np.array_equal(halves, words.view(np.uint32)[:5000])


def test_long_fills_are_the_same_on_any_number_of_threads():
    want = AESCounter(3, threads=1).fill(np.empty(1_000_003))
    for threads in (0, 2, 3):
        assert np.array_equal(AESCounter(3, threads=threads).fill(np.empty(1_000_003)), want)


@pytest.mark.parametrize("first", [0, 1, 5])
def test_fills_longer_than_the_cache_are_the_same(first):
    place = np.zeros(5_000_000, np.uint64)[first:-1]
    numbers = np.zeros(place.size)
    AESCounter(4).fill(place, kind="bits")
    AESCounter(4).fill(numbers)
    stream = AESCounter(4, threads=1)
    for at in range(0, place.size, 100_000):
        piece = place[at : at + 100_000]
        words = stream.random_raw(piece.size)
        assert np.array_equal(piece, words)
        assert np.array_equal(numbers[at : at + 100_000], (words >> np.uint64(11)) * 2.0**-53)
    assert place.base[:first].sum() == 0 and place.base[-1] == 0


@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(["raw", "fill", "uniform", "half", "advance", "back"]), st.integers(0, 3000)), max_size=30
    )
)
def test_any_mixture_of_draws_is_in_order(pieces):
    stream, words = AESCounter(9), AESCounter(9, threads=1).random_raw(100_000)
    rng, at, half = Generator(stream), 0, None
    for kind, count in pieces:
        if kind == "raw":
            assert np.array_equal(stream.random_raw(count), words[at : at + count])
            at += count
        elif kind == "fill":
            got = stream.fill(np.empty(count, np.uint8), kind="bits")
            assert got.tobytes() == words[at : at + -(-count // 8)].tobytes()[:count]
            at += -(-count // 8)
        elif kind == "uniform":
            assert np.array_equal(rng.random(count), (words[at : at + count] >> np.uint64(11)) * 2.0**-53)
            at += count
        elif kind == "half":
            got = rng.integers(0, 2**32, dtype=np.uint32)
            if half is None:
                assert got == words[at] & np.uint64(0xFFFFFFFF)
                half, at = words[at] >> np.uint64(32), at + 1
            else:
                assert got == half
                half = None
        elif kind == "advance":
            stream.advance(count)
            at, half = at + count, None
        else:
            back = min(count, at)
            stream.advance(-back)
            at, half = at - back, None
        assert stream.position == at


@pytest.mark.parametrize("cls", BOTH)
def test_places_are_reached_at_once(cls):
    stream = cls(key=7)
    words = cls(key=7).random_raw(100)
    assert stream.advance(40) is stream
    assert stream.random_raw() == words[40]
    stream.advance(-41)
    assert stream.random_raw() == words[0]
    stream.advance(2**129)
    assert stream.random_raw() == words[1]
    assert cls(key=7, counter=3).random_raw() == words[6]
    last = cls(key=7, counter=2**128 - 1)
    assert np.array_equal(last.random_raw(4)[2:], words[:2])
    out = np.empty(10, np.uint64)
    assert np.array_equal(stream.fill_at(50, out, kind="bits"), words[50:60])
    assert stream.random_raw() == words[2]


@pytest.mark.parametrize("cls", BOTH)
def test_jumps_are_so_many_blocks(cls):
    stream = cls(2)
    stream.random_raw(3)
    far = stream.jumped(5)
    assert stream.position == 3 and far.position == 3 + 5 * 2**64
    stream.advance(5 * 2**64)
    assert np.array_equal(stream.random_raw(10), far.random_raw(10))


@pytest.mark.parametrize("cls", BOTH)
def test_spawned_generators_are_numpys_children(cls):
    parent, seed = cls(42, bits=256), SeedSequence(42)
    children = parent.spawn(3)
    assert all(type(child) is cls for child in children)
    for child, sequence in zip(children, seed.spawn(3)):
        assert np.array_equal(child.random_raw(5), cls(sequence, bits=256).random_raw(5))
    assert len({child.random_raw() for child in parent.spawn(100)}) == 100
    assert isinstance(Generator(parent).spawn(2)[0].bit_generator, cls)
    with pytest.raises(TypeError):
        cls(key=1).spawn(1)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("made", [{"seed": 3}, {"key": 5, "counter": 9}, {"seed": [1, 2], "bits": 256}, {"key": bytes(24), "bits": 192}])
def test_state_copies_and_pickles_go_on_alike(cls, made):
    stream = cls(made.pop("seed", None), **made)
    Generator(stream).integers(0, 2**32, 3, dtype=np.uint32)
    state = stream.state
    twins = [pickle.loads(pickle.dumps(stream)), copy.copy(stream), copy.deepcopy(stream)]
    fresh = cls(0)
    fresh.state = state
    twins.append(fresh)
    assert state["bit_generator"] == cls.__name__ and state["has_uint32"] == 1
    want = Generator(stream).integers(0, 2**32, 2001, dtype=np.uint32)
    for twin in twins:
        assert type(twin) is cls and twin.state == state
        assert np.array_equal(Generator(twin).integers(0, 2**32, 2001, dtype=np.uint32), want)
    again = pickle.loads(pickle.dumps(Generator(stream)))
    assert again.random() == Generator(stream).random()


def test_states_that_make_no_sense_are_refused():
    stream = AESCounter(1)
    for wrong in ({}, {"bit_generator": "PCG64"}, {**stream.state, "bit_generator": "SerpentCounter"}, {"bit_generator": "AESCounter", "state": {}}):
        with pytest.raises(ValueError):
            stream.state = wrong
    with pytest.raises(TypeError):
        stream.state = 5


@pytest.mark.parametrize("cls", BOTH)
def test_a_state_that_is_refused_changes_nothing(cls):
    stream = cls(1)
    Generator(stream).integers(0, 2**32, 3, dtype=np.uint32)
    before, other = stream.state, cls(2, bits=256).state
    changes = [{"word": 2}, {"word": 5}, {"word": -1}, {"word": None}, {"word": 1 << 70}, {"key": -1}, {"key": 1 << 256}, {"bits": 64}, {"bits": None}, {"counter": "x"}, {"counter": None}]
    wrong = [{**other, "state": {**other["state"], **change}} for change in changes]
    wrong += [{**other, "has_uint32": 1, "uinteger": half} for half in (-1, 1 << 32, None)]
    wrong += [{name: other[name] for name in other if name != left} for left in ("bit_generator", "state", "has_uint32")]
    for state in wrong:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            stream.state = state
        assert stream.state == before, state
    twin = cls(1)
    Generator(twin).integers(0, 2**32, 3, dtype=np.uint32)
    assert np.array_equal(stream.random_raw(9), twin.random_raw(9))


def test_arguments_that_are_refused_change_nothing():
    stream = AESCounter(1)
    stream.random_raw(7)
    before = stream.state
    calls = [
        lambda: stream.advance("x"),
        lambda: stream.jumped("x"),
        lambda: stream.random_raw("x"),
        lambda: stream.random_raw(-1),
        lambda: stream.random_raw(-1, output=False),
        lambda: stream.fill(np.empty(3, np.float16)),
        lambda: stream.fill(np.empty(3), kind="norm"),
        lambda: stream.fill_at("x", np.empty(3)),
        lambda: stream.bytes(-1),
        lambda: stream._core.restore("aes-256", bytes(32), (0, 2, None)),
        lambda: stream._core.restore("aes-256", bytes(31), (0, 1, None)),
        lambda: stream.__init__(2),
    ]
    for number, call in enumerate(calls):
        with pytest.raises((ValueError, TypeError, OverflowError, RuntimeError)):
            call()
        assert stream.state == before, number


@pytest.mark.parametrize(
    "made",
    [
        {"seed": 1, "key": 2},
        {"key": -1},
        {"key": 2**128},
        {"key": bytes(5)},
        {"key": np.zeros(3, np.uint64)},
        {"key": np.array([-1, 0])},
        {"bits": 100},
    ],
)
def test_keys_that_make_no_sense_are_refused(made):
    with pytest.raises(ValueError):
        AESCounter(**made)


def test_a_generator_does_not_go_back_by_a_size():
    stream = AESCounter(1)
    stream.random_raw(10)
    for size in (-1, (2, -3)):
        for output in (True, False):
            with pytest.raises(ValueError):
                stream.random_raw(size, output)
    assert stream.position == 10


def test_keys_may_be_numbers_bytes_or_words():
    number = 0x0F0E0D0C0B0A09080706050403020100
    want = AESCounter(key=number).random_raw(3)
    for key in (bytes(range(16)), bytearray(range(16)), np.array([0x0706050403020100, 0x0F0E0D0C0B0A0908], np.uint64)):
        assert np.array_equal(AESCounter(key=key).random_raw(3), want)


def test_places_that_cannot_be_filled_are_refused():
    stream = AESCounter(1)
    for out, kind in [(np.empty(3, np.float16), "uniform"), (bytearray(8), "uniform"), (memoryview(bytearray(8))[::2], "bits"), (np.empty(3), "norm")]:
        with pytest.raises((ValueError, BufferError)):
            stream.fill(out, kind=kind)
    frozen = np.empty(3)
    frozen.flags.writeable = False
    with pytest.raises(BufferError):
        stream.fill(frozen)
    assert stream.position == 0


def test_the_interfaces_of_other_compilers_draw_the_same():
    words = AESCounter(8).random_raw(10)
    stream = AESCounter(8)
    interface = stream.ctypes
    stream.state = AESCounter(1).state
    stream.state = AESCounter(8).state
    assert [interface.next_uint64(interface.state) for _ in range(5)] == list(words[:5])
    cffi = pytest.importorskip("cffi")
    assert cffi
    interface = stream.cffi
    assert [interface.next_uint64(interface.state) for _ in range(5)] == list(words[5:])


def test_numba_draws_the_same():
    numba = pytest.importorskip("numba")

    @numba.njit
    def draw(rng):
        return rng.random(), rng.integers(0, 1000), rng.standard_normal()

    one, two = default_rng(6), default_rng(6)
    assert draw(one) == (two.random(), two.integers(0, 1000), two.standard_normal())


def test_scipy_draws_by_it():
    stats = pytest.importorskip("scipy.stats")
    one = stats.norm.rvs(size=10, random_state=default_rng(4))
    assert np.array_equal(one, default_rng(4).standard_normal(10))


def test_default_rng_takes_what_numpys_takes():
    assert default_rng(3).random() == Generator(AESCounter(3)).random()
    rng = default_rng()
    assert default_rng(rng) is rng and default_rng(rng.bit_generator).bit_generator is rng.bit_generator
    assert crossgrain.random.default_rng is default_rng
    assert np.random.default_rng(AESCounter(3)).random() == default_rng(3).random()


def child(stream, queue):
    queue.put((stream.random_raw(5), stream.fill(np.empty(500_000))))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_the_process_go_on_alike(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} (not on this system)")
    context = multiprocessing.get_context(method)
    stream = AESCounter(11)
    stream.fill(np.empty(500_000))  # starts threads, which do not exist in a forked process
    queue = context.Queue()
    process = context.Process(target=child, args=(stream, queue))
    process.start()
    words, uniform = queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0
    assert np.array_equal(words, stream.random_raw(5))
    assert np.array_equal(uniform, stream.fill(np.empty(500_000)))


def test_randomgen_gives_the_same():
    randomgen = pytest.importorskip("randomgen")
    key, counter = 0x1234567890ABCDEF0123456789ABCDEF, 2**100 + 5
    theirs, ours = randomgen.AESCounter(key=key, counter=counter), AESCounter(key=key, counter=counter)
    assert np.array_equal(theirs.random_raw(1_000_000), ours.random_raw(1_000_000))
    for delta in (1, 7, 2**40 + 1, -3):
        theirs.advance(delta)
        ours.advance(delta)
        assert theirs.random_raw() == ours.random_raw()
    theirs, ours = theirs.jumped(3), ours.jumped(3)
    assert np.array_equal(theirs.random_raw(100), ours.random_raw(100))
    theirs, ours = pickle.loads(pickle.dumps(theirs)), pickle.loads(pickle.dumps(ours))
    assert np.array_equal(Generator(theirs).random(1001), Generator(ours).random(1001))
    assert np.array_equal(Generator(theirs).integers(0, 9, 1001, np.uint32), Generator(ours).integers(0, 9, 1001, np.uint32))
    assert np.array_equal(Generator(theirs).standard_normal(1001), Generator(ours).standard_normal(1001))


def test_openssl_gives_the_same():
    import shutil
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("openssl (not installed)")
    counters = b"".join(block.to_bytes(16, "little") for block in range(64))
    command = ["openssl", "enc", "-aes-128-ecb", "-nopad", "-K", bytes(range(16)).hex()]
    want = subprocess.run(command, input=counters, capture_output=True, check=True).stdout
    assert AESCounter(key=bytes(range(16))).bytes(1024) == want
