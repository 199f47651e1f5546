"""The script of a job: a file, standard input, or text."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
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
"""The first bytes of a compiled plan of any version."""


class ScriptError(FsqlError):
    """A script cannot be read: the error is in the command line."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, the values of its `${name}`, and the directory that relative paths start from.

    `path` is its file, None if there is none; `used_stdin` means that it was read from standard input, which
    no table can read then.  `memory` has the tables of the program that runs it.  `plan_digest` is the digest
    that its plan must have, if it is from a compiled plan.
    `ordinals` are those that tables of the job had before the script was changed.
    `functions` are the folders of modules with functions, `modules` the digests that modules must have.
    `columns` are those that were inferred from the input, by table, as CREATE TABLE has them in brackets.
    """

    source: SourceText
    parameters: Mapping[str, str]
    base_directory: Path
    path: Path | None = None
    used_stdin: bool = False
    memory: Memory | None = None
    plan_digest: str | None = None
    ordinals: Mapping[str, int] = field(default_factory=dict)
    functions: tuple[Path, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


def script_of_text(text: str, parameters: Mapping[str, str]) -> Script:
    """Return a script that was written on the command line; its paths start from the working directory."""
    # Bytes of arguments that are not UTF-8 are surrogates.
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
        # Imported only for errors, since connectors take time to import.
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
    # Some editors write a byte order mark, which is not part of the script.
    return text.removeprefix("\ufeff")
