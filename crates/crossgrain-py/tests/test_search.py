"""Key search: planted keys are found with their numbers, and no other keys are."""

import hashlib
import pickle
import threading
import time

import pytest

import crossgrain
from crossgrain import Found, Search, search_shard

KEYS = {cipher: bytes(range(1, size + 1)) for cipher, size in crossgrain.CIPHERS.items() if size in (16, 24, 32)}
PLAIN = b"sixteen letters!some more"


def crypt(key, mode="ecb", cipher="aes-128", iv=b"", plain=PLAIN[:16]):
    return crossgrain.encrypt(plain, key=key, iv=iv, cipher=cipher, mode=mode)


def lost(key=KEYS["aes-128"], cipher="aes-128", **options):
    return Search(**{"cipher": cipher, "known": [(PLAIN[:16], crypt(key, cipher=cipher or "aes-128"))], **options})


@pytest.mark.parametrize("cipher", KEYS)
def test_a_key_of_which_digits_are_lost(cipher):
    key = KEYS[cipher]
    # Kernels generated from a cipher's description expand only few keys per second in a hardly optimised
    # build.
    digits = 3 if cipher.startswith(("aes", "serpent")) else 2
    for at in (0, 5, 2 * len(key) - digits):
        search = lost(key, cipher, key_mask=key.hex()[:at] + "?" * digits + key.hex()[at + digits :])
        number = int(key.hex()[at : at + digits], 16)
        assert search.size == 16**digits
        assert search_shard(search) == [Found(number, key, key)]
        assert search_shard(search, skip=number, limit=1, goes_on=True)[0].key == key
        assert search_shard(search, skip=number + 1) == [] == search_shard(search, limit=number)
        with pytest.raises(crossgrain.NothingTried):
            search_shard(search, skip=16**digits)


def test_shards_meet_and_do_not_overlap():
    key = KEYS["aes-128"]
    search = lost(key, key_mask=key.hex()[:-3] + "???")
    found = [search_shard(search, skip=7, shard=(i, 11)) for i in range(11)]
    assert sum(found, []) == [Found(int(key.hex()[-3:], 16), key, key)]


def test_numbers_are_exact():
    key = bytes(31) + b"\x05"
    search = lost(key, "aes-256", range=(0, (1 << 256) - 1))
    assert search.size == 1 << 256
    assert search_shard(search, limit=6) == [Found(5, key, key)]
    high = b"\xff" * 31 + b"\xfa"
    search = lost(high, "aes-256", key_mask="?" * 64)
    assert search_shard(search, skip=(1 << 256) - 9)[0].number == (1 << 256) - 6
    with pytest.raises(crossgrain.Error, match="smaller"):
        search_shard(search)


@pytest.mark.parametrize("mode", ["ctr", "cbc", "cfb", "cfb8", "cfb1", "ofb"])
def test_texts_in_modes_and_in_part(mode):
    key, iv = KEYS["aes-128"], bytes(range(16))
    sealed = crypt(key, mode, iv=iv, plain=PLAIN[:16] * 2)
    mask = key.hex()[:-3] + "???"
    for plain in (PLAIN[:16], PLAIN[:16].hex(), PLAIN[:10].hex() + "?" * 12, "?" * 32 + PLAIN[:16].hex()):
        if mode == "ofb" and plain[0] == "?":
            continue
        search = Search(cipher="aes-128", known=[(plain, sealed)], mode=mode, iv=iv, key_mask=mask)
        assert [found.key for found in search_shard(search, goes_on=True)] == [key]


