"""Case files: tests as data.

A `.test` file is a list of cases, with blank lines between.  A case is a command, its input, a line of
dashes, and what it has to give:

    # Comments say why.
    errors
    SELECT a FROM nowhere;
    ----
    error[FSQL-E201]: table "nowhere" does not exist

Behind the command's name may stand arguments, `name=value`, that say how it is to be carried out.
Expected text that has blank lines stands between two pairs of dashes.  A case `tables` has no output:
its input goes before that of every case behind it in the file.  `pytest --rewrite` writes what the
commands give now; the difference is then there to be read.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

_DASHES = "----"


@dataclass(frozen=True)
class Case:
    """A case: its command, input and expected output, and the line of the file where it begins."""

    command: str
    input: str
    expected: str
    comments: str
    line: int

    def text(self) -> str:
        """Return the case as a file has it."""
        body = f"{self.comments}{self.command}\n{self.input}"
        if self.command == "tables":
            return body
        if "\n\n" in self.expected:
            return f"{body}{_DASHES}\n{_DASHES}\n{self.expected}{_DASHES}\n{_DASHES}\n"
        return f"{body}{_DASHES}\n{self.expected}"


def read_cases(text: str) -> list[Case]:
    """Return the cases of a file."""
    lines = _Lines(text)
    cases = []
    while lines.skip_blank():
        cases.append(_read_case(lines))
    return cases


def write_cases(cases: list[Case], expected: dict[int, str]) -> str:
    """Return the file of the cases, with new expected output for those that begin at some lines."""
    changed = [replace(case, expected=expected.get(case.line, case.expected)) for case in cases]
    return "\n".join(case.text() for case in changed)


def command_line(command: str) -> tuple[str, dict[str, str]]:
    """Return the name of a command and its arguments."""
    name, *arguments = shlex.split(command)
    return name, dict(argument.split("=", 1) for argument in arguments)


class _Lines:
    """The lines of a file, taken one by one; `number` is that of the next, from 1."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self.number = 1

    def peek(self) -> str:
        """Return the next line; "" at the end."""
        return self._lines[self.number - 1] if self.number <= len(self._lines) else ""

    def take(self) -> str:
        """Return the next line and go on."""
        line = self.peek()
        self.number += 1
        return line

    def take_until(self, *ends: str) -> str:
        """Return the lines before the next one that is one of `ends`, or the end of the file."""
        taken = ""
        while self.peek() and self.peek() not in ends:
            taken += self.take()
        return taken

    def skip_blank(self) -> bool:
        """Go to the next line that says something; say whether there is one."""
        while self.peek() == "\n":
            self.take()
        return bool(self.peek())


def _read_case(lines: _Lines) -> Case:
    start = lines.number
    comments = ""
    while lines.peek().startswith("#"):
        comments += lines.take()
    command = lines.take().rstrip("\n")
    given = lines.take_until(f"{_DASHES}\n", "\n")
    if lines.peek() != f"{_DASHES}\n":
        assert command == "tables", f"line {start}: the case has no {_DASHES}"
        return Case(command, given, "", comments, start)
    lines.take()
    if lines.peek() != f"{_DASHES}\n":
        return Case(command, given, lines.take_until("\n"), comments, start)
    lines.take()
    expected = ""
    while not expected.endswith(f"{_DASHES}\n{_DASHES}\n"):
        assert lines.peek(), f"line {start}: the expected text does not end"
        expected += lines.take()
    return Case(command, given, expected.removesuffix(f"{_DASHES}\n{_DASHES}\n"), comments, start)
