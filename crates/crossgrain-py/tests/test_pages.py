"""Runs the Python examples of each documentation page, in order, in a separate folder."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def examples(page: Path) -> list[str]:
    """The examples of a page, except those that need a cluster."""
    return [block for block in EXAMPLE.findall(page.read_text(encoding="utf-8")) if "tcp://" not in block]


PAGES = {page: examples(page) for page in [ROOT / "README.md", ROOT / "crates/crossgrain-py/README.md", *sorted((ROOT / "docs").glob("*.md"))]}

IMPORT = re.compile(r"^(?:import|from) (\w+)", re.M)


def missing(block: str) -> list[str]:
    """Libraries that an example imports, and that are not installed."""
    return [name for name in IMPORT.findall(block) if importlib.util.find_spec(name) is None]


def test_there_are_examples() -> None:
    assert sum(map(len, PAGES.values())) >= 6


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks], ids=lambda page: page.name)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    absent: list[str] = []
    for block in PAGES[page]:
        absent += missing(block)
        if not missing(block):
            exec(compile(block, str(page), "exec"), names)
    if absent:
        pytest.skip(f"examples of {page.name} (without {', '.join(sorted(set(absent)))})")
