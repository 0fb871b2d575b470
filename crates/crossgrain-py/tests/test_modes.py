"""Modes on all objects that lend bytes: the same results as OpenSSL, in place and apart, and refusals."""

import array
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossgrain

KEY = bytes(range(32))
IV = bytes(range(16))
TAGLESS = [mode.name for mode in crossgrain.MODES.values() if not mode.authenticated]
TAGGED = [mode.name for mode in crossgrain.MODES.values() if mode.authenticated]
# Modes that decrypt before they verify the tag, and leave zeros if it is wrong.
WIPING = {"ccm", "gcm", "gcm-siv", "ocb", "siv"}


def key_of(cipher, mode):
    size = crossgrain.CIPHERS[cipher] * crossgrain.MODES[mode].keys
    return bytes((7 * i + 3) % 256 for i in range(size))


def arguments(cipher, mode):
    given = {"key": key_of(cipher, mode), "cipher": cipher, "mode": mode}
    return given if crossgrain.MODES[mode].iv_bytes is None else {**given, "iv": IV}


@pytest.mark.parametrize("mode", ["ctr", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ecb"])
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_openssl_gives_the_same(mode, bits):
    if shutil.which("openssl") is None:
        pytest.skip("openssl (not installed)")
    data = os.urandom(16 * 1000)
    given = arguments(f"aes-{bits}", mode)
    iv = ["-iv", IV.hex()] if "iv" in given else []
    command = ["openssl", "enc", f"-aes-{bits}-{mode}", "-nopad", "-K", given["key"].hex(), *iv]
    want = subprocess.run(command, input=data, capture_output=True, check=True).stdout
    assert crossgrain.encrypt(data, **given) == want
    assert crossgrain.decrypt(want, **given) == data


@pytest.mark.parametrize("cipher", list(crossgrain.CIPHERS))
@pytest.mark.parametrize("mode", TAGLESS)
def test_there_and_back(cipher, mode):
    given = arguments(cipher, mode)
    for size in (512, 512 * 2000 if mode not in ("cfb8", "cfb1", "ofb") else 1024):
        data = os.urandom(size)
        sealed = crossgrain.encrypt(data, **given)
        assert sealed != data and len(sealed) == size
        assert crossgrain.decrypt(sealed, **given) == data
        assert crossgrain.encrypt(data, threads=1, **given) == sealed
        place = bytearray(data)
        assert crossgrain.encrypt(place, out=place, **given) is place
        assert place == sealed


@given(data=st.binary(max_size=5000), wrap=st.sampled_from([bytes, bytearray, memoryview, np.frombuffer, array.array]))
def test_whatever_lends_its_bytes(data, wrap):
    if wrap is np.frombuffer:
        lent = np.frombuffer(data, np.uint8)
    elif wrap is array.array:
        lent = array.array("B", data)
    else:
        lent = wrap(data)
    want = crossgrain.encrypt(data, key=KEY, iv=IV)
    assert crossgrain.encrypt(lent, key=KEY, iv=IV) == want
    out = np.zeros(len(data), np.uint8)
    assert crossgrain.encrypt(lent, key=KEY, iv=IV, out=out) is out
    assert out.tobytes() == want


@given(
    shape=st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 9)),
    dtype=st.sampled_from(["u1", "i2", "f4", "f8", "c16", "S3"]),
)
def test_arrays_of_any_shape_and_type(shape, dtype):
    whole = np.zeros(shape, dtype)
    whole.reshape(-1).view(np.uint8)[:] = np.arange(whole.nbytes) % 251
    out = np.empty_like(whole)
    crossgrain.encrypt(whole, key=KEY, iv=IV, out=out)
    assert out.tobytes() == crossgrain.encrypt(whole.tobytes(), key=KEY, iv=IV)


def test_strides_are_refused_in_words():
    array_ = np.zeros((8, 8))
    for lies in (array_[:, ::2], array_[::-1], np.asfortranarray(np.zeros((4, 3))), array_.T[:3]):
        with pytest.raises((ValueError, BufferError), match="ascontiguousarray"):
            crossgrain.encrypt(lies, key=KEY, iv=IV)
        with pytest.raises((ValueError, BufferError), match="ascontiguousarray"):
            crossgrain.encrypt(bytes(lies.nbytes), key=KEY, iv=IV, out=lies)


def test_read_only_memory_is_not_written():
    data = bytes(64)
    frozen = np.zeros(64, np.uint8)
    frozen.flags.writeable = False
    for out in (data, memoryview(data), frozen):
        with pytest.raises(BufferError, match="writable"):
            crossgrain.encrypt(data, key=KEY, iv=IV, out=out)
    assert data == bytes(64) and not frozen.any()


