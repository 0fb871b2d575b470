"""Parallel algorithms: every place gives the results of NumPy, and the same bits as every other place."""

import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crossgrain
from crossgrain import parallel
from crossgrain.parallel import Vector, generate, transform

PLACES = ["seq", "par", *(device.name for device in crossgrain.devices()[1:])]
TYPES = [np.dtype(kind) for kind in ("bool", "uint8", "uint32", "int32", "uint64", "float32", "float64")]
INTEGERS = [dtype for dtype in TYPES if dtype.kind in "ui"]
FLOATS = [dtype for dtype in TYPES if dtype.kind == "f"]
#: Lengths: nothing, less than a register, around one frame of the interpreter, and several pieces of a
#: thread.
LENS = [0, 1, 255, 257, 70_001]

places = pytest.mark.parametrize("place", PLACES)


def numbers(dtype, count=1000, seed=0):
    """Random bits and edge cases."""
    made = np.random.default_rng([seed, TYPES.index(dtype)]).integers(0, 256, count * dtype.itemsize, np.uint8)
    if dtype == bool:
        return made < 100
    made = made.view(dtype)
    edges = [0, 1, 2, 255]
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges += [-0.0, -1, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max]
        made[::2] = np.random.default_rng(seed).normal(size=len(made[::2])) * 10
    else:
        edges += [np.iinfo(dtype).min, np.iinfo(dtype).max]
    made[: len(edges)] = edges[:count]
    # Only one kind of NaN, because C's `fmin` does not treat all of them alike.
    return np.where(made == made, made, np.nan).astype(dtype) if dtype.kind == "f" else made


def assert_same(got, wanted):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if wanted.dtype.kind == "f":
        number = f"u{wanted.dtype.itemsize}"
        none = np.isnan(wanted)
        assert (np.isnan(got) == none).all()
        got, wanted = (np.where(none, 0, array).view(number) for array in (got, wanted))
    np.testing.assert_array_equal(got, wanted)


def both(f, *arrays, place):
    """Compares a function run by NumPy with the kernel recorded from it."""
    with np.errstate(all="ignore"):
        wanted = f(*arrays)
    got = transform(f, *arrays, place=place)
    for one, other in zip(got, wanted) if isinstance(wanted, tuple) else [(got, wanted)]:
        assert_same(one, other)


@places
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_are_numpys(place, dtype):
    x, y = numbers(dtype), numbers(dtype, seed=1)[::-1]
    bits = 8 * dtype.itemsize
    both(lambda x, y: (x + y, x - y, x * y, x & y, x | y, x ^ y), x, y, place=place)
    both(lambda x: (~x, -x, abs(x), x**2), x, place=place)
    both(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y, x == x), x, y, place=place)
    both(lambda x: (x << 1, x >> 1, x << (bits - 1), x >> (bits - 1), x >> 0, 3 - x, 7 * x + 1, 100 & x), x, place=place)
    both(lambda x, y: (np.minimum(x, y), np.maximum(x, 100), np.where(x < y, x, 7)), x, y, place=place)


@places
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_numbers_with_a_point_are_numpys(place, dtype):
    x, y = numbers(dtype), numbers(dtype, seed=1)[::-1]
    both(lambda x, y: (x + y, x - y, x * y, x / y, 2 / x, -x, abs(x), x**2), x, y, place=place)
    both(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y, np.isnan(x)), x, y, place=place)
    both(lambda x: (np.sqrt(x), np.floor(x), np.ceil(x), np.rint(x)), x, place=place)
    # Of two zeros NumPy may return either.
    both(lambda x, y: (np.minimum(x, y) + 1, np.maximum(x, y) + 1, np.fmin(x, y) + 1, np.fmax(x, y) + 1), x, y, place=place)
    both(lambda x, y: np.where((x < y) & ~(x < 0) | np.logical_not(y > 0), x, 0.25), x, y, place=place)


