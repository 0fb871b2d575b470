"""Several targets of one search: pairs of texts and encrypted files, each with a key of its own."""

import itertools
import os
import pickle
import subprocess
from pathlib import Path

import pytest

import crossgrain
from crossgrain import Found, NothingTried, Search, search_shard

PLAIN = b"sixteen letters!"
WORDS = [f"word{at}" for at in range(40)]


def key(word):
    return word.encode().ljust(16, b"\0")


def pair(word):
    return PLAIN, crossgrain.encrypt(PLAIN, key=key(word), cipher="aes-128", mode="ecb")


def listed(*words, **options):
    """A search for the keys that words give by padding."""
    return Search(**{"cipher": "aes-128", "targets": [pair(word) for word in words], "words": WORDS, **options})


def found(*numbers):
    """The hits of targets, whose words have these numbers."""
    return sorted(Found(number, f"word{number}".encode(), key(f"word{number}"), target) for target, number in enumerate(numbers) if number is not None)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of crossgrain by keys, with the numbers of the keys."""
    monkeypatch.chdir(tmp_path)
    Path("plain").write_bytes(PLAIN)
    for number in (3, 200):
        crossgrain.encrypt_file("plain", f"{number}.cg", key=bytes(31) + bytes([number]))
    return tmp_path


@pytest.mark.parametrize("threads", [1, 2])
def test_every_target_is_found(threads):
    search = listed("word30", "word7", "word39")
    assert search_shard(search, threads=threads) == found(30, 7, 39)
    assert pickle.loads(pickle.dumps(search)) == search and "3 targets" in repr(search) and "word" not in repr(search)
    assert [one.target for one in search_shard(search)] == [1, 0, 2]
    assert search_shard(listed("word30", "none", "word7")) == found(30, None, 7)
    assert search_shard(listed("none", "nor")) == []
    assert search_shard(listed("word5")) == found(5)
    assert search_shard(listed("word5", "word5")) == found(5, 5)
    with pytest.raises(NothingTried):
        search_shard(search, limit=0)


def test_one_target_may_be_enough():
    hits = search_shard(listed("word30", "word7", "none", any_target=True), threads=1)
    # A second one may be found before the search ends.
    assert hits and all(one in found(30, 7) for one in hits)
    assert search_shard(listed("none", "word7", any_target=True)) == found(None, 7)
    assert search_shard(listed("none", any_target=True)) == []


def test_parts_are_cut_at_every_place():
    search = listed("word1", "word4", "word4", words=WORDS[:6])
    for skip, limit in itertools.product(range(6), (1, 2, 5)):
        numbers = [number if skip <= number < skip + limit else None for number in (1, 4, 4)]
        assert search_shard(search, skip=skip, limit=limit) == found(*numbers)
    assert [search_shard(search, shard=(at, 6)) for at in range(6)] == [[], found(1), [], [], found(None, 4, 4), []]


def test_one_key_of_each_target_is_enough_unless_all_are_wanted():
    words = ["word1", "word2", "word1", "word2", "word1"]
    ones = [Found(at, word.encode(), key(word), target) for at, word in enumerate(words) for target in range(2) if word == f"word{target + 1}"]
    assert search_shard(listed("word1", "word2", words=words), threads=1) == ones[:2]
    assert search_shard(listed("word1", "word2", words=words), goes_on=True) == ones


@pytest.mark.parametrize("candidates", [{"mask": "word?d?d"}, {"words": ["word"], "mask_after": "?d?d"}, {"words": ["wo"], "words_after": WORDS, "rule_right": "D1 D0"}])
def test_targets_by_other_candidates(candidates):
    search = listed("word27", "word14", "nothing", **candidates, **({} if "words" in candidates else {"words": None}))
    assert {(one.text, one.target) for one in search_shard(search, goes_on=True)} == {("word27", 0), ("word14", 1)}


@pytest.mark.parametrize("kdf", ["sha256", "pbkdf2-sha256"])
def test_derived_keys_are_tried_on_all_targets(kdf):
    import hashlib

    salt = {"salt": b"salt", "iterations": 3} if kdf != "sha256" else {}
    derive = (lambda word: hashlib.pbkdf2_hmac("sha256", word, b"salt", 3, 16)) if salt else lambda word: hashlib.sha256(word).digest()[:16]
    targets = [(PLAIN.hex(), crossgrain.encrypt(PLAIN, key=derive(word), cipher="aes-128", mode="ecb").hex()) for word in (b"word9", b"word2")]
    hits = search_shard(Search(cipher="aes-128", targets=targets, words=WORDS, kdf=kdf, **salt))
    assert [(one.number, one.key, one.target) for one in hits] == [(2, derive(b"word2"), 1), (9, derive(b"word9"), 0)]


def test_lists_of_targets_are_those_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{crypt.hex()}:{plain.hex()}" for plain, crypt in map(pair, ("word30", "word7", "none"))]
    Path("list").write_text("# targets\n\n" + "\r\n".join(lines))
    Path("words").write_text("\n".join(WORDS))
    for path in ("list", Path("list")):
        search = Search(cipher="aes-128", targets=path, words="words")
        assert search_shard(search) == found(30, 7)
    Path("list").rename("other")
    assert search_shard(pickle.loads(pickle.dumps(search))) == found(30, 7)
    program = os.environ.get("CROSSGRAIN_PROGRAM")
    if program is None:
        pytest.skip("targets of the command line (CROSSGRAIN_PROGRAM does not name it)")
    printed = subprocess.run([program, "search", "--cipher", "aes-128", "--targets", "other", "--words", "words"], capture_output=True, text=True).stdout
    assert sorted(int(line.split()[-1]) for line in printed.splitlines()) == [7, 30]


def test_several_files_are_searched(files):
    mask = {"key_mask": "0" * 62 + "??"}
    for given in (["3.cg", Path("200.cg")], (Path("3.cg").read_bytes(), "200.cg")):
        search = Search(file=given, **mask)
        hits = [Found(number, bytes(31) + bytes([number]), bytes(31) + bytes([number]), target) for target, number in enumerate((3, 200))]
        assert search_shard(search) == hits
        assert "crossgrain, 2 targets" in repr(search) and search.doubt is None is search.advice
    some = search_shard(Search(file=given, **mask, any_target=True), threads=1)
    assert some and all(one in hits for one in some)
    for file in ("3.cg", "200.cg"):
        os.truncate(file, 0)
    assert search_shard(pickle.loads(pickle.dumps(search))) == hits == search_shard(Search(file=search.file, **mask))
    assert search_shard(Search(file=[search.file[1]], **mask)) == [hits[1]._replace(target=0)]


def test_all_that_fit_a_doubtful_file_are_returned(files):
    # Made by `openssl enc -aes-128-cbc -md md5 -a`.
    openssl = b"U2FsdGVkX1/D1A2D8NKh6adUmWte+5tr6+dglBVLdu4MUm5mmQCRUsgWSUbgACMS"
    one = Search(file=openssl, cipher="aes-128", hash="md5", looks="any", mask="secret?d?d?d")
    two = Search(file=[openssl, openssl], cipher="aes-128", hash="md5", looks="any", mask="secret?d?d?d")
    assert one.doubt == two.doubt is not None
    with pytest.warns(UserWarning, match="all that fit are returned"):
        hits = search_shard(one)
        assert search_shard(two) == sorted(hit._replace(target=target) for hit in hits for target in range(2))
    assert len(hits) > 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"targets": [pair("a")], "known": [pair("b")]}, "targets have plaintext and ciphertext: leave out known"),
        ({"targets": [pair("a")], "looks": "text", "crypt": b"a"}, "leave out crypt, looks"),
        ({"targets": [pair("a")], "file": "3.cg", "cipher": None}, "leave out targets"),
        ({"targets": [pair("a"), ("zz", b"")]}, "targets is neither bytes nor pairs of hex digits"),
        ({"targets": [pair("a"), (b"", b"")]}, r"targets\[1\]: no bit of the result is known"),
        ({"targets": [pair("a")], "mode": "gcm"}, r"targets\[0\]: gcm has tags, and targets have plaintexts"),
        ({"targets": Path("empty")}, "targets names 'empty', which has no pair"),
        ({"targets": Path("plain")}, "targets, line 1 of 'plain': give CT:PT in hex"),
        ({"targets": Path("bad")}, "targets, line 2 is neither bytes nor pairs of hex digits"),
        ({"targets": []}, "nothing is known: give known"),
        ({"file": [], "cipher": None}, "file is an empty list: give a file"),
        ({"file": ["3.cg", b"no such beginning"], "cipher": None}, r"file\[1\]: .*no known format"),
    ],
)
def test_what_is_refused(options, why, files):
    Path("empty").write_bytes(b"# none\n")
    Path("bad").write_bytes(b"# bad\nxy:00\n")
    with pytest.raises(crossgrain.Error, match=why):
        Search(**{"cipher": "aes-128", "words": ["a"], **options})


def test_files_of_keys_and_of_passphrases_are_no_one_search(files):
    crossgrain.encrypt_file("plain", "word.cg", passphrase="word")
    with pytest.raises(crossgrain.Error, match="some targets take keys and others passphrases"):
        Search(file=["3.cg", "word.cg"], words=["a"])


def test_wrong_types_are_refused(files):
    for options, why in (
        ({"file": [5]}, "file is a path or bytes, not a int"),
        ({"file": "3.cg", "any_target": 1}, "any_target is True or False"),
        ({"cipher": "aes-128", "targets": [b"ab"]}, "targets is a sequence of pairs"),
    ):
        with pytest.raises(TypeError, match=why):
            Search(**options, words=["a"])
    with pytest.raises(FileNotFoundError):
        Search(file=["3.cg", "missing"], words=["a"])


def test_digests_of_searches_differ():
    from crossgrain._journal import _digest

    searches = [listed("word1"), listed("word2"), listed("word1", "word2"), listed("word2", "word1"), listed("word1", "word2", any_target=True)]
    digests = {_digest(search, (0, 1), goes_on) for search in searches for goes_on in (False, True)}
    # That of one target does not depend on whether a search goes on.
    assert len(digests) == 2 * len(searches) - 2


def test_a_cluster_finds_every_target(client, tmp_path):
    from crossgrain import dask

    search = listed("word30", "word7", "none", "word39")
    small = {"shard_seconds": 1e-9}
    assert dask.search(client, search, **small) == found(30, 7, None, 39)
    assert dask.search(client, search, skip=8, limit=23) == found(30)
    some = dask.search(client, listed("none", "word7", "word30", any_target=True), **small)
    # Either word is enough, and shards end in any order.
    assert some in (found(None, 7), found(None, None, 30))
    twice = listed("word1", "word2", words=["word1", "word2"] * 20)
    assert len(dask.search(client, twice, **small)) == 2
    assert len(dask.search(client, twice, goes_on=True, **small)) == 40
    masked = listed("word30", "word7x", words=["word"], mask_after=["?d?d", "?dx"])
    assert {(hit.text, hit.target) for hit in dask.search(client, masked)} == {("word30", 0), ("word7x", 1)}


def test_a_cluster_goes_on_with_the_targets_that_are_left(client, tmp_path):
    from crossgrain import dask

    search, journal = listed("word39", "word17", "word3"), tmp_path / "journal"

    def enough(tried, _):
        if tried >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dask.search(client, search, journal=journal, progress=enough, shard_seconds=1e-9)
    assert journal.read_bytes().count(b'"found"') == 2
    for options in ({"goes_on": True}, {"limit": 30}):
        with pytest.raises(crossgrain.Error, match="another search"):
            dask.search(client, search, journal=journal, restore=True, **options)
    assert dask.search(client, search, journal=journal, restore=True) == found(39, 17, 3)
    size = journal.stat().st_size
    assert dask.search(client, search, journal=journal, restore=True) == found(39, 17, 3)
    assert journal.stat().st_size == size
