"""Costs that the command line has stored choose the plans, and a file that is refused causes one warning."""

import json
import os
import subprocess
import sys

import pytest

import crossgrain

SHOW = """
import warnings, crossgrain
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    plans = crossgrain.plan("aes-256", "ecb", isa="avx2-aes")
    sealed = crossgrain.encrypt(bytes(4096), key=bytes(32), mode="ecb")
    crossgrain.plan("aes-128", "ctr")
print(plans.plans[0].per_byte_ns, plans.json.count("stages"), sealed[:4].hex(), *[one.message for one in told], sep="|")
"""


def shown(path):
    """What Python says with this file of wisdom."""
    environment = {**os.environ, "CROSSGRAIN_WISDOM": str(path)}
    done = subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().split("|")


def test_a_missing_file_is_no_fault(tmp_path):
    *_, sealed = shown(tmp_path / "missing.json")
    assert sealed == crossgrain.encrypt(bytes(16), key=bytes(32), mode="ecb")[:4].hex()


def test_a_refused_file_causes_one_warning(tmp_path):
    (tmp_path / "wisdom.json").write_text("{}")
    before = shown(tmp_path / "missing.json")
    got = shown(tmp_path / "wisdom.json")
    assert got[: len(before)] == before and len(got) == len(before) + 1
    assert got[-1].startswith("wisdom ignored: ") and "wisdom.json" in got[-1]


def test_stored_costs_are_used(tmp_path):
    program = os.environ.get("CROSSGRAIN_PROGRAM")
    if program is None or not os.path.exists(program):
        pytest.skip("wisdom of the command line (CROSSGRAIN_PROGRAM does not name it)")
    path = tmp_path / "wisdom.json"
    environment = {**os.environ, "CROSSGRAIN_WISDOM": str(path)}
    before = shown(tmp_path / "missing.json")
    # Costs that choose a slower plan are dropped. On a busy machine that may happen.
    for _ in range(5):
        subprocess.run([program, "wisdom", "measure", "--cipher", "aes-256", "--budget-ms", "500"], env=environment, check=True, capture_output=True)
        after = shown(path)
        assert before[2:] == after[2:]
        if before[0] != after[0]:
            return
    pytest.skip("wisdom of the command line (it has dropped the measured costs)")


def test_a_saved_plan_is_taken_as_text():
    plans = crossgrain.plan("aes-256", "gcm", isa="avx2-aes")
    message = crossgrain.seal(b"text", key=bytes(32), nonce=bytes(12))
    assert json.loads(plans.json)
    for plan in (plans, plans.json, None):
        assert crossgrain.seal(b"text", key=bytes(32), nonce=bytes(12), plan=plan) == message
        assert crossgrain.unseal(message, key=bytes(32), nonce=bytes(12), plan=plan) == b"text"
    with pytest.raises(crossgrain.Error):
        crossgrain.seal(b"text", key=bytes(32), nonce=bytes(12), plan="{}")
    stage = plans.plans[0].stages[0].name
    assert crossgrain.seal(b"text", key=bytes(32), nonce=bytes(12), variants=[stage]) == message