@places
def test_functions_of_doubles(place):
    x = np.linspace(-20, 20, 1001)
    np.testing.assert_allclose(transform(np.exp, x, place=place), np.exp(x), rtol=3e-16)
    np.testing.assert_allclose(transform(np.log, abs(x) + 1e-3, place=place), np.log(abs(x) + 1e-3), rtol=3e-16)
    cos, sin = transform(parallel.turn, x, place=place)
    np.testing.assert_allclose(cos, np.cos(2 * np.pi * np.remainder(x, 1)), atol=2e-15)
    np.testing.assert_allclose(sin, np.sin(2 * np.pi * np.remainder(x, 1)), atol=2e-15)
    assert_same(transform(parallel.unit, numbers(np.dtype("u8")), place=place), (numbers(np.dtype("u8")) >> 11) * 2.0**-53)
    assert_same(
        transform(parallel.unit, numbers(np.dtype("u4")), place=place), (numbers(np.dtype("u4")) >> 8).astype("f4") * np.float32(2**-24)
    )


@places
def test_types_are_converted_as_numpy_does(place):
    tried = 0
    for dtype in TYPES:
        for to in TYPES:
            x = numbers(dtype)
            if dtype.kind == "f" and to.kind == "u":
                x = abs(np.where(np.isfinite(x) & (abs(x) < 1e6), x, 7)).astype(dtype)
            try:
                got = transform(lambda x: x.astype(to), x, place=place)
            except TypeError as error:
                assert "no kernel converts" in str(error)
                continue
            with np.errstate(all="ignore"):
                assert_same(got, x.astype(to))
            tried += 1
    assert tried == 41


@places
def test_truth_values(place):
    a, b = numbers(TYPES[0]), numbers(TYPES[0], seed=3)
    both(lambda a, b: (a & b, a | b, a ^ b, ~a, a == b, a != b, a & True, a | False, np.where(a, b, True)), a, b, place=place)
    both(lambda a, b: (np.logical_and(a, b), np.logical_or(a, b), np.logical_xor(a, b)), a, b, place=place)


@pytest.mark.parametrize("place", PLACES)
def test_any_steps_in_any_order(place):
    """Values may be read long after they were computed, several times, or never. Their storage must not be reused too early."""
    for seed in range(40 if place == "seq" else 3):

        def steps(*values):
            draw, values = random.Random(seed), list(values)
            for _ in range(draw.randrange(1, 60)):
                a, b, c = (draw.choice(values) for _ in range(3))
                wide, word = a.astype(np.uint64), b ^ 5
                made = [a + b, a * c, a ^ b, np.where(a < b, c, b), ((wide << 7) + b.astype(np.uint64)).astype(np.uint32)]
                values.append(draw.choice([*made, (c.astype(np.float64) * 0.5).astype(np.uint32) + word]))
            return tuple(draw.sample(values, min(5, len(values)))) + (values[-1] + values[0],)

        both(steps, *(numbers(np.dtype("u4"), 300, seed) for seed in range(3)), place=place)


@places
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_algorithms_are_numpys(place, dtype):
    for count in LENS if place != "seq" else LENS[:-1]:
        x = numbers(dtype, count)
        vector = Vector(x, place)
        assert_same(np.asarray(vector), x)
        keys = x & 3 if dtype.kind in "ui" else x
        order = np.argsort(keys, kind="stable")
        if dtype.kind == "f":
            # -0 sorts before 0.
            order = np.array(sorted(range(count), key=lambda at: (np.isnan(keys[at]), keys[at], not np.signbit(keys[at]))), int)
        assert_same(parallel.sort(keys, place=place), keys[order])
        index = np.arange(count, dtype=np.uint32)
        got = parallel.sort_by_key(Vector(keys, place), index, Vector(x, place))
        assert all(isinstance(part, Vector) and part.place == place for part in got)
        for one, other in zip(got, (keys[order], index[order], x[order])):
            assert_same(one.numpy(), other)
        where = x if dtype == bool else x > x.dtype.type(1)
        condition = (lambda x: x) if dtype == bool else (lambda x: x > 1)
        for one, other in zip(parallel.copy_if(lambda x, _: condition(x), x, index, place=place), (x[where], index[where])):
            assert_same(one, other)
        assert parallel.count_if(condition, vector) == where.sum()
        assert parallel.find(condition, x, place=place) == (int(where.argmax()) if where.any() else None)
        assert_same(parallel.gather(vector, index[::-1].copy()).numpy(), x[::-1])
        if count == 0:
            with pytest.raises(ValueError, match="no elements"):
                parallel.min_element(x, place=place)
            continue
        assert parallel.min_element(x, place=place) == np.argsort(x, kind="stable")[0] or x.min() == 0 or dtype.kind == "f"
        assert x[parallel.min_element(vector)] == np.fmin.reduce(x)
        assert parallel.reduce(vector, "min") == np.fmin.reduce(x)
        assert parallel.reduce(vector, "max") == np.fmax.reduce(x)
        if dtype.kind != "f":
            assert parallel.min_element(x, place=place) == x.argmin() and parallel.max_element(x, place=place) == x.argmax()


