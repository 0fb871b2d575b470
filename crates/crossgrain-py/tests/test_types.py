"""The stubs match the package."""

import subprocess
import sys

import pytest


def test_the_stubs_are_those_of_the_package(tmp_path):
    pytest.importorskip("mypy")
    # PyO3's list of exports would report every item twice.
    (tmp_path / "allowed").write_text("crossgrain._native.__all__\n")
    command = [sys.executable, "-m", "mypy.stubtest", "--allowlist", "allowed", "crossgrain"]
    # Runs outside of the checkout, where the package lies without its native half.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
