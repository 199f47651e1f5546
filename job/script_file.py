"""Reads scripts: files, standard input, the command line, and compiled plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.text.source import SourceText, Span
from fsql.job.script import PLAN_START, Script, ScriptError

if TYPE_CHECKING:
    from collections.abc import Mapping

STANDARD_INPUT = "-"


def script_of_text(text: str, parameters: Mapping[str, str]) -> Script:
    """Return a script that was written on the command line; its paths start from the working directory."""
    # Bytes of arguments that are not UTF-8 are surrogates.
    text = _decode("<command line>", text.encode("utf-8", "surrogateescape"))
    return Script(SourceText("<command line>", text), parameters, Path.cwd())


def read_script(name: str, parameters: Mapping[str, str]) -> Script:
    """Return the script of that file name, or standard input for `-`; the file may be a compiled plan.

    Raises:
        ScriptError: E531, if the file cannot be read.
        FsqlError: E117, if it is not UTF-8; E606, E607, if it is a compiled plan that cannot be used.
    """
    if name == STANDARD_INPUT:
        text = _decode("<stdin>", sys.stdin.buffer.read())
        return Script(SourceText("<stdin>", text), parameters, Path.cwd(), used_stdin=True)
    path = Path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        # Imported only for errors, since connectors take time to import.
        from fsql.connectors import paths

        missing = isinstance(error, FileNotFoundError)
        unreadable = paths.open_error(
            "E531", name, error, *(paths.similar_name_help(path) if missing else ())
        )
        raise ScriptError(unreadable.diagnostics) from None
    if content.startswith(PLAN_START):
        # Imported only for plans: scripts do not need it.
        from fsql.job.plan_file import script_of_plan

        return script_of_plan(name, content, parameters)
    source = SourceText(name, _decode(name, content))
    return Script(source, parameters, path.resolve().parent, path.resolve())


def _decode(name: str, content: bytes) -> str:
    """Return the text of the script `name`.

    Raises:
        FsqlError: E117, if it is not UTF-8.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        offset = len(content[: error.start].decode())
        label = Label(Span(offset, offset + 1), f"byte 0x{content[error.start]:02X}")
        message = f"the script is not UTF-8 at byte {error.start:,}, counted from 0"
        shown = SourceText(name, content.decode(errors="replace"))
        raise FsqlError([Diagnostic("E117", message, label)], shown) from None
    # Some editors write a byte order mark, which is not part of the script.
    return text.removeprefix("\ufeff")