@places
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_sums(place, dtype):
    to = np.dtype(np.uint32) if dtype.itemsize == 1 else dtype
    for count in LENS:
        x = numbers(dtype, count)
        if dtype.kind == "f":
            # Small enough that no sum is rounded.
            x = np.random.default_rng(1).integers(-50, 50, count).astype(dtype)
        got = parallel.reduce(x, place=place)
        assert got.dtype == to and got == np.add.reduce(x, dtype=to)
        assert_same(parallel.inclusive_scan(x, place=place), np.cumsum(x, dtype=to))
    assert_same(parallel.inclusive_scan(numbers(np.dtype("u4"), 12).reshape(3, 4), place=place).ravel(), np.cumsum(numbers(np.dtype("u4"), 12), dtype="u4"))


def test_rounded_sums_are_the_same_everywhere():
    for dtype in FLOATS:
        x = np.random.default_rng(2).normal(size=200_001).astype(dtype)
        [sums] = {(parallel.reduce(x, place=place).tobytes(), parallel.inclusive_scan(x, place=place).tobytes()) for place in PLACES}
        np.testing.assert_allclose(np.frombuffer(sums[0], dtype), x.astype("f8").sum(), atol=1e-1)


@places
def test_numbers_are_generated(place):
    assert_same(generate(lambda i: i * 3, 1000, place=place), np.arange(1000, dtype=np.uint32) * 3)
    assert_same(generate(lambda i, a: i + a, range(7, 70_100), 5, place=place), np.arange(12, 70_105, dtype=np.uint32))
    assert generate(lambda i: i, 0, place=place).shape == (0,)
    vector, doubles = generate(lambda i: (i, i.astype(np.float64)), 10, place=place, vector=True)
    assert vector.place == place and doubles.dtype == np.float64
    for wrong in (-1, range(0, 10, 2), range(-1, 4), (1 << 31) + 1):
        with pytest.raises(ValueError, match="one after another"):
            generate(lambda i: i, wrong, place=place)


@places
def test_shapes_and_layouts(place):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (x, x.T, x[:, ::2], x[0, 0, 0:0], np.full((), 3, np.float32)):
        assert_same(transform(lambda x: x + 1, array, place=place), array + np.float32(1))
    assert_same(transform(lambda x, y: x + y, [1, 2.5], np.array([3.0, 4.0]), place=place), np.array([4, 6.5]))


def test_vectors_stay_where_they_are():
    x = np.arange(5, dtype=np.uint32)
    vector = Vector(x, "seq")
    made = transform(lambda x, y: x + y, vector, x)
    assert isinstance(made, Vector) and made.place == "seq" and len(made) == 5 and made.shape == (5,)
    assert "uint32" in repr(made) and isinstance(parallel.sort(vector), Vector)
    assert np.array_equal(made, 2 * x) and np.asarray(made, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="different places, par and seq"):
        transform(lambda x, y: x + y, vector, Vector(x, "par"))
    with pytest.raises(ValueError, match="different places"):
        parallel.sort(vector, place="par")
    with pytest.raises(ValueError, match="only be copied"):
        vector.__array__(copy=False)
    assert Vector(x).place == crossgrain.parallel._native.place_name("auto")


