"""Encrypted files over file objects, their exceptions, and `crossgrain.open`."""

import errno
import io
import os
import tempfile

import pytest

import crossgrain

KEY = bytes(range(32))
PLAIN = bytes(7 * i % 251 for i in range(100_000))


def sealed(data=PLAIN, **secret):
    place = io.BytesIO()
    with crossgrain.EncryptedFile(place, "w", **(secret or {"key": KEY})) as file:
        file.write(data)
    return place.getvalue()


class Piped(io.RawIOBase):
    """A file object that cannot seek, and reads and writes a few bytes at a time."""

    def __init__(self, data=b""):
        self.data = data

    def readable(self):
        return True

    def read(self, size=-1):
        part, self.data = self.data[: min(size, 1000)], self.data[min(size, 1000) :]
        return part

    def write(self, data):
        self.data += bytes(data[:1000])
        return min(len(data), 1000)


class Bare:
    """An object with nothing but `read` or `write`."""

    def __init__(self, data=b""):
        self.data, self.name = io.BytesIO(data), "a name"

    def read(self, size):
        return bytearray(self.data.read(size))

    def write(self, data):
        self.data.write(data)


def test_file_objects_are_read_from_anywhere():
    place = io.BytesIO(b"before" + sealed())
    place.seek(6)
    with crossgrain.EncryptedFile(place, key=KEY) as file:
        assert file.seekable() and file.name is None and file.mode == "rb"
        assert file.read() == PLAIN and file.seek(-10, 2) == len(PLAIN) - 10 and file.read(3) == PLAIN[-10:-7]
        assert file.seek(50_000) == 50_000 and file.read(5) == PLAIN[50_000:50_005] and file.tell() == 50_005
    assert not place.closed


@pytest.mark.parametrize("cls", [Piped, Bare])
def test_any_object_with_the_methods_is_taken(cls):
    place = cls()
    with crossgrain.EncryptedFile(place, "wb", key=KEY) as file:
        assert file.write(PLAIN) == len(PLAIN) == file.tell() and file.mode == "wb"
    data = place.data if cls is Piped else place.data.getvalue()
    with crossgrain.EncryptedFile(cls(data), key=KEY) as file:
        assert not file.seekable() and file.read() == PLAIN and file.tell() == len(PLAIN)
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
        assert file.name == ("a name" if cls is Bare else None)


def test_temporary_and_system_files_are_taken(tmp_path):
    with tempfile.TemporaryFile() as place:
        with crossgrain.open(place, "wb", key=KEY) as file:
            file.write(PLAIN)
        place.seek(0)
        assert crossgrain.open(place, key=KEY).read() == PLAIN
    with open(tmp_path / "there", "wb") as place, crossgrain.EncryptedFile(place, "w", key=KEY) as file:
        file.write(PLAIN)
        assert file.name == str(tmp_path / "there") == place.name or file.name == place.name
    crossgrain.decrypt_file(tmp_path / "there", tmp_path / "plain", key=KEY)
    assert (tmp_path / "plain").read_bytes() == PLAIN


class Failing(Bare):
    def read(self, size):
        raise LookupError("no data")

    write = read


class Odd(Bare):
    def read(self, size):
        return "text"

    def write(self, data):
        return len(data) + 1


def test_exceptions_of_file_objects_come_through():
    for mode in "rw":
        with pytest.raises(LookupError, match="no data"):
            crossgrain.EncryptedFile(Failing(), mode, key=KEY)
    with pytest.raises(BufferError, match="read returned"):
        crossgrain.EncryptedFile(Odd(), key=KEY)
    with pytest.raises(OSError, match="write returned"):
        crossgrain.EncryptedFile(Odd(), "w", key=KEY)


def test_objects_that_are_no_files_are_refused():
    for wrong, mode, error, told in [
        (io.StringIO(), "r", TypeError, "binary"), (5, "r", TypeError, "file is a path"), (None, "w", TypeError, "file is a path"),
        (io.BytesIO(), "x", ValueError, "for paths"), (io.BytesIO(), "a", ValueError, "mode 'a'"), (b"path", "r", TypeError, "file is a path"),
    ]:  # fmt: skip
        with pytest.raises(error, match=told):
            crossgrain.EncryptedFile(wrong, mode, key=KEY)


