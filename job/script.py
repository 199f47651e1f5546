"""The script of a job: a file, standard input, or text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.text.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.job.memory import Memory

STANDARD_INPUT = "-"

PLAN_VERSION: Final = 1
"""The version of the format of compiled plans (`fsql.job.plan_file`)."""

PLAN_START: Final = b'{"kind":"fsql-plan",'
"""How a compiled plan begins, whatever its version."""


class ScriptError(FsqlError):
    """A script that cannot be read: what is in error is the command line that names it."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, the values of its `${name}`, and the directory that relative paths start from.

    `path` is its file, None where the text came otherwise; `used_stdin` says that it came by standard
    input, which then has nothing left for a table.  `memory` has what the program that runs it hands in.
    `plan_digest` is the digest that its plan must have, where it came from a compiled plan.
    """

    source: SourceText
    parameters: Mapping[str, str]
    base_directory: Path
    path: Path | None = None
    used_stdin: bool = False
    memory: Memory | None = None
    plan_digest: str | None = None


def script_of_text(text: str, parameters: Mapping[str, str]) -> Script:
    """Return a script that was written on the command line; its paths start from the working directory."""
    # What is not UTF-8 in an argument comes as surrogates.
    text = _decoded("<command line>", text.encode("utf-8", "surrogateescape"))
    return Script(SourceText("<command line>", text), parameters, Path.cwd())


def read_script(name: str, parameters: Mapping[str, str]) -> Script:
    """Return the script of that file name, or standard input for `-`; the file may be a compiled plan.

    Raises:
        ScriptError: E531, if the file cannot be read.
        FsqlError: E117, if it is not UTF-8; E606, E607, if it is a compiled plan that cannot be used.
    """
    if name == STANDARD_INPUT:
        text = _decoded("<stdin>", sys.stdin.buffer.read())
        return Script(SourceText("<stdin>", text), parameters, Path.cwd(), used_stdin=True)
    path = Path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        # The connectors take time to import, and most scripts can be read.
        from fsql.connectors import paths

        missing = isinstance(error, FileNotFoundError)
        unreadable = paths.cannot_open("E531", name, error, *(paths.near(path) if missing else ()))
        raise ScriptError(unreadable.diagnostics) from None
    if content.startswith(PLAN_START):
        from fsql.job.plan_file import script_of_plan

        return script_of_plan(name, content, parameters)
    source = SourceText(name, _decoded(name, content))
    return Script(source, parameters, path.resolve().parent, path.resolve())


def _decoded(name: str, content: bytes) -> str:
    """Return the text of the script `name`.

    Raises:
        FsqlError: E117, if it is not UTF-8.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        place = len(content[: error.start].decode())
        label = Label(Span(place, place + 1), f"byte 0x{content[error.start]:02X}")
        message = f"the script is not UTF-8 at byte {error.start:,}, counted from 0"
        shown = SourceText(name, content.decode(errors="replace"))
        raise FsqlError([Diagnostic("E117", message, label)], shown) from None
    # Some editors put a mark in front; it says nothing about UTF-8, and is no part of the script.
    return text.removeprefix("\ufeff")
