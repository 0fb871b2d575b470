"""Lent memory: plain data is accepted, everything else is refused with a one-line error, and concurrent changes cause no crash or race."""

import ctypes
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

import crossgrain
from crossgrain.random import AESCounter, SerpentCounter

KEY, IV = bytes(range(32)), bytes(range(16))
SCRIPT = Path(__file__).with_name("buffers.py")


def in_a_process(*command):
    """Runs Python, which may crash."""
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_parameter_is_tried_or_known_to_be_no_buffer():
    spec = importlib.util.spec_from_file_location("crossgrain_buffers", SCRIPT)
    buffers = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = buffers
    spec.loader.exec_module(buffers)
    tried = {name.removesuffix(" uniform") for name in [*buffers.inputs(), *buffers.outputs()]}
    assert buffers.parameters() == tried


@pytest.mark.parametrize("seed", [1, 2])
def test_every_function_takes_the_same_bytes_however_they_are_lent_or_refuses_them(seed):
    calls = int(in_a_process(SCRIPT, str(seed)).split()[0])
    assert calls > 5000


OBJECTS = """
import numpy as np, crossgrain
from crossgrain.random import AESCounter
key, iv = bytes(32), bytes(16)
made = [np.array([object() for _ in range(6)], dtype=object), np.empty(3, [("a", "O"), ("b", "i8")])]
made.append(made[1][["b"]])
for place in made:
    before = repr(place.tolist())
    for work in (
        lambda: AESCounter(1).fill(place),
        lambda: AESCounter(1).fill(place, kind="bits"),
        lambda: AESCounter(1).fill_at(5, place),
        lambda: crossgrain.encrypt(bytes(48), key=key, iv=iv, out=place),
        lambda: crossgrain.encrypt(place, key=key, iv=iv, out=place),
        lambda: crossgrain.encrypt(place, key=key, iv=iv),
        lambda: crossgrain.seal(bytes(32), key=key, nonce=iv, out=place),
    ):
        try:
            work()
        except TypeError as refused:
            assert "\\n" not in str(refused) and "numpy" in str(refused) or "objects" in str(refused), refused
        else:
            raise AssertionError("taken")
    assert repr(place.tolist()) == before
"""


def test_objects_are_neither_written_nor_told():
    in_a_process("-c", OBJECTS)


def test_bools_and_characters_are_read_and_not_written():
    for dtype in ("?", "U4", [("a", "?"), ("b", "i2")]):
        place = np.zeros(16, dtype)
        sealed = crossgrain.encrypt(place, key=KEY, iv=IV)
        assert crossgrain.decrypt(sealed, key=KEY, iv=IV) == place.tobytes()
        with pytest.raises(TypeError, match="numpy.uint8"):
            crossgrain.decrypt(sealed, key=KEY, iv=IV, out=place)
        with pytest.raises(TypeError, match="numpy.uint8"):
            AESCounter(1).fill(place, kind="bits")
        crossgrain.decrypt(sealed, key=KEY, iv=IV, out=place.view(np.uint8))


@pytest.mark.parametrize("dtype", [">f8", np.int64, np.uint64, "V8", "S8", np.complex64, [("x", "f8")]])
def test_uniform_numbers_are_written_as_float64_only(dtype):
    place = np.zeros(4, dtype)
    for work in (AESCounter(1).fill, lambda place: AESCounter(1).fill_at(0, place)):
        with pytest.raises(ValueError, match="float64"):
            work(place)
    assert place.tobytes() == bytes(32)


def test_keys_that_a_conversion_would_change_are_refused():
    for key in (np.array([1.5, 2.5]), np.array([1, 2], object), np.array(["1", "2"]), np.array([True, False]), np.array([1, 2], "m8[s]")):
        with pytest.raises(TypeError):
            AESCounter(key=key)
    with pytest.raises(TypeError):
        AESCounter(key=[1.5, 2])
    with pytest.raises(TypeError):
        AESCounter(key=memoryview(np.array([1, 2], object)))


def test_memory_may_be_lent_for_several_things_at_once():
    place = bytearray(range(64))
    want = crossgrain.encrypt(bytes(place), key=bytes(place[:32]), iv=bytes(place[:16]))
    view = memoryview(place)
    crossgrain.encrypt(view, key=view[:32], iv=view[:16], out=view)
    assert place == want
    place = bytearray(range(80))
    want = crossgrain.seal(bytes(place[:64]), key=bytes(place[:32]), nonce=bytes(place[8:20]), aad=bytes(place))
    view = memoryview(place)
    crossgrain.seal(view[:64], key=view[:32], nonce=view[8:20], aad=view, out=view)
    assert place == want
    with pytest.raises(BufferError):
        place.extend(b"while it is lent")


@pytest.mark.parametrize("shift", [-16, -1, 0, 1, 15, 16, 64])
def test_a_message_is_opened_anywhere_in_its_memory(shift):
    plain = bytes(range(64))
    sealed = crossgrain.seal(plain, key=KEY, nonce=IV)
    memory = bytearray(200)
    memory[64 : 64 + 80] = sealed
    view = memoryview(memory)
    crossgrain.unseal(view[64 : 64 + 80], key=KEY, nonce=IV, out=view[64 + shift : 128 + shift])
    assert memory[64 + shift : 128 + shift] == plain


