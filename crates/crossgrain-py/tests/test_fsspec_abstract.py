"""The tests that fsspec has for all file systems: copy, get, put, move, open and pipe."""

import hashlib

import pytest

fsspec = pytest.importorskip("fsspec")
abstract = pytest.importorskip("fsspec.tests.abstract", reason="the tests of fsspec (they are not in this version)")

from crossgrain.fsspec import EncryptedFileSystem  # noqa: E402


def key_of_path(path):
    return hashlib.sha256(path.encode()).digest()


class File(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self):
        return EncryptedFileSystem("file", {"auto_mkdir": True}, key=bytes(32))

    @pytest.fixture
    def fs_path(self, tmpdir):
        return str(tmpdir)


class Memory(abstract.AbstractFixtures):
    key = bytes(32)

    @pytest.fixture
    def fs(self):
        below = fsspec.filesystem("memory", global_store=False, skip_instance_cache=True)
        return EncryptedFileSystem(fs=below, key=self.key, skip_instance_cache=True)

    @pytest.fixture
    def fs_path(self, fs):
        fs.mkdir("/base")
        return "/base"


class KeyOfPath(Memory):
    key = staticmethod(key_of_path)


ALL = ("Copy", "Get", "Mv", "Open", "Pipe", "Put")
for store, kinds in ((File, ALL), (Memory, ALL), (KeyOfPath, ("Copy", "Mv"))):
    for kind in kinds:
        if tests := getattr(abstract, f"Abstract{kind}Tests", None):
            name = f"Test{store.__name__}{kind}"
            globals()[name] = type(name, (tests, store), {})
