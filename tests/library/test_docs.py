"""The page of the library: each example prints what is shown behind it."""

from __future__ import annotations

import subprocess
import sys
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
    number: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    example, shown = EXAMPLES[number]
    printed = subprocess.run(
        [sys.executable, "-c", example.text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if request.config.getoption("--rewrite"):
        text = page_text(PAGE)
        now = [block for block in read_blocks(text) if block.kind == "output"][number]
        (ROOT / PAGE).write_text(rewritten(text, [(now, printed)]))
        return
    assert printed == shown.text


def test_every_example_shows_something() -> None:
    assert {shown.kind for _, shown in EXAMPLES} == {"output"}
