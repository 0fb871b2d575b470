"""Types: the stubs match the package, mypy and pyright accept every example and refuse wrong arguments, and nothing leaks into
the namespace."""

import importlib.util
import json
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import crossgrain

#: Calls that type checkers accept, with the types of the results.
ACCEPTED = """
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import crossgrain
from crossgrain import CipherName, dask, fsspec, parallel
from crossgrain.random import AESCounter, SerpentCounter, default_rng

key = crossgrain.generate_key()
assert_type(key, bytes)


def draw(array: NDArray[np.float64], words: NDArray[np.uint8]) -> None:
    cipher: CipherName = "serpent-256"
    assert_type(crossgrain.encrypt(array, key=key, iv=bytes(16), cipher=cipher, mode="cbc"), bytes)
    assert_type(crossgrain.decrypt(b"", key=key, iv=bytes(16), out=bytearray()), bytearray)
    assert_type(crossgrain.encrypt(array, key=key, iv=bytes(16), out=array), NDArray[np.float64])
    sealed = crossgrain.seal(memoryview(b"text"), key=key, nonce=bytes(12), aad=b"", mode="ocb")
    assert_type(sealed, bytes)
    assert_type(crossgrain.unseal(sealed, key=key, nonce=bytes(12), mode="ocb"), bytes)
    crossgrain.seal(b"", key=bytes(64), aad=[b"", b"1"], mode="siv", variants=(), plan=None)
    plans = crossgrain.plan("aes-256", "gcm")
    assert_type(plans[0].stages[0].name, str)

    seeds: list[AESCounter] = [AESCounter(np.int64(1)), AESCounter([1, 2]), AESCounter(np.random.SeedSequence(1))]
    seeds.clear()
    stream = AESCounter(1, counter=np.int64(5), bits=256)
    assert_type(stream.random_raw(), int)
    assert_type(stream.random_raw((2, 3)), NDArray[np.uint64])
    assert_type(stream.random_raw(3, output=False), None)
    assert_type(stream.fill(array), NDArray[np.float64])
    assert_type(stream.fill(bytearray(3), "bits"), bytearray)
    assert_type(stream.fill_at(3, words, kind="bits"), NDArray[np.uint8])
    assert_type(stream.fill_integers(words, 1, 6), NDArray[np.uint8])
    assert_type(stream.bytes(3), bytes)
    assert_type(stream.spawn(2), list[AESCounter])
    assert_type(SerpentCounter(key=key).jumped().advance(-1), SerpentCounter)
    assert_type(stream.state["state"]["counter"], int)
    assert_type(default_rng(3), np.random.Generator)
    np.random.Generator(stream)


def read(path: Path, file: io.BytesIO, array: NDArray[np.float64]) -> None:
    assert_type(crossgrain.open(path, key=key), io.BufferedReader)
    assert_type(crossgrain.open(str(path), "xb", passphrase="words"), io.BufferedWriter)
    assert_type(crossgrain.open(file, "rt", key=key, encoding="utf-8"), io.TextIOWrapper)
    with crossgrain.EncryptedFile(file, "w", key=key, suite="aes-256-ocb") as encrypted:
        assert_type(encrypted.write(array), int)
        assert_type(encrypted.mode, Any) if False else None
    assert_type(crossgrain.encrypt_file(path, "there", key=key), int)
    recipient = crossgrain.recipient_of(crossgrain.generate_identity())
    assert_type(recipient, str)
    assert_type(crossgrain.encrypt_file(path, "there", passphrase="words", recipients={recipient}), int)
    assert_type(crossgrain.decrypt_file("there", path, identity=[path, "AGE-SECRET-KEY-1…"]), int)
    assert_type(crossgrain.open(path, "wb", recipients=[recipient, path]), io.BufferedWriter)
    assert_type(crossgrain.open(path, "rt", identity=path), io.TextIOWrapper)


def half(x: parallel.Lane) -> parallel.Lane:
    return x.astype(np.float64)


def compute(array: NDArray[np.float64]) -> None:
    assert_type(parallel.transform(half, array), NDArray[Any])
    assert_type(parallel.transform(half, parallel.Vector(array)), parallel.Vector)
    assert_type(parallel.generate(half, 5, vector=True), parallel.Vector)
    assert_type(parallel.transform(parallel.turn, array), tuple[NDArray[Any], ...])
    assert_type(parallel.count_if(half, array), int)
    assert_type(parallel.sort(parallel.Vector(array)), parallel.Vector)
    assert_type(parallel.sort(array), NDArray[Any])
    assert_type(parallel.inclusive_scan(array), NDArray[Any])
    assert_type(parallel.gather(array, parallel.Vector(array)), parallel.Vector)


def encrypt(names: list[str]) -> None:
    assert_type(fsspec.EncryptedFileSystem("s3", {"anon": True}, key_env="KEY").cat_file("bucket/key"), bytes)
    fsspec.EncryptedFileSystem("memory", key=lambda path: key, suite="aes-256-ocb")
    dask.encrypt_files(names, "sealed", key_file=Path("key"))
    dask.decrypt_files("sealed/*", names, passphrase="words", overwrite=True)


lost = crossgrain.Search(file=Path("letter.enc"), format="openssl", hash="md5", pbkdf2=True, iterations=1, words="list.gz", rule_files=["a", b":"])
found: list[crossgrain.Found] = crossgrain.search_shard(lost, progress=lambda tried, total: None)
assert_type(found[0].text, str | None)
assert_type(found[0].passphrase, bytes)
assert_type((lost.size, lost.kernel, lost.advice), tuple[int, str, str | None])
crossgrain.Search(cipher="aes-128", known=[("00", b"x")], words=[b"one", "two"], kdf="pbkdf2-sha1", salt=b"", looks="text")
crossgrain.Search(file=b"", format="luks", slot=1, words=np.zeros(3, np.uint8), strict_rules=True)
crossgrain.Search(file="", words=["a", b"b"], mask_before=["?d", b"x"], mask_after=Path("a.hcmask"), increment=True, increment_max=3)
crossgrain.Search(file="", words=Path("a"), words_after=np.zeros(3, np.uint8), rule_right=b"u", sets=["ab", b"c"])
crossgrain.Search(file=["a", Path("b"), b"c"], words="d", any_target=True)
crossgrain.Search(cipher="aes-128", targets=[("00", b"x"), (b"y", "00")], mask="?d")
crossgrain.Search(cipher="aes-128", targets=Path("list"), mask="?d")
assert_type(found[0].target, int)
crossgrain.Search(file="volume", format="veracrypt", header="hidden-backup", pim=3, mask="?d", plain="00??")
try:
    pass
except (crossgrain.NothingTried, crossgrain.WrongKey, crossgrain.Damaged, crossgrain.Truncated, crossgrain.Forged) as error:
    base: crossgrain.Error = error
""".replace("        assert_type(encrypted.mode, Any) if False else None\n", "")

