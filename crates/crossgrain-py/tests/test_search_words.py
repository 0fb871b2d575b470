"""Candidates of a search in Python: lists and rules as the command line reads them, and searches that try nothing."""

import gzip
import lzma
import os
import shutil
import signal
import subprocess
import sys

import pytest

import crossgrain
from crossgrain import Found, NothingTried, Search, search_shard

PLAIN = b"sixteen letters!"


def lost(word, **options):
    """A search for the key that a word gives by padding."""
    crypt = crossgrain.encrypt(PLAIN, key=word.ljust(16, b"\0"), cipher="aes-128", mode="ecb")
    return Search(cipher="aes-128", known=[(PLAIN, crypt)], **options)


def found(word, **options):
    """The number of the candidate that gives the key."""
    (one,) = search_shard(lost(word, **options))
    assert one.candidate == word == one.passphrase
    return one.number


TEXT = "\ufeffone\r\ntw\u00f6\r\n$HEX[0a0d00]\r\n\r\nlast".encode()


@pytest.mark.parametrize("packed", ["plain", "gzip", "xz", "zstd"])
@pytest.mark.parametrize("given", ["path", "str", "bytes"])
def test_lists_are_read_as_by_the_command_line(packed, given, tmp_path):
    path = tmp_path / "list"
    path.write_bytes({"gzip": gzip.compress, "xz": lzma.compress}.get(packed, bytes)(TEXT))
    if packed == "zstd":
        if shutil.which("zstd") is None:
            pytest.skip("zstd (not installed)")
        subprocess.run(["zstd", "-q", "--rm", path], check=True)
        path = path.with_suffix(".zst")
    words = {"path": path, "str": str(path), "bytes": path.read_bytes()}[given]
    for number, word in enumerate([b"one", "tw\u00f6".encode(), b"\n\r\0", b"", b"last"]):
        assert found(word, words=words) == number
    assert lost(b"one", words=words).size == 5


def test_found_words_are_shown_as_text():
    for word, text in ((b"caf\xc3\xa9", "caf\u00e9"), (b"\xff", None), (b"a\x1b[2J", None), (b"", "")):
        (one,) = search_shard(lost(word, words=[word]))
        assert one.text == text and one.key == word.ljust(16, b"\0")


def test_sequences_may_hold_any_bytes():
    words = [b"\xef\xbb\xbfword", b"a\nb", b"c\r", b"\x1f\x8b\x08", b"\xff\xfex", b"(\xb5/\xfd"]
    for number, word in enumerate(words):
        assert found(word, words=words) == number
        assert found(word, words=words[number:]) == 0
    with pytest.raises(crossgrain.Error, match="line end"):
        lost(b"", words=["61\n62"], form="hex")
    keys = [bytes([i]) * 16 for i in range(3)]
    assert found(keys[2], words=keys, form="raw") == 2