def test_words_and_what_is_made_of_them():
    words = ["no", "Secret", "pass", "x" * 17]
    key = b"s3cr3t!".ljust(16, b"\0")
    with pytest.warns(UserWarning, match="2 candidates were left out, being too long for a key .the first is of word 3"):
        found = search_shard(lost(key, words=words, rules=[":", "l se3 $!"]), goes_on=True)
    assert found == [Found(3, b"s3cr3t!", key)]
    keys = [bytes([i]) * 16 for i in range(40)]
    for form, listed in (("raw", b"".join(keys)), ("hex", "\r\n".join(key.hex() for key in keys).encode())):
        for key in keys[::13]:
            assert search_shard(lost(key, words=listed, form=form)) == [Found(key[0], key, key)]
    key = bytes.fromhex("55ac046e56e3089fec1691c22544b605")  # of "passwd" and "salt", RFC 7914 section 11
    derived = lost(key, words=["pass", "passwd"], kdf="pbkdf2-sha256", salt=b"salt", iterations=1)
    assert search_shard(derived) == [Found(1, b"passwd", key)]


@pytest.mark.parametrize("cipher", ["aes-256", "serpent-128"])
@pytest.mark.parametrize("mode", ["eax", "gcm"])
def test_a_tag_tells_the_key(mode, cipher):
    key = KEYS[cipher]
    sealed = crossgrain.seal(PLAIN, key=key, nonce=bytes(12), aad=b"of", cipher=cipher, mode=mode)
    message = {"crypt": sealed[:-16], "tag": sealed[-16:], "iv": bytes(12), "aad": b"of"}
    mask = key.hex()[:-2] + "??"
    search = Search(cipher=cipher, mode=mode, key_mask=mask, **message)
    assert search_shard(search, goes_on=True) == [Found(key[-1], key, key)]
    assert search_shard(Search(cipher=cipher, mode=mode, key_mask=mask, **message | {"aad": b"off"})) == []


@pytest.mark.parametrize("aad", [None, b"", [b"of", b"f"]])
def test_a_tag_of_siv_tells_the_key_by_a_list_of_strings(aad):
    key = bytes(range(32))
    sealed = crossgrain.seal(PLAIN, key=key, aad=aad, cipher="aes-128", mode="siv")
    given = {"cipher": "aes-128", "mode": "siv", "key_mask": key.hex()[:-2] + "??", "crypt": sealed[:-16], "tag": sealed[-16:]}
    assert search_shard(Search(**given, aad=aad), goes_on=True) == [Found(key[-1], key, key)]
    assert search_shard(Search(**given, aad=[b""] if aad is None else None)) == []


@pytest.mark.parametrize("kdf", ["pbkdf2-sha256", "pbkdf2-sha512", "scrypt", "argon2id"])
def test_a_salt_that_is_absent_is_no_empty_one(kdf):
    given = {"words": [b"w"], "kdf": kdf, "iterations": 1, "log_n": 1, "memory_kib": 64}
    with pytest.raises(crossgrain.Error, match=f"{kdf} takes a salt"):
        lost(bytes(16), **given)
    if kdf.startswith("pbkdf2"):
        key = hashlib.pbkdf2_hmac(kdf.removeprefix("pbkdf2-"), b"w", b"", 1, 16)
        assert search_shard(lost(key, **given | {"salt": b"", "log_n": 0, "memory_kib": 0})) == [Found(0, b"w", key)]


def test_a_sector_tells_both_keys():
    key, sector = bytes(range(32)), bytes(range(256)) * 2
    sealed = crossgrain.encrypt(sector, key=key, cipher="aes-128", mode="xts", sector=7)
    known = [("?" * 32 + sector[16:40].hex(), sealed)]
    search = Search(cipher="aes-128", mode="xts", sector=7, known=known, key_mask=key.hex()[:-2] + "??")
    assert [found.key for found in search_shard(search, goes_on=True)] == [key]
    listed = Search(cipher="aes-128", mode="xts", sector=7, known=known, words=bytes(64) + key, form="raw")
    assert search_shard(listed) == [Found(2, key, key)]


@pytest.mark.parametrize("mode", ["ecb", "cbc"])
@pytest.mark.parametrize("looks, plain", [("printable", b"nothing but text, line by line.\n"), ("file", b"%PDF-1.7" + bytes(8))])
def test_the_looks_of_a_text_tell_the_key(mode, looks, plain):
    key, iv = KEYS["aes-128"], bytes(16) if mode == "cbc" else b""
    sealed = crypt(key, mode, iv=iv, plain=plain)
    search = Search(cipher="aes-128", mode=mode, iv=iv, crypt=sealed.hex(), looks=looks, mask=key.hex()[:-2] + "?h?h", hex=True)
    assert [found.key for found in search_shard(search)] == [key]


