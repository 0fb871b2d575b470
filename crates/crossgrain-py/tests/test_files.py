"""Files appear complete or not at all, progress is reported, and changed files give no plaintext."""

import gc
import io
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

import crossgrain

KEY = bytes(range(32))


@pytest.mark.parametrize("suite", ["aes-256-gcm", "serpent-256-eax", "aes-256-ocb", "aes-256-gcm-siv"])
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
    for empty in ("", b"", bytearray()):
        with pytest.raises(crossgrain.Error, match="the passphrase is empty"):
            crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "empty", passphrase=empty)
        with pytest.raises(crossgrain.Error, match="the passphrase is empty"):
            crossgrain.EncryptedFile(tmp_path / "empty", "x", passphrase=empty)
    assert sorted(os.listdir(tmp_path)) == ["back", "plain", "sealed"]


def test_a_file_object_is_not_made_twice(tmp_path):
    """A second call of `__init__` is refused. It once discarded the data written before."""
    path = tmp_path / "sealed"
    with crossgrain.EncryptedFile(path, "x", key=KEY) as file:
        file.write(b"some text")
        for wrong in ({}, {"mode": "q", "key": KEY}, {"mode": "w", "key": KEY}, {"mode": "w", "key": bytes(3)}):
            with pytest.raises((ValueError, RuntimeError)):
                file.__init__(path, **wrong)
        file.write(b" and more")
    with crossgrain.EncryptedFile(path, key=KEY) as file:
        assert file.read() == b"some text and more"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_does_not_go_on_with_a_file(tmp_path):
    """It would seal other bytes under the same key and nonces."""
    path = tmp_path / "sealed"
    with crossgrain.EncryptedFile(path, "x", key=KEY, threads=1) as file:
        file.write(b"parent")
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (lambda: file.write(b"child!"), file.close):
                try:
                    use()
                except crossgrain.Error as error:
                    refused += "another process" in str(error)
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        assert not path.exists()
    with crossgrain.EncryptedFile(path, key=KEY) as file:
        assert file.read() == b"parent"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_passphrase_in_a_forked_process(tmp_path, threads):
    """A child process derives keys on its own threads."""
    (tmp_path / "plain").write_bytes(b"some text")
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", passphrase="text", threads=threads)
    child = os.fork()
    if child == 0:
        try:
            # Limits the time if it waits forever.
            signal.alarm(60)
            crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "back", passphrase="text", threads=threads)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    assert (tmp_path / "back").read_bytes() == b"some text"


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


unix = pytest.mark.skipif(os.name != "posix", reason="modes (not on this system)")


def modes(folder):
    return {name: stat.S_IMODE(os.lstat(folder / name).st_mode) for name in os.listdir(folder)}


@pytest.fixture
def common_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@unix
def test_nobody_else_reads_a_plaintext_at_any_time(tmp_path, common_umask):
    (tmp_path / "plain").write_bytes(bytes(3_000_000))
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    for old, want in ((None, 0o600), (0o600, 0o600), (0o640, 0o640), (0o666, 0o666), (0o6755, 0o755)):
        folder = tmp_path / f"{old}"
        folder.mkdir()
        if old is not None:
            (folder / "back").write_bytes(b"old")
            (folder / "back").chmod(old)
        seen = []
        look = lambda *_, folder=folder, seen=seen: seen.append(modes(folder))  # noqa: E731
        crossgrain.decrypt_file(tmp_path / "sealed", folder / "back", key=KEY, overwrite=True, progress=look)
        assert all(mode == 0o600 for at in seen for name, mode in at.items() if name != "back")
        assert modes(folder) == {"back": want}


@unix
def test_a_new_ciphertext_has_the_rights_of_any_file(tmp_path, common_umask):
    (tmp_path / "plain").write_bytes(b"text")
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    assert modes(tmp_path)["sealed"] == 0o644
    (tmp_path / "sealed").chmod(0o4600)
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY, overwrite=True)
    with crossgrain.EncryptedFile(tmp_path / "sealed", "w", key=KEY) as file:
        file.write(b"text")
    assert modes(tmp_path)["sealed"] == 0o600


@unix
def test_a_group_keeps_what_was_its_own(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("files of other groups (this is not root)")
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "sealed").write_bytes(b"old")
    os.chown(tmp_path / "sealed", -1, 12345)
    (tmp_path / "sealed").chmod(0o660)
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY, overwrite=True)
    assert modes(tmp_path)["sealed"] == 0o660 and (tmp_path / "sealed").stat().st_gid == 12345