def test_a_discarded_file_object_has_no_complete_file():
    place = io.BytesIO()
    with pytest.raises(RuntimeError):
        with crossgrain.open(place, "wb", key=KEY) as file:
            file.write(PLAIN)
            raise RuntimeError
    with pytest.raises(crossgrain.Truncated):
        crossgrain.open(io.BytesIO(place.getvalue()), key=KEY).read()


def test_a_file_has_its_name_and_mode(tmp_path):
    for name in (tmp_path / "sealed", str(tmp_path / "other")):
        with crossgrain.EncryptedFile(name, "x", key=KEY) as file:
            assert file.name == name and file.mode == "xb" and "sealed" in repr(file) or "other" in repr(file)
        with crossgrain.open(name, key=KEY) as file:
            assert file.name == name and file.mode == "rb"


def test_open_writes_and_reads_bytes_and_text(tmp_path):
    path = tmp_path / "sealed"
    with crossgrain.open(path, "xt", key=KEY, encoding="latin-1", newline="\r\n") as file:
        assert isinstance(file, io.TextIOWrapper) and not path.exists()
        file.write("é\nä\n")
    with crossgrain.open(path, "rb", key=KEY) as file:
        assert isinstance(file, io.BufferedReader) and file.readlines() == [b"\xe9\r\n", b"\xe4\r\n"]
        assert file.seek(1) == 1 and file.peek()[:1] == b"\r"
    with crossgrain.open(path, "rt", key=KEY, encoding="latin-1") as file:
        assert list(file) == ["é\n", "ä\n"]
    with crossgrain.open(path, "w", key=KEY) as file:
        assert isinstance(file, io.BufferedWriter)
        for byte in PLAIN[:999]:
            file.write(bytes([byte]))
    assert crossgrain.open(path, key=KEY).read() == PLAIN[:999]
    with pytest.raises(ValueError, match="encoding"):
        crossgrain.open(path, "rb", key=KEY, encoding="utf-8")
    with pytest.raises(ValueError, match="mode"):
        crossgrain.open(path, "a", key=KEY)
    with pytest.raises(FileExistsError):
        crossgrain.open(path, "x", key=KEY)


@pytest.mark.parametrize("mode", ["wb", "wt"])
@pytest.mark.parametrize("end", ["raise", "drop"])
def test_a_file_of_open_does_not_appear_unless_it_is_closed(tmp_path, mode, end):
    path = tmp_path / "sealed"
    data = b"text" if mode == "wb" else "text"
    if end == "drop":
        file = crossgrain.open(path, mode, key=KEY)
        file.write(data)
        del file
    else:
        with pytest.raises(RuntimeError):
            with crossgrain.open(path, mode, key=KEY) as file:
                file.write(data)
                raise RuntimeError
    assert os.listdir(tmp_path) == []
    file = crossgrain.open(path, mode, key=KEY)
    file.write(data)
    file.close()
    assert crossgrain.open(path, key=KEY).read() == b"text"


