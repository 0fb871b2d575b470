"""Plans can be printed, drawn and forced; the planner also accepts parts of the caller."""

import json

import pytest

import crossgrain

KEY, IV = bytes(32), bytes(16)

#: The published costs of four AES steps, word-parallel and bit-sliced, and of the conversion.
COSTS = {
    "parts": ["sub", "shift", "mix", "add"],
    "representations": ["word", "bit"],
    "cost": {
        "sub": {"word": 14337, "bit": 38563},
        "shift": {"word": 5788, "bit": 0},
        "mix": {"word": 27908, "bit": 5991},
        "add": {"word": 6427, "bit": 10062},
    },
    "convert": {"word>bit": 11856, "bit>word": 11856},
    "start": ["word"],
    "end": ["word"],
}


def test_plans_print_and_are_values():
    plans = crossgrain.plan("aes-128", "ctr")
    assert len(plans) >= 1 and plans.cipher == "aes-128"
    assert str(plans).startswith("aes-128, encrypt from a counter")
    assert all(stage.leaks == "nothing" for plan in plans for stage in plan.stages)
    assert str(plans[0]) == " > ".join(stage.name for stage in plans[0].stages)
    assert [plan.bundle_blocks for plan in plans] == sorted((plan.bundle_blocks for plan in plans), reverse=True)
    html = crossgrain.plan("serpent-256", "cbc", decrypt=True)._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") >= 2 and "serpent-256, decrypt" in html
    json.loads(plans.json)


@pytest.mark.parametrize("isa", ["portable", "avx2-aes"])
def test_a_plan_can_be_forced_and_changes_nothing(isa):
    plans = crossgrain.plan("aes-256", "ctr", isa=isa)
    data = bytes(100_000)
    assert crossgrain.encrypt(data, key=KEY, iv=IV, plan=plans) == crossgrain.encrypt(data, key=KEY, iv=IV)
    with pytest.raises(crossgrain.Error, match="plan"):
        crossgrain.encrypt(data, key=KEY, mode="ecb", plan=plans)


def test_plans_draw_themselves():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plans = crossgrain.plan("aes-128", "ecb", isa="avx2-aes")
    axes = plans.plot()
    assert len(axes.lines) == len(plans) and axes.get_xlabel() == "bytes"
    assert plans.plot(ax=axes) is axes


def test_the_published_composition_is_found():
    found = crossgrain.compose(COSTS)
    assert found.total == 50467 and found.pure["word"] == 54460 and found.pure["bit"] == 54616
    assert found.path[0] == "sub/word" and "word>bit" in found.path
    assert found == crossgrain.compose(json.dumps(COSTS))
    assert [cost for cost, _ in found.runners_up] == sorted(cost for cost, _ in found.runners_up)


def test_costs_that_make_no_sense_are_refused():
    for costs in ({}, {**COSTS, "start": []}, {**COSTS, "cost": {}}, "no json"):
        with pytest.raises(crossgrain.Error):
            crossgrain.compose(costs)
    with pytest.raises(crossgrain.Error, match="no mode is called"):
        crossgrain.plan("aes-128", "ctx")


def test_the_cpu_is_the_first_device():
    [cpu, *gpus] = crossgrain.devices()
    assert cpu.name == "cpu" and cpu.model and cpu.threads >= 1 and not cpu.is_software
    assert all(gpu.name.split(":")[0] in ("cuda", "wgpu") and gpu.model for gpu in gpus)