@given(size=st.integers(0, 300), shift=st.integers(-40, 40))
def test_memory_that_overlaps_in_part_is_refused(size, shift):
    memory = np.arange(400, dtype=np.uint16).astype(np.uint8)
    data, out = memory[50 : 50 + size], memory[50 + shift : 50 + shift + size]
    before = memory.copy()
    if shift == 0 or abs(shift) >= size:
        want = crossgrain.encrypt(data.tobytes(), key=KEY, iv=IV)
        crossgrain.encrypt(data, key=KEY, iv=IV, out=out)
        assert out.tobytes() == want
    else:
        with pytest.raises(ValueError, match="overlaps"):
            crossgrain.encrypt(data, key=KEY, iv=IV, out=out)
        assert (memory == before).all()


def test_out_must_be_as_long_as_the_result():
    with pytest.raises(ValueError, match="out has 3 bytes and the result 4"):
        crossgrain.encrypt(b"four", key=KEY, iv=IV, out=bytearray(3))


@pytest.mark.parametrize("mode", TAGGED)
@pytest.mark.parametrize("cipher", list(crossgrain.CIPHERS))
def test_a_message_is_sealed_and_opened(mode, cipher):
    given = {"key": key_of(cipher, mode), "nonce": b"twelve bytes", "aad": b"head", "cipher": cipher, "mode": mode}
    if mode == "gcm-siv" and cipher not in ("aes-128", "aes-256"):
        with pytest.raises(ValueError, match=cipher):
            crossgrain.seal(b"some text", **given)
        return
    for size in (0, 1, 16, 1000, 100_000):
        data = os.urandom(size)
        sealed = crossgrain.seal(data, **given)
        assert len(sealed) == size + 16
        assert crossgrain.unseal(sealed, **given) == data
        place = bytearray(data + bytes(16))
        crossgrain.seal(memoryview(place)[:size], out=place, **given)
        assert place == sealed
        crossgrain.unseal(place, out=memoryview(place)[:size], **given)
        assert place[:size] == data
        for at in {0, size // 2, size, size + 15}:
            wrong = bytearray(sealed)
            wrong[at] ^= 1
            out = bytearray(b"\xa5" * size)
            with pytest.raises(crossgrain.Forged):
                crossgrain.unseal(wrong, out=out, **given)
            assert out == (bytes(size) if mode in WIPING else b"\xa5" * size)
        with pytest.raises(crossgrain.Forged):
            crossgrain.unseal(sealed, **{**given, "aad": b"tail"})


RFC5297_A1 = {
    "key": bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"),
    "aad": bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627"),
}
RFC5297_A2 = {
    "key": bytes.fromhex("7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f"),
    "aad": [
        bytes.fromhex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100"),
        bytes.fromhex("102030405060708090a0"),
    ],
    "nonce": bytes.fromhex("09f911029d74e35bd84156c5635688c0"),
}


@pytest.mark.parametrize(
    ("given", "plain", "sealed"),
    [
        (RFC5297_A1, "112233445566778899aabbccddee", "40c02b9690c4dc04daef7f6afe5c85632d07c6e8f37f950acd320a2ecc93"),
        (
            RFC5297_A2,
            b"this is some plaintext to encrypt using SIV-AES".hex(),
            "cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d7bdb6e3b432667eb06f4d14bff2fbd0f",
        ),
    ],
)
def test_siv_is_rfc_5297s(given, plain, sealed):
    given = {**given, "cipher": "aes-128", "mode": "siv"}
    assert crossgrain.seal(bytes.fromhex(plain), **given).hex() == sealed
    assert crossgrain.unseal(bytes.fromhex(sealed), **given).hex() == plain


def test_siv_tells_no_string_from_an_empty_one():
    given = {"key": key_of("aes-256", "siv"), "mode": "siv"}
    lists = [None, b"", [b"", b""], [b"ab"], (b"a", bytearray(b"b")), [np.frombuffer(b"b", np.uint8), b"a"]]
    sealed = [crossgrain.seal(b"some text", aad=aad, **given) for aad in lists]
    assert len(set(sealed)) == len(lists)
    for same, other in ((None, []), (b"", [b""]), ([b"ab"], b"ab")):
        assert crossgrain.seal(b"some text", aad=same, **given) == crossgrain.seal(b"some text", aad=other, **given)
    for i, message in enumerate(sealed):
        for j, aad in enumerate(lists):
            if i == j:
                assert crossgrain.unseal(message, aad=aad, **given) == b"some text"
            else:
                with pytest.raises(crossgrain.Forged, match='needs aad=b""' if aad is None else "is not the right one$"):
                    crossgrain.unseal(message, aad=aad, **given)
    assert crossgrain.seal(b"some text", nonce=b"", **given) == sealed[0], "an empty nonce is none"
    cryptography = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead")
    if hasattr(cryptography, "AESSIV"):
        for aad, other in ((None, []), ([b"a", b"b"], [b"a", b"b"])):
            want = cryptography.AESSIV(given["key"]).encrypt(b"some text", other)
            ours = crossgrain.seal(b"some text", aad=aad, **given)
            assert ours == want[16:] + want[:16], "the tag comes first there"


@pytest.mark.parametrize("mode", [mode for mode in TAGGED if mode != "siv"])
def test_other_modes_take_one_string_and_need_a_nonce(mode):
    given = {"key": KEY, "nonce": b"twelve bytes", "mode": mode}
    assert crossgrain.seal(b"some text", **given) == crossgrain.seal(b"some text", aad=b"", **given)
    for call, data in ((crossgrain.seal, b"some text"), (crossgrain.unseal, bytes(20))):
        for aad in ([], [b"head"], (b"a", b"b")):
            with pytest.raises(crossgrain.Error, match=f"{mode} takes one string of associated data"):
                call(data, aad=aad, **given)
        with pytest.raises(crossgrain.Error, match="nonce"):
            call(data, key=KEY, mode=mode)
    for aad in (5, "head"):
        with pytest.raises(BufferError, match="aad cannot be used"):
            crossgrain.seal(b"some text", aad=aad, **given)


def test_gcm_is_gcm():
    cryptography = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead")
    want = cryptography.AESGCM(KEY).encrypt(IV[:12], b"some text", b"head")
    assert crossgrain.seal(b"some text", key=KEY, nonce=IV[:12], aad=b"head") == want


@pytest.mark.parametrize(
    ("given", "mends"),
    [
        ({"key": KEY[:5], "iv": IV}, "32 bytes"),
        ({"key": KEY, "iv": IV[:3]}, "iv of 16 bytes (32 hex digits), not 3"),
        ({"key": KEY, "iv": b""}, "iv of 16 bytes (32 hex digits), not 0"),
        ({"key": KEY, "iv": IV, "mode": "ecb"}, "takes no iv"),
        ({"key": KEY, "iv": IV, "mode": "gcm"}, "choose one of ecb"),
        ({"key": KEY, "mode": "ebc"}, "choose one of ecb"),
        ({"key": KEY, "iv": IV, "cipher": "des"}, "choose one of aes-128"),
        ({"key": KEY, "iv": IV, "policy": "none"}, "constant-time or any"),
        ({"key": KEY, "iv": IV, "isa": "avx3"}, "avx512"),
        ({"key": KEY, "iv": IV, "mode": "cbc"}, "16-byte blocks"),
        ({"key": KEY, "mode": "xts", "cipher": "aes-128", "sector_bytes": 3}, "sector"),
        ({"key": KEY, "iv": IV, "variants": ["x"]}, "crossgrain variants"),
    ],
)
def test_nonsense_is_refused_in_one_line(given, mends):
    with pytest.raises(crossgrain.Error) as refused:
        crossgrain.encrypt(b"17 bytes of text!", **given)
    assert mends in str(refused.value) and "\n" not in str(refused.value)
    assert issubclass(crossgrain.Error, ValueError) and issubclass(crossgrain.Forged, crossgrain.Error)


def test_what_lends_no_bytes_is_refused():
    for data in ("text", 5, None, [1, 2]):
        with pytest.raises(BufferError, match="data cannot be used"):
            crossgrain.encrypt(data, key=KEY, iv=IV)


def test_other_threads_run_meanwhile():
    data = np.zeros(1 << 25, np.uint8)
    done = threading.Event()
    worker = threading.Thread(target=lambda: (crossgrain.encrypt(data, key=KEY, iv=IV, threads=1, isa="portable"), done.set()))
    worker.start()
    steps = 0
    while not done.is_set():
        steps += 1
    worker.join()
    assert steps > 1000


THREADLESS = """
import os, resource, crossgrain
if os.geteuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
key, data = bytes(16), bytes(1 << 22)
search = crossgrain.Search(cipher="aes-128", known=[(data[:16], crossgrain.encrypt(data[:16], key=key, cipher="aes-128", mode="ecb"))], range=(0, 999))
works = [
    lambda: crossgrain.encrypt(data, key=bytes(32), iv=key, threads=4),
    lambda: crossgrain.random.AESCounter(1, threads=4),
    lambda: crossgrain.search_shard(search, threads=4),
    lambda: crossgrain.search_shard(search, threads=1),
]
for number, work in enumerate(works):
    try:
        work()
        raise AssertionError(f"{number} was done")
    except crossgrain.Error as refused:
        assert "no threads can be had" in str(refused) and "\\n" not in str(refused), (number, refused)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits (not on this system)")
def test_where_no_thread_can_be_had_an_error_says_so():
    subprocess.run([sys.executable, "-c", THREADLESS], check=True)