@unix
def test_another_user_does_not_say_who_reads_a_plaintext(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("files of other users (this is not root)")
    (tmp_path / "plain").write_bytes(b"text")
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    (tmp_path / "back").write_bytes(b"planted")
    (tmp_path / "back").chmod(0o666)
    os.chown(tmp_path / "back", 12345, 12345)
    crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "back", key=KEY, overwrite=True)
    assert modes(tmp_path)["back"] == 0o600 and (tmp_path / "back").stat().st_uid == 0


@unix
def test_what_is_no_file_is_not_replaced_and_a_link_leads_to_what_is(tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, error, mends in (("pipe", crossgrain.Error, "no file that could be replaced"), ("folder", IsADirectoryError, "")):
        with pytest.raises(error, match=mends):
            crossgrain.encrypt_file(tmp_path / "plain", tmp_path / name, key=KEY, overwrite=True)
    (tmp_path / "others").write_bytes(b"another's")
    (tmp_path / "link").symlink_to("others")
    (tmp_path / "nowhere").symlink_to("missing")
    for name in ("link", "nowhere"):
        with pytest.raises(FileExistsError):
            crossgrain.encrypt_file(tmp_path / "plain", tmp_path / name, key=KEY, progress=lambda *_: pytest.fail("late"))
        crossgrain.encrypt_file(tmp_path / "plain", tmp_path / name, key=KEY, overwrite=True)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "others").read_bytes().startswith(b"crossgrain")
    assert not (tmp_path / "nowhere").is_symlink() and not (tmp_path / "missing").exists()


@unix
def test_a_link_that_another_user_made_is_not_followed(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("links of other users (this is not root)")
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "own").write_bytes(b"of value")
    (tmp_path / "link").symlink_to("own")
    os.lchown(tmp_path / "link", 12345, 12345)
    with pytest.raises(crossgrain.Error, match="another user"):
        crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "link", key=KEY, overwrite=True)
    assert (tmp_path / "own").read_bytes() == b"of value"


KILLED = """
import os, signal, sys, crossgrain
os.chdir(sys.argv[1])
for number in signal.SIGINT, signal.SIGQUIT:
    signal.signal(number, signal.SIG_DFL)
crossgrain.decrypt_file("sealed", "back", key=bytes(range(32)), progress=lambda *_: os.kill(os.getpid(), int(sys.argv[2])))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name (not on this system)")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM", "SIGINT", "SIGQUIT", "SIGABRT", "SIGXCPU", "SIGUSR1"])
def test_a_killed_process_leaves_nothing(tmp_path, number):
    (tmp_path / "plain").write_bytes(bytes(3_000_000))
    crossgrain.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key=KEY)
    number = getattr(signal, number)
    command = [sys.executable, "-c", KILLED, tmp_path, str(int(number))]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == -number
    assert sorted(os.listdir(tmp_path)) in (["plain", "sealed"], ["core", "plain", "sealed"])


@pytest.mark.parametrize("change", ["grows", "shrinks", "changes", "changes and sets its time back"])
def test_a_file_that_changes_while_it_is_read_is_not_encrypted(tmp_path, change):
    source = tmp_path / "plain"
    source.write_bytes(bytes(5_000_000))
    before = source.stat()

    def progress(done, total):
        if change == "grows":
            with open(source, "ab") as file:
                file.write(b"more")
        elif change == "shrinks":
            os.truncate(source, 4_000_000)
        else:
            time.sleep(0.02)  # longer than a tick of the file clock
            with open(source, "r+b") as file:
                file.write(b"else")
            if change != "changes":
                os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

    if os.name != "posix" and change.endswith("back"):
        pytest.skip("times of changes (not on this system)")
    with pytest.raises(crossgrain.Error, match="was changed while it was read"):
        crossgrain.encrypt_file(source, tmp_path / "sealed", key=KEY, progress=progress)
    assert os.listdir(tmp_path) == ["plain"]


LIMITED = """
import os, resource, signal, sys, crossgrain
os.chdir(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
file = crossgrain.EncryptedFile("sealed", "x", key=bytes(range(32)))
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
try:
    for _ in range(10):
        file.write(bytes(1_000_000))
    raise AssertionError("written")
except OSError:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
for work in (lambda: file.write(b"more"), file.close):
    try:
        work()
        raise AssertionError("taken")
    except crossgrain.Error as refused:
        assert "an earlier write failed" in str(refused)
assert os.listdir() == [], os.listdir()
"""


@unix
def test_a_file_of_which_a_part_could_not_be_written_does_not_appear(tmp_path):
    subprocess.run([sys.executable, "-c", LIMITED, tmp_path], check=True)