@pytest.mark.parametrize("mode", ["gcm", "eax", "ocb"])
@pytest.mark.parametrize("place", ["new", "apart", "same"])
def test_what_changes_meanwhile_is_not_taken_for_authentic(mode, place):
    given = {"key": KEY, "nonce": IV[:12], "mode": mode, "threads": 1}
    plain = bytes(500_000)
    sealed = crossgrain.seal(plain, **given)
    message, out, is_over = np.frombuffer(sealed, np.uint8).copy(), np.zeros(len(plain), np.uint8), threading.Event()

    def change():
        while not is_over.is_set():
            message[len(plain) - 1] = sealed[len(plain) - 1] ^ 1
            message[len(plain) - 1] = sealed[len(plain) - 1]

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(100):
            message[: len(plain)] = np.frombuffer(sealed[: len(plain)], np.uint8)
            kept = {"new": None, "apart": out, "same": message[: len(plain)]}[place]
            try:
                opened = crossgrain.unseal(message, out=kept, **given)
            except crossgrain.Forged:
                continue
            # In place, a concurrent change of the message changes the plaintext: the last byte may be wrong.
            opened = bytes(opened)
            assert opened[:-1] == plain[:-1] and (place == "same" or opened == plain), "plaintext that nobody sealed"
    finally:
        is_over.set()
        changer.join()


@pytest.mark.parametrize("cls", [AESCounter, SerpentCounter])
def test_threads_that_fill_from_one_generator_share_no_word(cls):
    stream, drawn = cls(3, threads=1), []
    rng = Generator(stream)

    def draw(work):
        for _ in range(20):
            drawn.append(work())

    count = 20_000
    works = [
        lambda: stream.fill(np.empty(count, np.uint64), kind="bits"),
        lambda: filled_by_the_core(stream, count),
        lambda: filled_by_the_core(stream, count),
        lambda: rng.integers(0, 2**64, count, np.uint64),
        lambda: stream.random_raw(count),
        lambda: np.array([stream.random_raw() for _ in range(100)], np.uint64),
    ]
    threads = [threading.Thread(target=draw, args=(work,)) for work in works]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    words = np.sort(np.concatenate(drawn))
    assert len(words) == 20 * (5 * count + 100)
    assert np.array_equal(words, np.sort(cls(3).random_raw(len(words))))
    assert stream.position == len(words)


def filled_by_the_core(stream, count):
    """Fills an array by the native half directly, which must protect its own state."""
    place = np.empty(count, np.uint64)
    stream._core.fill(place, False)
    return place


def test_the_state_is_of_one_moment():
    one, two = AESCounter(key=1, counter=100).state, AESCounter(key=2, bits=256, counter=200).state
    stream = AESCounter(key=1, counter=100)
    seen, is_over = [], threading.Event()

    def look():
        while not is_over.is_set():
            seen.append(stream.state)

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(300):
        stream.state = two
        stream.state = one
    is_over.set()
    looker.join()
    assert seen and all(state in (one, two) for state in seen)


def test_a_generator_is_made_once():
    stream = AESCounter(key=1)
    rng = Generator(stream)
    with pytest.raises(RuntimeError, match="made already"):
        stream.__init__(5)
    assert rng.random() == Generator(AESCounter(key=1)).random()


def test_a_lock_that_excludes_nobody_does_not_let_two_draw():
    class Open:
        def acquire(self):
            pass

        def release(self):
            pass

    stream = AESCounter(1)
    core = type(stream._core)("aes-128", bytes(16), 1, Open())
    place, refusals = np.empty(50_000_000, np.uint8), []
    threads = [threading.Thread(target=lambda: fill(core, place, refusals)) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert refusals and all("already" in str(refusal) for refusal in refusals)


def fill(core, place, refusals):
    for _ in range(5):
        try:
            core.fill(place[: len(place)], False)
        except RuntimeError as refusal:
            refusals.append(refusal)


def test_tags_too_long_ask_for_no_memory():
    for tag_bytes in (17, 2**40, 2**63, 2**64 - 1):
        with pytest.raises(crossgrain.Error):
            crossgrain.seal(b"text", key=KEY, nonce=IV, tag_bytes=tag_bytes)
        with pytest.raises(crossgrain.Error):
            crossgrain.unseal(b"text", key=KEY, nonce=IV, tag_bytes=tag_bytes)


def test_ctypes_may_lend_plain_structures():
    class Plain(ctypes.Structure):
        _fields_ = [("a", ctypes.c_uint32), ("b", ctypes.c_uint8 * 4)]

    held = (Plain * 4)()
    crossgrain.encrypt(bytes(32), key=KEY, iv=IV, out=held)
    assert ctypes.string_at(held, 32) == crossgrain.encrypt(bytes(32), key=KEY, iv=IV)