#: Lines that type checkers refuse.
REFUSED = """
crossgrain.encrypt(b"", key=b"", cipher="des")
crossgrain.encrypt(b"", key=b"", mode="gcm")
crossgrain.seal(b"", key=b"", mode="ctr")
crossgrain.unseal("text", key=b"")
crossgrain.encrypt(b"", key="text")
crossgrain.encrypt(b"", key=b"", policy="fast")
crossgrain.encrypt_file("a", "b", key=b"", suite="aes-256-ctr")
crossgrain.open("a", "a", key=b"")
crossgrain.encrypt_file("a", "b", recipients=[b"age1"])
crossgrain.decrypt_file("a", "b", recipients="age1")
crossgrain.decrypt_file("a", "b", identity=5)
crossgrain.recipient_of(b"AGE-SECRET-KEY-1")
crossgrain.plan("aes-256", "none")
crossgrain.generate_key("aes-512")
AESCounter(1, counter=1.9)
AESCounter(1).advance(1.9)
AESCounter(1).jumped(0.5)
AESCounter(1).fill_at(1.5, bytearray(8))
AESCounter(1).fill(bytearray(8), kind="normal")
fsspec.EncryptedFileSystem("memory", key="00")
fsspec.EncryptedFileSystem("memory", key=b"", suite="none")
dask.encrypt_files("a", "b", key=5)
crossgrain.Search(file="a", format="rar", words="b")
crossgrain.Search(file="a", hash="sha3", words="b")
crossgrain.Search(file=5, words="b")
crossgrain.Search(file=["a", 5], words="b")
crossgrain.Search(cipher="aes-128", targets=[("00", 5)], words="b")
crossgrain.Search(file="a", words="b", mask_after=5)
crossgrain.Search(file="a", words="b", words_after=5)
crossgrain.Search(file="a", mask=[5])
crossgrain.Search(file="a", mask="b", increment_max="3")
crossgrain.Search(cipher="aes-128", known=[(b"", b"")], words="b", kdf="md5")
""".strip().splitlines()

HEAD = "import crossgrain\nfrom crossgrain import dask, fsspec\nfrom crossgrain.random import AESCounter\n"


def checked(checker, folder, path):
    """Runs a type checker, and returns its findings."""
    pytest.importorskip(checker)
    if checker == "mypy":
        # fsspec, pandas and others have no types.
        command = ["mypy", "--strict", "--disable-error-code", "import-untyped", "--cache-dir", str(folder / "cache"), str(path)]
    else:
        command = ["pyright", "--pythonpath", sys.executable, str(path)]
    # Runs outside of the checkout, where the package lies without its native half.
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    if checker == "pyright" and "error" not in done.stdout:
        if "0 errors" not in done.stdout and done.returncode != 0:
            pytest.skip("pyright (it cannot be downloaded)")
    return done.returncode, done.stdout + done.stderr


