"""Files: whole or not there, with progress told, and never from what was changed."""

import gc
import io
import os

import pytest

import crossgrain

KEY = bytes(range(32))


@pytest.mark.parametrize("suite", ["aes-256-gcm", "serpent-256-eax"])
@pytest.mark.parametrize("size", [0, 1, 16384, (1 << 20) - 1, 1 << 20, 3_000_000])
def test_there_and_back(tmp_path, suite, size):
    data = os.urandom(size)
    (tmp_path / "plain").write_bytes(data)
    told = []
    done = crossgrain.encrypt_file(
        tmp_path / "plain", str(tmp_path / "sealed"), key=KEY, suite=suite, progress=lambda *at: told.append(at)
    )
    assert done == size and told[-1] == (size, size)
    assert [at for at, _ in told] == sorted(at for at, _ in told)
    assert crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "back", key=KEY) == size
    assert (tmp_path / "back").read_bytes() == data


def test_by_a_passphrase(tmp_path):
    (tmp_path / "plain").write_bytes(b"some text")
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", passphrase="höher")
    crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "back", passphrase="höher".encode())
    assert (tmp_path / "back").read_bytes() == b"some text"
    with pytest.raises(crossgrain.Error, match="wrong"):
        crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "wrong", passphrase="hoher")
    with pytest.raises(crossgrain.Error, match="passphrase"):
        crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "wrong", key=KEY)
    assert sorted(os.listdir(tmp_path)) == ["back", "plain", "sealed"]


def test_what_was_changed_or_cut_off_leaves_nothing(tmp_path):
    (tmp_path / "plain").write_bytes(os.urandom(3_000_000))
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    sealed = (tmp_path / "sealed").read_bytes()
    for wrong in (sealed[:2_000_000] + bytes([sealed[2_000_000] ^ 1]) + sealed[2_000_001:], sealed[:-1], sealed[:1_000_000]):
        (tmp_path / "sealed").write_bytes(wrong)
        with pytest.raises(crossgrain.Forged):
            crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "back", key=KEY)
        assert sorted(os.listdir(tmp_path)) == ["plain", "sealed"]


def test_files_in_the_way_and_missing_ones(tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "sealed").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY, overwrite=True)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        crossgrain.encrypt_file(tmp_path / "nowhere", tmp_path / "x", key=KEY)
    with pytest.raises(FileNotFoundError):
        crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "no" / "x", key=KEY)
    for given in ({}, {"key": KEY, "passphrase": "x"}, {"key": b"short"}, {"key": KEY, "suite": "des"}):
        with pytest.raises(crossgrain.Error):
            crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "x", **given)
    assert sorted(os.listdir(tmp_path)) == ["plain", "sealed"]


def test_progress_may_end_the_work(tmp_path):
    (tmp_path / "plain").write_bytes(bytes(5_000_000))

    def enough(done, total):
        if done > 2_000_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY, progress=enough)
    assert os.listdir(tmp_path) == ["plain"]


def test_a_file_object_is_read_from_anywhere(tmp_path):
    data = os.urandom(100_000)
    (tmp_path / "plain").write_bytes(data)
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    with crossgrain.EncryptedFile(tmp_path / "sealed", key=KEY) as file:
        assert file.readable() and file.seekable() and not file.writable()
        assert file.seek(16380) == 16380 and file.read(10) == data[16380:16390] and file.tell() == 16390
        assert file.seek(-5, io.SEEK_END) == 99_995 and file.read() == data[-5:] and file.read(1) == b""
        assert file.seek(-5, io.SEEK_CUR) == 99_995 and file.read(2) == data[-5:-3]
        assert file.seek(200_000) == 200_000 and file.read() == b""
        for wrong in ((-1, io.SEEK_SET), (-200_001, io.SEEK_CUR), (0, 7)):
            with pytest.raises((ValueError, OSError)):
                file.seek(*wrong)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
    lines = io.TextIOWrapper(io.BufferedReader(crossgrain.EncryptedFile(tmp_path / "sealed", key=KEY)), "latin-1", newline="")
    assert lines.read() == data.decode("latin-1")


def test_a_file_object_reads_nothing_that_was_changed(tmp_path):
    data = os.urandom(100_000)
    with crossgrain.EncryptedFile(tmp_path / "sealed", "xb", key=KEY, suite="aes-256-eax") as file:
        assert file.write(data) == len(data)
    sealed = bytearray((tmp_path / "sealed").read_bytes())
    sealed[13 + 56 + 2 * 16400 + 5] ^= 1
    (tmp_path / "sealed").write_bytes(sealed)
    with crossgrain.EncryptedFile(tmp_path / "sealed", key=KEY) as file:
        assert file.read(32768) == data[:32768]
        with pytest.raises(crossgrain.Forged, match="chunk 2"):
            file.read(1)
        file.seek(49152)
        assert file.read() == data[49152:]
    with pytest.raises(crossgrain.Error, match="wrong"):
        crossgrain.EncryptedFile(tmp_path / "sealed", key=bytes(32))


def test_a_written_file_object_appears_when_it_is_closed(tmp_path):
    path, pieces = tmp_path / "sealed", [b"a" * 3, b"b" * 20_000, b"", b"c" * 2_000_000]
    with crossgrain.EncryptedFile(path, "x", passphrase="some words") as file:
        assert [file.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
        assert file.writable() and not file.seekable() and not path.exists()
        with pytest.raises(io.UnsupportedOperation):
            file.read(1)
    crossgrain.decrypt_file(path, tmp_path / "plain", passphrase="some words")
    assert (tmp_path / "plain").read_bytes() == b"".join(pieces)
    with pytest.raises(FileExistsError):
        crossgrain.EncryptedFile(path, "x", key=KEY)
    with pytest.raises(RuntimeError):
        with crossgrain.EncryptedFile(path, "w", key=KEY) as file:
            raise RuntimeError
    file = crossgrain.EncryptedFile(path, "w", key=KEY)
    file.write(b"dropped")
    del file
    gc.collect()
    with pytest.raises(crossgrain.Error, match="passphrase"):
        crossgrain.EncryptedFile(path, "r", key=KEY)
    with pytest.raises(ValueError, match="mode"):
        crossgrain.EncryptedFile(path, "a", key=KEY)
    assert sorted(os.listdir(tmp_path)) == ["plain", "sealed"]
