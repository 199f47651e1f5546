"""The examples of documentation pages: what is shown is what comes out.

An example is a run of fenced blocks, with prose between them or not:

    ```sql              the script; with `sql shared` it goes before every later example of the page
    ```json NAME        an input file, beside the script (`text NAME` and `python NAME` likewise)
    ```output           what the script prints; `output NAME` is a file that it writes
    ```error            what is said on standard error

An example begins with its `sql` block and ends where the next begins.  Files behind a `sql shared` block
are there for every later example as well.  Other blocks (`console`, none) are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGINT, SIGTERM

from fsql.tests.cli.commands import fsql

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/language.md", "docs/programs.md", "docs/coming_from.md")
SCRIPT = "example.sql"
FUNCTIONS = "functions"
"""The folder of an example with Python functions."""

_FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN = ("output", "error")
_ENDED_BY_SIGNAL = (128 + SIGINT, 128 + SIGTERM)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, the name behind it, its text, and where the text is in the page."""

    kind: str
    name: str
    text: str
    start: int


@dataclass
class Example:
    """An example: its script, input files and what it shows; `line` is where it begins in `page`."""

    page: str
    line: int
    script: str
    files: dict[str, str]
    shown: list[Block] = field(default_factory=list)

    @property
    def has_functions(self) -> bool:
        """Say whether there are modules of Python functions."""
        return any(name.startswith(f"{FUNCTIONS}/") for name in self.files)

    def run(self, folder: Path, *flags: str) -> dict[tuple[str, str], str]:
        """Run the example in `folder`, the working directory; return the texts it may show."""
        for name, text in {**self.files, SCRIPT: self.script}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        folder_flags = ("--functions", FUNCTIONS) if self.has_functions else ()
        said = fsql("run", SCRIPT, "--quiet", "--debug", *folder_flags, *flags)
        # A signal to pytest, from a time limit for example, ends this run only: its rows are no result.
        assert said.code not in _ENDED_BY_SIGNAL, "a signal has ended the example"
        written = {
            ("output", path.name): path.read_text()
            for path in folder.iterdir()
            if path.is_file() and path.name not in self.files and path.name != SCRIPT
        }
        return {**written, ("output", ""): said.out, ("error", ""): said.err}


def page_text(page: str) -> str:
    """Return the text of a page of the repository."""
    return (ROOT / page).read_text()


def read_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page that name a kind."""
    return [
        Block(match[1], match[2] or "", match[3], match.start(3)) for match in _FENCE.finditer(text)
    ]


def read_examples(page: str) -> list[Example]:
    """Return the examples of a page."""
    text = page_text(page)
    shared = Example(page, 0, "", {})
    current = shared
    examples: list[Example] = []
    for block in read_blocks(text):
        line = text.count("\n", 0, block.start)
        if block.kind == "sql" and block.name == "shared":
            shared = replace(shared, script=shared.script + block.text)
            current = shared
        elif block.kind == "sql":
            current = Example(page, line, shared.script + block.text, dict(shared.files))
            examples.append(current)
        elif block.kind in ("json", "text") or (block.kind == "python" and block.name):
            current.files[block.name] = block.text
        elif block.kind in _SHOWN:
            current.shown.append(block)
    return examples


def rewritten(text: str, results: list[tuple[Block, str]]) -> str:
    """Return a page whose shown blocks have these texts."""
    for block, actual in sorted(results, key=lambda each: -each[0].start):
        text = text[: block.start] + actual + text[block.start + len(block.text) :]
    return text


def section(text: str, title: str) -> str:
    """Return what stands under a heading, up to the next heading of the same depth."""
    depth = len(title) - len(title.lstrip("#"))
    end = rf"(?=^#{{1,{depth}}} |\Z)"
    match = re.search(rf"^{re.escape(title)}\n(.*?){end}", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"no section {title}"
    return match[1]


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text, without their head; `\\|` is a bar in a cell."""
    rows = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("|") and not line.startswith("|--") and not below.startswith("|--"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
    return rows
