"""Integers out of range are refused with one line that names the parameter and the range."""

import numpy as np
import pytest

import crossgrain
from crossgrain.random import AESCounter

KEY, IV = bytes(32), bytes(16)
SIZE = "0 to 2\\*\\*(64|32) - 1"


def known(**options):
    pair = (bytes(16), crossgrain.encrypt(bytes(16), key=KEY, mode="ecb"))
    return crossgrain.Search(**{"cipher": "aes-256", "known": [pair], "key_mask": "0" * 62 + "??", **options})


def sealed(tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY, overwrite=True)
    return tmp_path / "sealed"


def shard(**options):
    return crossgrain.search_shard(known(), **options)


#: A call with the number under test, its name, and its range.
CALLS = [
    (lambda at, _: crossgrain.encrypt(b"", key=KEY, iv=IV, threads=at), "threads", SIZE),
    (lambda at, _: crossgrain.decrypt(b"", key=KEY, iv=IV, sector=at), "sector", "0 to 2\\*\\*128 - 1"),
    (lambda at, _: crossgrain.encrypt(b"", key=KEY, iv=IV, sector_bytes=at), "sector_bytes", SIZE),
    (lambda at, _: crossgrain.seal(b"", key=KEY, nonce=IV, tag_bytes=at), "tag_bytes", SIZE),
    (lambda at, _: crossgrain.unseal(b"", key=KEY, nonce=IV, threads=at), "threads", SIZE),
    (lambda at, _: crossgrain.plan(threads=at), "threads", SIZE),
    (lambda at, _: crossgrain.compose("{}", runners_up=at), "runners_up", SIZE),
    (lambda at, _: AESCounter(1, threads=at), "threads", SIZE),
    (lambda at, path: crossgrain.encrypt_file(path, path, key=KEY, threads=at), "threads", SIZE),
    (lambda at, path: crossgrain.decrypt_file(path, path, key=KEY, threads=at), "threads", SIZE),
    (lambda at, path: crossgrain.EncryptedFile(path, key=KEY, threads=at), "threads", SIZE),
    (lambda at, path: crossgrain.EncryptedFile(path, key=KEY).seek(2 * at), "offset", "-2\\*\\*63 to 2\\*\\*63 - 1"),
    (lambda at, path: crossgrain.EncryptedFile(path, key=KEY).seek(0, at), "whence", "0 to 2"),
    (lambda at, _: known(sector=at), "sector", "0 to 2\\*\\*128 - 1"),
    (lambda at, _: known(iterations=at), "iterations", "0 to 2\\*\\*32 - 1"),
    (lambda at, _: known(log_n=at), "log_n", "0 to 255"),
    (lambda at, _: known(block_size=at), "block_size", "0 to 2\\*\\*32 - 1"),
    (lambda at, _: known(lanes=at), "lanes", "0 to 2\\*\\*32 - 1"),
    (lambda at, _: known(memory_kib=at), "memory_kib", "0 to 2\\*\\*32 - 1"),
    (lambda at, _: shard(threads=at), "threads", SIZE),
    (lambda at, _: shard(shard=(at, 1)), "shard", "0 to 2\\*\\*64 - 1"),
    (lambda at, _: shard(shard=(0, at)), "shard", "0 to 2\\*\\*64 - 1"),
]


@pytest.mark.parametrize("far", [-(1 << 140), 1 << 140])
@pytest.mark.parametrize("call, name, range_", CALLS)
def test_a_line_names_the_parameter_and_its_range(call, name, range_, far, tmp_path):
    with pytest.raises(crossgrain.Error, match=f"^{name} is out of range: give an integer from {range_}$"):
        call(far, sealed(tmp_path))
    with pytest.raises(TypeError, match=f"^{name} is an integer, not a str$"):
        call("many", sealed(tmp_path))


@pytest.mark.parametrize("call, name", [
    (lambda at: shard(skip=at), "skip"),
    (lambda at: shard(limit=at), "limit"),
    (lambda at: known(key_mask=None, range=(at, 5)), "range"),
])
def test_numbers_without_an_end(call, name):
    with pytest.raises(crossgrain.Error, match=f"^{name} is out of range: give an integer from 0 on$"):
        call(-1)


def test_what_counts_as_an_integer():
    assert crossgrain.encrypt(b"text", key=KEY, iv=IV, threads=np.int64(1)) == crossgrain.encrypt(b"text", key=KEY, iv=IV)
    assert shard(skip=np.uint8(0), limit=np.int16(256))[0].key == KEY
    state = AESCounter(1).state
    state.update(has_uint32=1, uinteger=-1)
    with pytest.raises(crossgrain.Error, match="^uinteger is out of range"):
        AESCounter(2).state = state
