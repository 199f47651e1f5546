"""The command as tests call it: in this process, or as one of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from fsql.cli import main
from fsql.tests.command_server import Command

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

COMMAND = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'fsql'; from fsql.__main__ import main; main()",
)
"""`fsql` as a process, also where the console script is not on the path."""

NUMBERS = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'numbers.jsonl');\n"
"""A table, for scripts about something else."""

ENDLESS = (
    "CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'rate' = '2000');\n"
    "SELECT line FROM lines;\n"
)
"""A script that writes to standard output until it is told to stop."""


def on_workers(*flags: str) -> ParameterSet:
    """Return the parameter of a run that starts worker processes, which takes more than a second."""
    return pytest.param(flags, id="processes", marks=[pytest.mark.cluster, pytest.mark.slow])


_PROGRESS = re.compile(rb'\{"event": "progress", |[\d.:]+ .*  freshness ')


class CommandResult(NamedTuple):
    """What a command returned and said."""

    code: int
    out: str
    err: str


def fsql(*arguments: str | Path, text: str = "") -> CommandResult:
    """Call the command in this process; `text` is its standard input."""
    result = CliRunner().invoke(main, [str(each) for each in arguments], input=text)
    return CommandResult(result.exit_code, result.stdout, result.stderr)


def without_progress(err: bytes) -> bytes:
    """Return what a command said without lines of progress, which a run that takes ten seconds prints."""
    lines = err.splitlines(keepends=True)
    return b"".join(each for each in lines if not _PROGRESS.match(each))


def process(
    *arguments: str | Path,
    stdin: bool = False,
    stdout: int = subprocess.PIPE,
    bufsize: int = -1,
    **variables: str,
) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own, with variables added to its environment.

    A test that reads a line before `communicate` needs a `bufsize` of 0: what a buffer has is lost there.
    """
    return Command(
        [*map(str, arguments)],
        stdin=subprocess.PIPE if stdin else None,
        stdout=stdout,
        stderr=subprocess.PIPE,
        bufsize=bufsize,
        env={**os.environ, **variables},
    )