def doubled(queue):
    queue.put(transform(lambda x: x * 2, np.arange(200_000, dtype=np.uint32), place="par"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_the_process_have_threads_of_their_own(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} (not on this system)")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    doubled(queue)
    process = context.Process(target=doubled, args=(queue,))
    process.start()
    assert np.array_equal(queue.get(timeout=60), queue.get(timeout=60))
    process.join(60)
    assert process.exitcode == 0


def test_other_types_and_shapes_are_refused():
    x = np.arange(4, dtype=np.uint32)
    for dtype in (np.int64, np.int16, np.float16, np.complex128, "M8[s]", object, ">u4", "S3"):
        with pytest.raises(TypeError, match="no kernel takes .*: give"):
            transform(lambda x: x, np.zeros(3, dtype))
    with pytest.raises(ValueError, match="shapes"):
        transform(lambda x, y: x + y, x, x[1:])
    with pytest.raises(TypeError, match="uint32 meets a float64: convert one by astype"):
        transform(lambda x, y: x + y, x, x.astype(float))
    with pytest.raises(TypeError, match="indices are uint32, not uint8"):
        parallel.gather(x, np.array([1], np.uint8))
    with pytest.raises(crossgrain.Error, match="no elements 9"):
        parallel.gather(x, np.array([9], np.uint32))
    with pytest.raises(TypeError, match="one array or more"):
        transform(lambda x: x, 3)
    with pytest.raises(crossgrain.Error, match="16 words"):
        transform(lambda *x: x[0], *[np.zeros(2)] * 9)
    with pytest.raises(ValueError, match="choose sum, min or max"):
        parallel.reduce(x, "product")


def test_places_that_are_none_are_refused():
    x = np.arange(4, dtype=np.uint32)
    for place in ("gpu", "cuda", "cuda:x", "", "cpu:0", "SEQ"):
        with pytest.raises(crossgrain.Error, match="no execution policy: give seq, par, auto, cuda:N or wgpu:N"):
            transform(lambda x: x, x, place=place)
    for place in ("cuda:77", "wgpu:77"):
        with pytest.raises(crossgrain.Error, match=place) as refusal:
            transform(lambda x: x, x, place=place)
        assert "\n" not in str(refusal.value)


KEPT = []
REFUSED = [
    (lambda x: x if x > 1 else x + 1, TypeError, "does not branch"),
    (lambda x: [x, x][x], TypeError, "no index"),
    (lambda x: 3, TypeError, "gives values that it computed"),
    (lambda x: (), TypeError, "not nothing"),
    (lambda x: (KEPT.append(x), x)[1] + KEPT[0] if KEPT else (KEPT.append(x), x)[1], None, ""),
    (lambda x: x + KEPT[0], TypeError, "another kernel"),
    (lambda x: x + 2.5, TypeError, "a float meets a uint32"),
    (lambda x: x + np.int32(1), TypeError, "int32 meets a uint32"),
    (lambda x: x + True, TypeError, "bool"),
    (lambda x: x + np.arange(4, dtype=np.uint32), TypeError, "array"),
    (lambda x: x + (1 << 32), OverflowError, "does not fit uint32: give one from 0 to 4294967295"),
    (lambda x: x - -1, OverflowError, "does not fit uint32"),
    (lambda x: x / 2, TypeError, "no div of uint32"),
    (lambda x: x // 2, TypeError, "numpy.floor_divide"),
    (lambda x: x % 2, TypeError, "numpy.remainder"),
    (lambda x: np.sum(x), TypeError, "numpy.sum"),
    (lambda x: np.add.reduce(x), TypeError, "numpy.add.reduce"),
    (lambda x: np.sin(x), TypeError, "numpy.sin"),
    (lambda x: np.sqrt(x), TypeError, "no sqrt of uint32"),
    (lambda x: np.exp(x), TypeError, "no exp of uint32"),
    (lambda x: x << 32, ValueError, "0 to 31"),
    (lambda x: x << x, TypeError, "count"),
    (lambda x: 1 << x, TypeError, "count"),
    (lambda x: x**3, TypeError, "squares"),
    (lambda x: (x < 1) + (x < 2), TypeError, "no arithmetic of bool"),
    (lambda x: x.astype(np.float64) & 1, TypeError, "no gate of float64"),
    (lambda x: np.where(x, x, 1), TypeError, "truth value"),
    (lambda x: parallel.turn(x), TypeError, "turn is of"),
    (lambda x: parallel.unit(x < 1), TypeError, "unit is of"),
]


@pytest.mark.parametrize(("f", "kind", "told"), REFUSED)
def test_what_no_kernel_can_do_is_told(f, kind, told):
    x = np.arange(4, dtype=np.uint32)
    if kind is None:
        KEPT.clear()
        transform(f, x)
        return
    with pytest.raises(kind, match=told) as refusal:
        transform(f, x)
    assert "\n" not in str(refusal.value)
    with pytest.raises(TypeError, match="condition gives one truth value, not uint32"):
        parallel.count_if(lambda x: x, x)


def test_names_are_given_other_values():
    x = np.arange(4, dtype=np.uint32)

    def changes(x):
        y = x
        y += 1
        y <<= 2
        y ^= x
        return y

    assert_same(transform(changes, x), ((x + 1) << 2) ^ x)
    with pytest.raises(TypeError, match="no kernel has numpy.add"):
        transform(lambda x: np.add(x, 1, out=x), x)


def test_a_kernels_own_failure_is_its_own():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        transform(fails, np.zeros(3))


def again(environment, chosen):
    """Runs tests of this file in another process."""
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", chosen, __file__],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr


#: Tests of the results of kernels.
COMPUTED = "integers or point or doubles or converted or truth or generated or layouts or any_steps"


@pytest.mark.parametrize("isa", ["portable", "sse2", "avx2"])
def test_narrower_registers_give_the_same(isa):
    nowhere = {"VK_DRIVER_FILES": "/nowhere", "VK_ICD_FILENAMES": "/nowhere", "LD_LIBRARY_PATH": "/nowhere"}
    again({"CROSSGRAIN_ISA": isa, **nowhere}, f"({COMPUTED} or algorithms or sums)")


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """The substitute CUDA driver of the Rust tests, if a compiler is available."""
    sources = Path(__file__).parents[2] / "crossgrain-gpu/tests/stand_in"
    has_gpus = "this package was built without" not in told_of("cuda:0")
    if not sys.platform.startswith("linux") or not sources.is_dir() or not has_gpus:
        pytest.skip("python: CUDA's stand-in (it takes Linux, the checkout, and a package with GPUs)")
    folder = tmp_path_factory.mktemp("stand_in")
    build = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", sources / "driver.cpp", "-ldl", "-o", folder / "libcuda.so"]
    try:
        subprocess.run(build, check=True)
    except FileNotFoundError:
        pytest.skip("python: CUDA's stand-in (there is no C++ compiler)")
    (folder / "libnvrtc.so").write_bytes((folder / "libcuda.so").read_bytes())
    (folder / "program.h").write_bytes((sources / "program.h").read_bytes())
    (folder / "texts").mkdir()
    nowhere = {"VK_DRIVER_FILES": "/nowhere", "VK_ICD_FILENAMES": "/nowhere"}
    folders = {"LD_LIBRARY_PATH": folder, "XDG_CACHE_HOME": folder / "cache", "STAND_IN_TEXTS": folder / "texts"}
    return {**nowhere, **{name: str(path) for name, path in folders.items()}}


def told_of(place):
    try:
        parallel.Vector(np.zeros(1), place)
    except crossgrain.Error as error:
        return str(error)
    return ""


def test_what_stands_in_for_cuda_gives_the_same(stand_in):
    again(stand_in, "cuda and (int32 and integers or float64 and point or truth or generated or any_steps)")


SECRETS = """
import numpy as np
from crossgrain import parallel
def made(key):
    assert parallel.transform(lambda x, k: (x ^ k) * key + 1, np.zeros(3, np.uint32), key, place="cuda:0")[0] == (key * key + 1) % 2**32
for key in (0xc0ffee15, 0x5eed5eed, 7):
    made(key)
"""


def test_no_text_for_what_stands_in_has_a_number_of_the_kernels(stand_in):
    folder, texts = Path(stand_in["LD_LIBRARY_PATH"]), Path(stand_in["STAND_IN_TEXTS"])
    before = set(texts.iterdir())
    subprocess.run([sys.executable, "-c", SECRETS], env={**os.environ, **stand_in}, check=True)
    # Three keys, but one program.
    [text] = set(texts.iterdir()) - before
    assert b"keys" in text.read_bytes()
    kept = [path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()]
    for key in (0xC0FFEE15, 0x5EED5EED):
        forms = [f"{key:x}".encode(), str(key).encode(), key.to_bytes(4, "little"), key.to_bytes(4, "big")]
        assert not any(form in text for form in forms for text in kept)
