"""Pages that show commands: each prints what is shown behind it.

```sql NAME             a file in the working directory; `json NAME` and `text NAME` likewise
```console              a command, `fsql …`
```output               what it prints on standard output; `output NAME` is a file that it writes
```error                what it prints on standard error, without the summary of a run, which has times
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import CommandResult, fsql
from fsql.tests.docs.pages import ROOT, page_text, read_blocks, rewritten

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.docs.pages import Block

PAGES = ("docs/one_query.md", "docs/troubleshooting.md")


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_is_shown(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    results: list[tuple[Block, str]] = []
    said = CommandResult(0, "", "")
    for block in read_blocks(page_text(page)):
        if block.kind == "console":
            program, *arguments = shlex.split(block.text)
            assert program == "fsql"
            said = fsql(*arguments)
        elif block.kind == "output":
            written = (tmp_path / block.name).read_text() if block.name else said.out
            results.append((block, written))
        elif block.kind == "error":
            results.append((block, said.err.partition("finished after")[0]))
        else:
            (tmp_path / block.name).write_text(block.text)
    if request.config.getoption("--rewrite"):
        (ROOT / page).write_text(rewritten(page_text(page), results))
        return
    assert [text for _, text in results] == [block.text for block, _ in results]
