"""Search for the passphrase of files that other tools made, and of files that are damaged or not supported."""

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

import crossgrain
from crossgrain import Search, search_shard

PASSPHRASE = "Tr0ub4dor&3"
TEXT = b"Meet me at noon by the old oak, and bring the map.\n"
WORDS = ["letmein", PASSPHRASE, "hunter2"]
HEADERS = Path(__file__).parents[2] / "crossgrain-search/tests/veracrypt.txt"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("P", PASSPHRASE)
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin:/sbin")
    (tmp_path / "in").write_bytes(TEXT)
    (tmp_path / "pass").write_text(PASSPHRASE)
    return tmp_path


def made(line, *tools):
    """Runs a shell line that makes the file `out`."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} (not installed)")
    subprocess.run(["sh", "-ec", line], check=True, capture_output=True, stdin=subprocess.DEVNULL)


def typed(command):
    """The shell line for a command that asks twice at a terminal. Each answer waits until it listens."""
    return f"(for i in 1 2; do sleep 1; echo \"$P\"; done; sleep 1; echo y) | script -qec '{command}' /dev/null"


def opens(*, words=WORDS, **options):
    """The passphrase is found, in the file and in what a pickle of the search keeps of it."""
    search = Search(file="out", words=words, **options)
    (found,) = search_shard(search)
    assert (found.number, found.text, found.passphrase) == (1, PASSPHRASE, PASSPHRASE.encode())
    assert search_shard(Search(file=Path("out"), words=["letmein"], **options)) == []
    kept = pickle.loads(pickle.dumps(search))
    assert kept == search and PASSPHRASE not in repr(search)
    whole = Path("out").read_bytes()
    os.truncate("out", 0)
    assert search_shard(kept) == [found]
    assert search_shard(Search(file=whole, words=words, **options)) == [found]
    Path("out").write_bytes(whole)
    return search


@pytest.mark.parametrize(
    ("made_by", "options"),
    [
        ("-aes-256-cbc -pbkdf2 -iter 1000", {"pbkdf2": True, "iterations": 1000}),
        ("-aes-256-cbc", {}),
        ("-aes-128-cbc -md md5", {"cipher": "aes-128"}),
        ("-aes-192-ctr -a", {"cipher": "aes-192", "mode": "ctr"}),
        ("-aes-256-ecb -iter 1000 -md sha512", {"mode": "ecb", "iterations": 1000, "hash": "sha512", "format": "openssl"}),
        ("-camellia-128-ofb", {"cipher": "camellia-128", "mode": "ofb", "looks": "printable"}),
        ("-aes-256-cbc -md sha256", {"plain": TEXT[:6].hex() + "??", "hash": "sha256"}),
        ("-aes-256-cbc -md sha256", {"plain": TEXT[:6], "hash": "sha256"}),
    ],
)
def test_files_of_openssl_open(folder, made_by, options):
    made(f'openssl enc {made_by} -k "$P" -in in -out out', "openssl")
    search = opens(**options)
    assert search.file.format == "openssl" and "another cipher, hash, pbkdf2" in search.advice


def test_all_that_fit_a_doubtful_file_are_returned(folder):
    made('openssl enc -aes-256-cbc -md sha256 -k "$P" -in in -out out', "openssl")
    search = Search(file="out", words=[PASSPHRASE, *map(str, range(2000))], looks="any", hash="sha256")
    assert search.doubt == "one wrong passphrase in 2^8 fits too"
    with pytest.warns(UserWarning, match=r"one wrong passphrase in 2\^8 fits too: all that fit are returned"):
        found = search_shard(search)
    assert found[0].text == PASSPHRASE and 1 < len(found) < 100


@pytest.mark.parametrize(
    "options",
    [
        "--type luks1 --pbkdf-force-iterations 1000",
        "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000",
        "--type luks2 --pbkdf argon2id --pbkdf-memory 64 --pbkdf-force-iterations 4",
    ],
)
def test_luks_devices_open(folder, options):
    made(f"truncate -s 20M out; cryptsetup luksFormat --batch-mode --key-file pass {options} out", "cryptsetup")
    search = opens(slot=0)
    kept = sum(len(piece) for _, piece in search.file.pieces)
    assert search.file.len_bytes == 20 << 20 and kept < 1 << 20
    with pytest.raises(crossgrain.Error, match="slot"):
        Search(file="out", words=WORDS, slot=7)


@pytest.mark.parametrize("entries", ["in long", "long"])
def test_zip_archives_open(folder, entries):
    (folder / "long").write_bytes(os.urandom(300_000))
    made(f'7z a -tzip -mem=AES256 -p"$P" out.zip {entries}; mv out.zip out', "7z")
    search = opens()
    kept = sum(len(piece) for _, piece in search.file.pieces)
    assert (kept < 100_000) == ("in" in entries)


def test_age_files_open(folder):
    made(typed("age -p -o out in"), "age", "script")
    assert search_shard(Search(file="out", words=["hunter2", PASSPHRASE]), threads=1)[0].text == PASSPHRASE


@pytest.mark.parametrize("line", [line for line in HEADERS.read_text().splitlines() if line.startswith("truecrypt")], ids=lambda line: line[:30])
def test_headers_of_truecrypt_open(line, tmp_path):
    name, hash_name, place, _, digits = line.split(" ")
    header = bytes.fromhex(digits)
    volume = header if place == "outer" else bytes(62 * 512) + header
    search = Search(file=volume, format=name, hash=hash_name, header=place, words=["no", "hashcat"])
    assert search_shard(search)[0].text == "hashcat"
    assert search_shard(Search(file=volume, format="truecrypt", header=place, words=["hashcat"]))[0].text == "hashcat"


def test_own_files_open(folder):
    crossgrain.encrypt_file("in", "out", passphrase=PASSPHRASE)
    opens()
    crossgrain.encrypt_file("in", "by-key", key=bytes(range(32)))
    search = Search(file="by-key", words=bytes(32) + bytes(range(32)), form="raw")
    assert search_shard(search)[0].key == bytes(range(32))


def test_damaged_and_unknown_files_are_refused(folder):
    made('openssl enc -aes-256-cbc -k "$P" -in in -out out', "openssl")
    whole = Path("out").read_bytes()
    for file, options, why in (
        (whole[:-1], {}, "whole blocks of 16"),
        (whole[:16], {}, "nothing follows its salt"),
        (b"no file", {}, "its first bytes tell no known format: name it"),
        (b"", {}, "its first bytes tell no known format"),
        (bytes(512), {"format": "truecrypt"}, "no random bytes"),
        (b"x" * 511, {"format": "veracrypt"}, "ends too early"),
        (whole, {"format": "zip"}, "directory is missing"),
        (whole, {"pim": 3}, "no use for pim: leave it out"),
        (whole, {"slot": 3}, "no use for slot: leave it out"),
        (whole, {"header": "backup"}, "no use for header: leave it out"),
        (whole, {"mode": "gcm"}, "openssl enc with gcm is not supported"),
        (os.urandom(600), {"format": "veracrypt", "hash": "md5"}, "no volume has this hash: give hash one of"),
        (os.urandom(600), {"format": "veracrypt", "cipher": "aes-128"}, "give cipher aes-256"),
        (os.urandom(600), {"format": "veracrypt", "pim": 4294967295}, "not possible: give pim from 1"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            Search(file=file, words=WORDS, **options)
    with pytest.raises(FileNotFoundError, match="missing"):
        Search(file="missing", words=WORDS)
    with pytest.raises(IsADirectoryError):
        Search(file=folder, words=WORDS)


def test_wrong_arguments_of_files_are_named(folder):
    crossgrain.encrypt_file("in", "out", passphrase=PASSPHRASE)
    for options, why in (
        ({"format": "rar"}, "no format is called .rar.: choose one of crossgrain, openssl"),
        ({"hash": "sha3"}, "no hash is called .sha3.: choose one of sha256"),
        ({"header": "inner"}, "no header is called"),
        ({"looks": "nice"}, "no look is called"),
        ({"plain": "0x"}, "plain is neither bytes nor pairs of hex digits"),
        ({"pim": 1 << 32}, "pim is out of range"),
        ({"slot": -1}, "slot is out of range"),
        ({"kdf": "zeros"}, "leave out kdf"),
        ({"crypt": b"x", "tag": b"x", "lanes": 2}, "leave out crypt, tag, lanes"),
    ):
        with pytest.raises(crossgrain.Error, match=why):
            Search(file="out", words=WORDS, **options)
    for options, why in (
        ({"format": 7}, "format is a string, not a int"),
        ({"hash": b"md5"}, "hash is a string, not a bytes"),
        ({"pbkdf2": 1}, "pbkdf2 is True or False, not a int"),
        ({"pim": "3"}, "pim is an integer, not a str"),
        ({"iterations": 1.5}, "iterations is an integer, not a float"),
        ({"plain": 5}, "plain"),
    ):
        with pytest.raises((TypeError, BufferError), match=why):
            Search(file="out", words=WORDS, **options)
    with pytest.raises(TypeError, match="file is a path or bytes, not a int"):
        Search(file=0, words=WORDS)
    for name, value in {"format": "zip", "hash": "md5", "pbkdf2": True, "pim": 1, "slot": 0, "header": "backup", "plain": b"x"}.items():
        with pytest.raises(crossgrain.Error, match=f"{name} describes a file: give file"):
            Search(cipher="aes-128", known=[(bytes(16), bytes(16))], words=WORDS, **{name: value})
