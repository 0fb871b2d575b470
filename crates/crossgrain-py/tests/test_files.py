"""Files: whole or not there, with progress told, and never from what was changed."""

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
