"""The package crossgrain-gpu replaces the native half, if it has the same version."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crossgrain

ROOT = Path(__file__).parents[3]

SHOW = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import crossgrain, crossgrain.dask
key, iv = bytes(32), bytes(16)
assert crossgrain.decrypt(crossgrain.encrypt(b"text", key=key, iv=iv), key=key, iv=iv) == b"text"
print(crossgrain._native.__name__, *[one.message for one in told], sep="|")
"""


def shown(folder, version):
    """The native half that is used, and warnings, with crossgrain-gpu of this version."""
    package = folder / "crossgrain_gpu"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(crossgrain._native.__file__, package)
    for name, of in (("crossgrain", crossgrain.__version__), ("crossgrain-gpu", version)):
        described = folder / f"{name.replace('-', '_')}-{of}.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {of}\n")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


def test_the_same_version_is_used(tmp_path):
    assert shown(tmp_path, crossgrain.__version__) == ["crossgrain_gpu._native"]


def test_another_version_is_ignored(tmp_path):
    native, told = shown(tmp_path, "99.0")
    assert native == "crossgrain._native" and told.startswith("crossgrain-gpu 99.0 is ignored")


def test_the_extra_asks_for_this_version():
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("pyproject.toml (this is no checkout)")
    asked = re.search(r'^gpu = \["crossgrain-gpu==(.*)"\]$', project.read_text(), re.M)
    assert asked and asked.group(1) == crossgrain.__version__
