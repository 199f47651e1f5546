"""The page of the library: each example prints what is shown behind it."""

from __future__ import annotations

import runpy
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fsql.tests.docs.pages import ROOT, page_text, read_blocks, rewritten

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "docs/library.md"
BLOCKS = read_blocks(page_text(PAGE))
EXAMPLES = [(block, shown) for block, shown in pairwise(BLOCKS) if block.kind == "python"]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_it_shows(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    example, shown = EXAMPLES[number]
    program = tmp_path / "program" / "example.py"
    program.parent.mkdir()
    program.write_text(example.text)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="__main__")
    printed = capfd.readouterr().out
    if request.config.getoption("--rewrite"):
        text = page_text(PAGE)
        now = [block for block in read_blocks(text) if block.kind == "output"][number]
        (ROOT / PAGE).write_text(rewritten(text, [(now, printed)]))
        return
    assert printed == shown.text


def test_every_example_shows_something() -> None:
    assert {shown.kind for _, shown in EXAMPLES} == {"output"}