checkers = pytest.mark.parametrize("checker", ["mypy", "pyright"])


def test_the_stubs_are_those_of_the_package(tmp_path):
    for needed in ("mypy", "fsspec", "zarr"):
        pytest.importorskip(needed)
    # PyO3's list of exports would report every item twice. Most types are for type checkers only. fsspec has no types.
    allowed = ["crossgrain._native.__all__", r"crossgrain._types\..*", "crossgrain._remote.EncryptedObject", "crossgrain.fsspec.EncryptedFileSystem"]
    (tmp_path / "allowed").write_text("\n".join(allowed))
    command = [sys.executable, "-m", "mypy.stubtest", "--allowlist", "allowed", "crossgrain"]
    # Runs outside of the checkout, where the package lies without its native half.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@checkers
def test_results_have_types(checker, tmp_path):
    (tmp_path / "accepted.py").write_text(ACCEPTED)
    code, told = checked(checker, tmp_path, tmp_path / "accepted.py")
    assert code == 0, told


@checkers
def test_wrong_arguments_are_refused(checker, tmp_path):
    (tmp_path / "refused.py").write_text(HEAD + "\n".join(REFUSED) + "\n")
    _, told = checked(checker, tmp_path, tmp_path / "refused.py")
    at = HEAD.count("\n") + 1
    for number, line in enumerate(REFUSED, at):
        assert f"refused.py:{number}:" in told, (line, told)


@checkers
def test_examples_have_types(checker, tmp_path):
    spec = importlib.util.spec_from_file_location("crossgrain_pages", Path(__file__).with_name("test_pages.py"))
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    folder = tmp_path / "pages"
    folder.mkdir()
    for page, blocks in pages.PAGES.items():
        if blocks := [block for block in blocks if not pages.missing(block)]:
            (folder / f"{page.parent.name}_{page.stem}.py".replace("-", "_").lower()).write_text("".join(blocks))
    code, told = checked(checker, tmp_path, folder)
    assert code == 0, told


@checkers
def test_the_package_has_types(checker, tmp_path):
    for needed in ("fsspec", "zarr"):
        pytest.importorskip(needed)
    if checker == "mypy":
        pytest.importorskip(checker)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "-p", "crossgrain"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        return
    pytest.importorskip(checker)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--ignoreexternal", "--verifytypes", "crossgrain", "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        pytest.skip("pyright (it cannot be downloaded)")
    unknown = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert unknown == []


def test_the_names_are_those_of_the_engine():
    def names(alias):
        return {name for one in typing.get_args(alias) for name in (typing.get_args(one) or (one,))}

    assert names(crossgrain.CipherName) == set(crossgrain.CIPHERS)
    assert names(crossgrain.ModeName) == set(crossgrain.MODES)
    assert names(crossgrain.SealedModeName) == {name for name, mode in crossgrain.MODES.items() if mode.authenticated}
    assert names(crossgrain.PlainModeName) | names(crossgrain.SealedModeName) == names(crossgrain.ModeName)
    with pytest.raises(crossgrain.Error) as refused:
        crossgrain.EncryptedFile("missing", "w", key=b"", suite="none")
    assert set(str(refused.value).split("choose one of ")[1].split(", ")) == names(crossgrain.SuiteName)
    for name in ("FileFormatName", "HashName", "HeaderName", "LookName", "KdfName", "FormName"):
        assert_names_are_known(name, names(getattr(crossgrain._types, name)))
    for policy in names(crossgrain.PolicyName):
        crossgrain.plan(policy=policy)


def assert_names_are_known(alias, names):
    """The engine takes these names of an argument of `Search`, and says that there are no others."""
    argument = {"FileFormatName": "format", "HashName": "hash", "HeaderName": "header", "LookName": "looks", "KdfName": "kdf", "FormName": "form"}[alias]
    file = {} if argument in ("kdf", "form") else {"file": bytes(range(256)) * 4, "format": "veracrypt"}
    given = {"words": b"", "cipher": None if file else "aes-128", "known": () if file else [(bytes(16), bytes(16))], **file}
    with pytest.raises(crossgrain.Error) as refused:
        crossgrain.Search(**{**given, argument: "none"})
    said = str(refused.value).split(": choose ")[1].removeprefix("one of ").replace(" or ", ", ")
    assert set(said.split(", ")) == names, alias


def test_nothing_leaks_into_the_namespace():
    public = {name for name in dir(crossgrain) if not name.startswith("_")}
    assert public - set(crossgrain.__all__) <= {"dask", "fsspec", "zarr"}
    assert set(crossgrain.__all__) <= set(dir(crossgrain))
    assert crossgrain.open.__module__ == "crossgrain._files"
