"""Records under their own keys: the same bytes as one call for each, and refusals."""

import os

import numpy as np
import pytest

import crossgrain

MODES = ["ecb", "cbc", "ctr"]


def one_by_one(function, records, keys, ivs, cipher, mode):
    one = [] if mode == "ecb" else [{"iv": bytes(iv)} for iv in ivs]
    given = one or [{}] * len(keys)
    return b"".join(
        function(bytes(record), key=bytes(key), cipher=cipher, mode=mode, **iv) for record, key, iv in zip(records, keys, given)
    )


@pytest.mark.parametrize("cipher", list(crossgrain.CIPHERS))
@pytest.mark.parametrize("mode", MODES)
def test_records_are_those_of_one_call_each(cipher, mode):
    random = np.random.default_rng(7)
    for count, size in [(1, 16), (70, 48), (33, 1008)]:
        records = random.integers(0, 256, (count, size), np.uint8)
        keys = random.integers(0, 256, (count, crossgrain.CIPHERS[cipher]), np.uint8)
        ivs = random.integers(0, 256, (count, 16), np.uint8)
        given = {"keys": keys, "cipher": cipher, "mode": mode} | ({} if mode == "ecb" else {"ivs": ivs})
        want = one_by_one(crossgrain.encrypt, records, keys, ivs, cipher, mode)
        assert crossgrain.encrypt_records(records, **given) == want
        assert crossgrain.decrypt_records(want, threads=1, **given) == records.tobytes()
        place = records.copy()
        assert crossgrain.encrypt_records(place, out=place, **given) is place and place.tobytes() == want


def test_one_iv_serves_all_and_lengths_need_not_be_blocks():
    keys, records, iv = os.urandom(3 * 32), os.urandom(3 * 21), os.urandom(16)
    sealed = crossgrain.encrypt_records(records, keys=keys, ivs=iv)
    assert sealed == crossgrain.encrypt_records(records, keys=keys, ivs=3 * iv)
    assert sealed[21:42] == crossgrain.encrypt(records[21:42], key=keys[32:64], iv=iv)


def test_nothing_is_no_record():
    assert crossgrain.encrypt_records(b"", keys=b"", ivs=bytes(16)) == b""
    assert crossgrain.encrypt_records(b"", keys=bytes(64), ivs=bytes(16)) == b""


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"keys": bytes(33)}, ValueError, "keys has 33 bytes: give 32 for each record of aes-256"),
        ({"keys": bytes(96)}, ValueError, "data has 64 bytes, which 3 records of one length cannot have"),
        ({"keys": b""}, ValueError, "data has 64 bytes, which 0 records"),
        ({"ivs": bytes(17)}, ValueError, "ivs has 17 bytes: give 16, or 16 for each of 2 records"),
        ({"ivs": b""}, ValueError, "ivs has 0 bytes"),
        ({"mode": "ecb"}, ValueError, "ecb has no use for ivs"),
        ({"mode": "gcm"}, crossgrain.Error, "choose ecb, cbc or ctr"),
        ({"mode": "cbc", "data": bytes(60)}, crossgrain.Error, "block"),
        ({"cipher": "des"}, crossgrain.Error, "des"),
    ],
)
def test_refusals(given, error, why):
    given = {"data": bytes(64), "keys": bytes(64), "ivs": bytes(16)} | given
    with pytest.raises(error) as raised:
        crossgrain.encrypt_records(given.pop("data"), **given)
    assert why in str(raised.value) and len(str(raised.value).splitlines()) == 1