def changed(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def reads(data, **secret):
    with crossgrain.EncryptedFile(io.BytesIO(data), **(secret or {"key": KEY})) as file:
        return file.read()


def test_each_fault_has_its_exception(tmp_path):
    data = sealed()
    assert reads(data) == PLAIN
    with pytest.raises(crossgrain.WrongKey, match="key"):
        reads(data, key=bytes(32))
    with pytest.raises(crossgrain.WrongKey, match="by a key"):
        reads(data, passphrase="words")
    with pytest.raises(crossgrain.WrongKey, match="by a passphrase"):
        reads(sealed(passphrase="words"))
    with pytest.raises(crossgrain.Damaged, match="chunk 3"):
        reads(changed(data, 60_000))
    for cut in (len(data) - 1, 70_000):
        with pytest.raises((crossgrain.Truncated, crossgrain.Damaged)):
            reads(data[:cut])
    for cut in (20, 60):
        with pytest.raises(crossgrain.Truncated, match="cut off within its header"):
            reads(data[:cut])
    with pytest.raises(crossgrain.Error, match="no file of crossgrain"):
        reads(b"something else" * 20)
    (tmp_path / "sealed").write_bytes(changed(data, 60_000))
    with pytest.raises(crossgrain.Damaged):
        crossgrain.decrypt_file(tmp_path / "sealed", tmp_path / "plain", key=KEY)
    message = crossgrain.seal(b"text", key=KEY, nonce=bytes(12))
    with pytest.raises(crossgrain.Forged) as forged:
        crossgrain.unseal(changed(message, 2), key=KEY, nonce=bytes(12))
    assert type(forged.value) is crossgrain.Forged
    with pytest.raises(crossgrain.Truncated):
        crossgrain.unseal(message[:10], key=KEY, nonce=bytes(12))


def test_older_clauses_catch_the_exceptions():
    assert issubclass(crossgrain.Truncated, crossgrain.Damaged) and issubclass(crossgrain.Damaged, crossgrain.Forged)
    assert issubclass(crossgrain.Forged, crossgrain.Error) and issubclass(crossgrain.WrongKey, crossgrain.Error)
    assert issubclass(crossgrain.Error, ValueError) and not issubclass(crossgrain.WrongKey, crossgrain.Forged)


def test_errors_of_the_system_keep_their_number_and_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "there").write_bytes(b"")
    plain, missing, there = tmp_path / "plain", tmp_path / "missing", tmp_path / "there"
    cases = [
        (lambda: crossgrain.encrypt_file(missing, tmp_path / "x", key=KEY), FileNotFoundError, errno.ENOENT, missing),
        (lambda: crossgrain.decrypt_file(missing, tmp_path / "x", key=KEY), FileNotFoundError, errno.ENOENT, missing),
        (lambda: crossgrain.encrypt_file(plain, missing / "x", key=KEY), FileNotFoundError, errno.ENOENT, missing / "x"),
        (lambda: crossgrain.encrypt_file(plain, there, key=KEY), FileExistsError, errno.EEXIST, there),
        (lambda: crossgrain.EncryptedFile(missing, key=KEY), FileNotFoundError, errno.ENOENT, missing),
        (lambda: crossgrain.EncryptedFile(there, "x", key=KEY), FileExistsError, errno.EEXIST, there),
        (lambda: crossgrain.open(str(missing), key=KEY), FileNotFoundError, errno.ENOENT, missing),
        (lambda: crossgrain.EncryptedFile(tmp_path, key=KEY), IsADirectoryError, errno.EISDIR, tmp_path),
    ]
    for number, (call, kind, code, path) in enumerate(cases):
        with pytest.raises(kind) as raised:
            call()
        assert (raised.value.errno, raised.value.filename) == (code, str(path)), number
        assert raised.value.strerror and str(path) in str(raised.value)


def test_messages_name_the_argument():
    for call, name in [
        (lambda: crossgrain.encrypt("text", key=KEY), "data"), (lambda: crossgrain.encrypt(b"", key="text"), "key"),
        (lambda: crossgrain.encrypt(b"", key=KEY, iv=5), "iv"), (lambda: crossgrain.seal(b"", key=KEY, nonce="n"), "nonce"),
        (lambda: crossgrain.seal(b"", key=KEY, nonce=b"n" * 12, aad="a"), "aad"), (lambda: crossgrain.encrypt(b"", key=KEY, out=b""), "out"),
        (lambda: crossgrain.EncryptedFile("missing", key=5), "key"), (lambda: crossgrain.EncryptedFile("missing", passphrase=5), "passphrase"),
        (lambda: crossgrain.encrypt(b"", key=KEY[1:], iv=bytes(16)), "a key of aes-256"), (lambda: crossgrain.seal(b"", key=KEY), "gcm needs a nonce"),
        (lambda: crossgrain.generate_key("des"), "cipher 'des'"), (lambda: crossgrain.generate_key("sm4", "ige"), "mode 'ige'"),
    ]:  # fmt: skip
        with pytest.raises((BufferError, TypeError, ValueError), match=f"^{name}") as refused:
            call()
        assert "\n" not in str(refused.value)


def test_generated_keys_fit(tmp_path):
    for cipher in crossgrain.CIPHERS:
        for mode in crossgrain.MODES.values():
            key, iv = crossgrain.generate_key(cipher, mode.name), bytes(mode.iv_bytes or 0)
            try:
                if mode.authenticated:
                    crossgrain.seal(b"text", key=key, nonce=iv, cipher=cipher, mode=mode.name)
                else:
                    crossgrain.encrypt(bytes(512), key=key, iv=iv, cipher=cipher, mode=mode.name)
            except crossgrain.Error as refused:
                assert f"{mode.name} is not defined for {cipher}" in str(refused)
    assert crossgrain.generate_key() != crossgrain.generate_key() and len(crossgrain.generate_key()) == 32
    for suite in ("aes-128-gcm", "serpent-256-eax"):
        with crossgrain.open(tmp_path / suite, "w", key=crossgrain.generate_key(suite[:-4]), suite=suite) as file:
            file.write(b"text")