def test_an_encrypted_file_tells_its_secret(tmp_path):
    (tmp_path / "plain").write_bytes(PLAIN)
    key = bytes(range(32))
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "by-key", key=key)
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "by-words", passphrase="pass word")
    search = Search(file=tmp_path / "by-key", key_mask=key.hex()[:-2] + "??")
    assert search_shard(search, goes_on=True) == [Found(key[-1], key, key)] and "secret" in repr(search)
    words = Search(file=(tmp_path / "by-words").read_bytes(), words=["no", "pass word"])
    assert search_shard(pickle.loads(pickle.dumps(words)))[0].candidate == b"pass word"
    for wrong, why in (
        ({"range": (0, 5)}, "takes a passphrase"),
        ({"words": b"pass", "form": "raw"}, "takes a passphrase"),
        ({"words": b"pass", "kdf": "zeros"}, "leave out kdf"),
        ({"words": b"pass", "cipher": "aes-256"}, "no use for cipher: leave it out"),
        ({"words": b"pass", "sector": 3, "lanes": 2}, "leave out sector, lanes"),
        ({"words": b"pass", "mode": "xts"}, "no use for mode: leave it out"),
        ({"words": b"pass", "file": b"no such beginning"}, "no known format"),
        ({"words": b"pass", "file": b"no such beginning", "format": "crossgrain"}, "no file of crossgrain's"),
        ({"words": b"pass", "file": (tmp_path / "by-words").read_bytes()[:40]}, "cut off"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            Search(**{"file": tmp_path / "by-words", **wrong})


@pytest.mark.parametrize("device", [device.name for device in crossgrain.devices()[1:]] or [None])
def test_devices_find_keys(device):
    if device is None:
        pytest.skip("python: a search on a device (there is none, or the package was built without them)")
    key = KEYS["aes-128"]
    search = lost(key, key_mask=key.hex()[:-4] + "????")
    assert search_shard(search, device=device, goes_on=True) == [Found(int(key.hex()[-4:], 16), key, key)]
    assert search_shard(search, device="gpu", limit=5000) == search_shard(search, limit=5000)
    derived = {"kdf": "pbkdf2-sha256", "salt": b"salt", "iterations": 100}
    words = lost(hashlib.pbkdf2_hmac("sha256", b"word77", b"salt", 100, 16), words=[f"word{at}" for at in range(100)], **derived)
    assert [found.candidate for found in search_shard(words, device=device, threads=1)] == [b"word77"]
    masked = lost(hashlib.pbkdf2_hmac("sha256", b"word77", b"salt", 100, 16), mask="word?d?d", **derived)
    assert [found.candidate for found in search_shard(masked, device=device, threads=1)] == [b"word77"]
    assert [found.candidate for found in search_shard(lost(key, words=[b"a" * 16, key]), device=device)] == [key]
    with pytest.raises(crossgrain.Error, match="of words it takes those whose keys are made by"):
        search_shard(lost(key, words=["a"], **(derived | {"kdf": "pbkdf2-sha512"})), device=device)
    with pytest.raises(crossgrain.Error, match="padded"):
        search_shard(lost(key, mask="?b", **(derived | {"kdf": "pbkdf2-sha512"})), device=device)


@pytest.mark.parametrize("device", [device.name for device in crossgrain.devices()[1:]] or [None])
def test_several_devices_share_a_search(device):
    if device is None:
        pytest.skip("python: a search on a device (there is none, or the package was built without them)")
    key = KEYS["aes-128"]
    search = lost(key, key_mask=key.hex()[:-4] + "????")
    number = int(key.hex()[-4:], 16)
    for twice in ([device, device], (device, device), f"{device},{device}"):
        tried = []
        found = search_shard(search, device=twice, goes_on=True, progress=lambda *at: tried.append(at))
        assert found == [Found(number, key, key)] and tried[-1] == (search.size, search.size)
    words = lost(hashlib.sha256(b"word77").digest()[:16], words=[f"word{at}" for at in range(100)], kdf="sha256")
    assert [found.candidate for found in search_shard(words, device=[device] * 2)] == [b"word77"]


@pytest.mark.parametrize("wrong", [7, b"wgpu:0", ["wgpu:0", None], {"wgpu:0"}])
def test_what_names_no_devices(wrong):
    with pytest.raises(crossgrain.Error, match="device names one device or several: give"):
        search_shard(lost(mask="?b"), device=wrong)


def test_one_wrong_name_among_devices():
    with pytest.raises(crossgrain.Error, match="cuda:x: there is no device cuda:x|: this package"):
        search_shard(lost(mask="?b"), device=["cuda:x", "cuda:x"])


def test_masks_and_sets():
    key = b"ab-7".ljust(16, b"\0")
    assert search_shard(lost(key, mask="?l?1-?d", sets=["ab"]))[0].candidate == b"ab-7"
    key = KEYS["aes-128"]
    assert search_shard(lost(key, mask=key.hex()[:-2] + "?h?h", hex=True))[0].key == key


def test_progress_and_an_end_before_the_end():
    search = lost(mask="?b" * 16)
    told = []

    def enough(tried, total):
        told.append((tried, total))
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_shard(search, limit=1 << 40, progress=enough)
    assert [total for _, total in told] == [1 << 40] * 3
    small, last = lost(mask="?b?b?b"), []
    assert search_shard(small, limit=5000, progress=lambda *at: last.append(at)) == []
    assert last[-1] == (5000, 5000)


def test_others_run_meanwhile():
    count, done = 0, threading.Event()
    thread = threading.Thread(target=lambda: (search_shard(lost(mask="?b?b?b")), done.set()))
    thread.start()
    while not done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 0


def test_what_is_refused_and_what_is_shown():
    key = KEYS["aes-128"]
    for wrong, why in (
        ({}, "one way"),
        ({"key_mask": key.hex(), "mask": "?b"}, "one way"),
        ({"key_mask": "0?"}, "too short"),
        ({"key_mask": "xy"}, "hex digits"),
        ({"mask": "?q"}, "no set"),
        ({"range": (5, 4)}, "lower first"),
        ({"words": b"a", "form": "csv"}, "no form"),
        ({"words": b"a", "kdf": "md5"}, "no kdf"),
        ({"mask": "?b", "mode": "xyz"}, "no mode"),
        ({"mask": "?b", "mode": "ctr"}, "iv of 16"),
        ({"mask": "?b", "iv": bytes(16)}, "ecb takes no iv"),
        ({"mask": "?b", "tag": bytes(16)}, "ecb takes no tag"),
        ({"mask": "?b", "crypt": "00"}, "no crypt without looks"),
        ({"mask": "?b", "known": []}, "nothing is known"),
        ({"mask": "?b", "looks": "printable"}, "leave known out"),
        ({"mask": "?b", "looks": "nice", "known": [], "crypt": bytes(16)}, "no look"),
        ({"mask": "?b", "looks": "printable", "known": []}, "no bit of the result"),
        ({"mask": "?b", "mode": "gcm", "known": [], "crypt": b"a"}, "tag"),
        ({"mask": "?b", "cipher": None}, "no cipher"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            search_shard(lost(key, **wrong))
    with pytest.raises(crossgrain.Error, match="cuda:x: there is no device cuda:x|cuda:x: this package"):
        search_shard(lost(key, mask="?b"), device="cuda:x")
    with pytest.raises(crossgrain.Error, match="hex digits"):
        Search(cipher="aes-128", known=[("0 ", "00")], mask="?b")
    search = lost(key, key_mask=key.hex()[:-2] + "??")
    assert key.hex()[:8] not in repr(search) and "256 candidates" in repr(search)
    assert pickle.loads(pickle.dumps(search)) == search
