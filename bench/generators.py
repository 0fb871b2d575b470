"""Times random generators from Python: ours, NumPy's, and randomgen's where it is installed.

Every figure is the fastest of some runs, on one thread unless said. Answers are checked before anything is timed.
"""

import argparse
import ctypes
import platform
import time

import numpy as np
from numpy.random import PCG64, SFC64, Generator, Philox

from crossgrain import devices
from crossgrain.random import AESCounter, SerpentCounter

try:
    from randomgen import AESCounter as TheirAESCounter
except ImportError:
    TheirAESCounter = None

RUNS = 7


def check() -> None:
    words = AESCounter(1, threads=1).random_raw(100_000)
    assert np.array_equal(AESCounter(1).random_raw(100_000), words)
    assert np.array_equal(Generator(AESCounter(1)).random(100_000), (words >> np.uint64(11)) * 2.0**-53)
    assert AESCounter(1).bytes(99) == words.tobytes()[:99]
    if TheirAESCounter is not None:
        assert np.array_equal(TheirAESCounter(1).random_raw(100_000), words)


def gb_per_s(work, len_bytes: int) -> float:
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return len_bytes / best / 1e9


def row(name: str, work, len_bytes: int, figures: dict) -> None:
    figures[name] = gb_per_s(work, len_bytes)
    print(f"{name:<44} {figures[name]:8.2f} GB/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=10**8, help="how many words of 64 bits a run makes")
    count = parser.parse_args().words
    check()
    [cpu, *_] = devices()
    print(f"{cpu.model}, {cpu.threads} threads, Python {platform.python_version()}, NumPy {np.__version__}\n")
    words, numbers = np.zeros(count, np.uint64), np.zeros(count)
    size, figures = 8 * count, {}
    # Not of zeros, which some memories take at twice the speed of anything else.
    row("memset", lambda: ctypes.memset(words.ctypes.data, 0x5A, size), size, figures)
    one, all_, serpent = AESCounter(1, threads=1), AESCounter(1), SerpentCounter(1)
    row("AESCounter.fill, bits", lambda: one.fill(words, kind="bits"), size, figures)
    row("AESCounter.fill, bits, all threads", lambda: all_.fill(words, kind="bits"), size, figures)
    row("AESCounter.fill, uniform", lambda: one.fill(numbers), size, figures)
    row("AESCounter.fill, uniform, all threads", lambda: all_.fill(numbers), size, figures)
    row("SerpentCounter.fill, bits, all threads", lambda: serpent.fill(words, kind="bits"), size, figures)
    few = np.zeros(1 << 15, np.uint64)
    row("AESCounter.fill, bits, 256 KiB", lambda: [one.fill(few, kind="bits") for _ in range(100)], 100 * few.nbytes, figures)
    pcg, sfc = Generator(PCG64(1)), Generator(SFC64(1))
    some = count // 10
    row("numpy Generator.bytes", lambda: pcg.bytes(8 * some), 8 * some, figures)
    for cls in (PCG64, SFC64, Philox):
        row(f"numpy {cls.__name__}.random_raw", lambda: cls(1).random_raw(some), 8 * some, figures)
    row("numpy Generator(PCG64).random", lambda: pcg.random(out=numbers), size, figures)
    row("numpy Generator(SFC64).random", lambda: sfc.random(out=numbers), size, figures)
    row("Generator(AESCounter).random", lambda: Generator(one).random(out=numbers), size, figures)
    if TheirAESCounter is not None:
        theirs = Generator(TheirAESCounter(1))
        row("Generator(randomgen.AESCounter).random", lambda: theirs.random(out=numbers), size, figures)
    print()
    fastest_raw = max(figures[f"numpy {name}.random_raw"] for name in ("PCG64", "SFC64", "Philox"))
    for name, ratio in {
        "fill, bits / Generator.bytes": figures["AESCounter.fill, bits"] / figures["numpy Generator.bytes"],
        "fill, bits / fastest random_raw": figures["AESCounter.fill, bits"] / fastest_raw,
        "fill, bits / memset": figures["AESCounter.fill, bits"] / figures["memset"],
        "fill, uniform / PCG64 random": figures["AESCounter.fill, uniform"] / figures["numpy Generator(PCG64).random"],
        "fill, uniform / SFC64 random": figures["AESCounter.fill, uniform"] / figures["numpy Generator(SFC64).random"],
        "all threads / one": figures["AESCounter.fill, bits, all threads"] / figures["AESCounter.fill, bits"],
    }.items():
        print(f"{name:<44} {ratio:8.2f} x")
    if TheirAESCounter is not None:
        ratio = figures["Generator(AESCounter).random"] / figures["Generator(randomgen.AESCounter).random"]
        print(f"{'Generator over ours / over randomgen':<44} {ratio:8.2f} x")


if __name__ == "__main__":
    main()
