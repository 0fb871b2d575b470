"""The Python examples of the documentation: every page's, in order, in a folder of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: Pages with examples, and what their examples need that is not here: a cluster.
PAGES = {
    page: [block for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S) if "tcp://" not in block]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}


def test_there_are_examples() -> None:
    assert sum(map(len, PAGES.values())) >= 6


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks], ids=lambda page: page.name)
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in PAGES[page]:
        exec(compile(block, str(page), "exec"), names)