def test_lists_that_cannot_be_read_are_refused(tmp_path):
    for text in ("word\n".encode("utf-16"), b"\xfe\xff\0a"):
        with pytest.raises(crossgrain.Error, match="UTF-16: convert it to UTF-8"):
            search_shard(lost(b"word", words=text))
    with pytest.raises(crossgrain.Error, match="the word list cannot be read"):
        search_shard(lost(b"word", words=gzip.compress(b"word\n" * 99)[:-9]))
    with pytest.raises(FileNotFoundError):
        lost(b"word", words=tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(crossgrain.Error, match="no regular file"):
            lost(b"word", words=other)
    with pytest.raises(BufferError, match="words"):
        lost(b"word", words=5)


def test_rules_and_files_of_rules(tmp_path):
    (tmp_path / "first").write_bytes(b"\xef\xbb\xbf# case\n:\nu\r\nc\n")
    second = b":\n$1\n$2 $!\n"
    search = {"words": ["pass", "word"], "rule_files": [tmp_path / "first", second]}
    assert lost(b"", **search).size == 18
    # The rules of the first file change fastest.
    assert found(b"WORD2!", **search) == 9 + 6 + 1
    assert found(b"pass2!", **{**search, "rule_files": [second]}) == 2
    assert found(b"PASS1", words=["pass"], rules=["u $1"]) == 0
    # All combinations together would take more memory than a machine has.
    many = b"\n".join([b"u", b"l", b"c"] * 1000)
    assert lost(b"", words=["pass"], rule_files=[many] * 3).size == 3000**3
    with pytest.warns(UserWarning, match=r"first: 1 rules have unknown functions and are skipped, the first in line 5: '\\x7f'"):
        (tmp_path / "first").write_bytes((tmp_path / "first").read_bytes() + b"\x7f\n")
        assert lost(b"", **search).size == 18
    with pytest.raises(crossgrain.Error, match="has a function that is not known"):
        lost(b"", **search, strict_rules=True)
    with pytest.raises(crossgrain.Error, match="UTF-16"):
        lost(b"", words=["a"], rule_files=["u\n".encode("utf-16")])
    with pytest.raises(crossgrain.Error, match="there is no rule"):
        lost(b"", words=["a"], rule_files=[b"# none\n"])
    with pytest.raises(crossgrain.Error, match="leave one out"):
        lost(b"", rules=["u"], **search)
    with pytest.raises(TypeError, match="rule_files is a sequence"):
        lost(b"", words=["a"], rule_files="first")


def test_every_function_of_hashcat_is_known():
    functions = "l u c C t r d f { } [ ] q k K E : $a ^a T1 @a p1 D1 z1 Z1 L1 R1 +1 -1 .1 ,1 y1 Y1 sab x12 O12 o1a i1a '5 *12 ea <9 >1 _3 !a /a (a )a =1a %1a M 4 6 X112 Q"
    for function in functions.split():
        assert lost(b"", words=["word"], rules=[function]).size == 1


def test_nothing_tried_is_no_exhausted_search(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    for options in ({"words": []}, {"words": b""}, {"words": tmp_path / "empty"}, {"words": gzip.compress(b"")}):
        with pytest.raises(NothingTried, match="no candidate was tried: look at words"):
            search_shard(lost(b"a", **options))
    for options in ({"words": ["a", "b"]}, {"mask": "?d"}):
        search = lost(b"x", **options)
        assert search_shard(search) == []
        for part in ({"skip": 10}, {"skip": 1 << 200}, {"limit": 0}, {"skip": 10, "limit": 5}, {"shard": (0, 1000)}):
            with pytest.raises(NothingTried):
                search_shard(search, **part)
    with pytest.warns(UserWarning, match="too long"), pytest.raises(NothingTried):
        search_shard(lost(b"x", words=[b"a" * 17]))
    with pytest.raises(NothingTried):
        search_shard(lost(b"x", words=["ab"], rules=["<1"]))
    assert issubclass(NothingTried, crossgrain.Error)


def test_wide_characters_in_sets_are_refused():
    with pytest.raises(crossgrain.Error, match="takes several bytes.*list the words with words"):
        lost(b"x", mask="?1", sets=["a\u00e4"])
    assert found(b"\xe4", mask="?1", sets=[b"a\xe4"]) == 1
    assert found("\u00e47".encode(), mask="\u00e4?d") == 7


def test_sha1_is_a_hash_of_pbkdf2():
    import hashlib

    key = hashlib.pbkdf2_hmac("sha1", b"word", b"salt", 3, 16)
    crypt = crossgrain.encrypt(PLAIN, key=key, cipher="aes-128", mode="ecb")
    search = Search(cipher="aes-128", known=[(PLAIN, crypt)], words=["no", "word"], kdf="pbkdf2-sha1", salt=b"salt", iterations=3)
    assert search_shard(search) == [Found(1, b"word", key)]


def test_wrong_arguments_are_named():
    for options, why in (
        ({"cipher": 5}, "cipher is a string, not a int"),
        ({"known": [b"ab"]}, "known is a sequence of pairs"),
        ({"known": [(b"a", b"b", b"c")]}, "known is a sequence of pairs"),
        ({"hex": "yes"}, "hex is True or False, not a str"),
        ({"sector": "1"}, "sector is an integer, not a str"),
    ):
        with pytest.raises(TypeError, match=why):
            Search(**{"cipher": "aes-128", "known": [(PLAIN, PLAIN)], "mask": "?d", **options})
    with pytest.raises(crossgrain.Error, match="known is neither bytes nor pairs of hex digits"):
        Search(cipher="aes-128", known=[("0", PLAIN)], mask="?d")


@pytest.mark.skipif(os.name != "posix", reason="signals (not on this system)")
def test_ctrl_c_ends_a_search(tmp_path):
    (tmp_path / "search.py").write_text(
        "import signal, crossgrain\n"
        # A job in the background ignores this signal, and so do its children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "search = crossgrain.Search(cipher='aes-128', known=[(bytes(16), bytes(16))], mask='?b' * 16)\n"
        "crossgrain.search_shard(search, limit=1 << 50, progress=lambda *_: print('begun', flush=True))\n"
    )
    # Runs outside of the checkout, where the package lies without its native half.
    with subprocess.Popen([sys.executable, "search.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as search:
        assert search.stdout.readline() == "begun\n"
        search.send_signal(signal.SIGINT)
        _, told = search.communicate(timeout=120)
    assert search.returncode == -signal.SIGINT and "KeyboardInterrupt" in told
