"""Runs the Python examples of each documentation page, in order, in a separate folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def examples(page: Path) -> list[str]:
    """The examples of a page, except those that need a cluster."""
    return [block for block in EXAMPLE.findall(page.read_text(encoding="utf-8")) if "tcp://" not in block]


PAGES = {page: examples(page) for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}


def test_there_are_examples() -> None:
    assert sum(map(len, PAGES.values())) >= 6


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks], ids=lambda page: page.name)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in PAGES[page]:
        exec(compile(block, str(page), "exec"), names)
