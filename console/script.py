"""The script that a command is given: a file, standard input, or text on the command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Mapping

STANDARD_INPUT = "-"


class ScriptError(FsqlError):
    """A script that cannot be read: what is in error is the command line that names it."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, the values of its `${name}`, and the directory that relative paths start from.

    `path` is its file, None where the text came otherwise; `used_stdin` says that it came by standard
    input, which then has nothing left for a table.
    """

    source: SourceText
    parameters: Mapping[str, str]
    base_directory: Path
    path: Path | None = None
    used_stdin: bool = False


def script_of_text(text: str, parameters: Mapping[str, str]) -> Script:
    """Return a script that was written on the command line; its paths start from the working directory."""
    return Script(SourceText("<command line>", text), parameters, Path.cwd())


def read_script(name: str, parameters: Mapping[str, str]) -> Script:
    """Return the script of that file name, or standard input for `-`.

    Raises:
        ScriptError: E531, if the file cannot be read.
    """
    if name == STANDARD_INPUT:
        text = _decoded(sys.stdin.buffer.read())
        return Script(SourceText("<stdin>", text), parameters, Path.cwd(), used_stdin=True)
    path = Path(name)
    try:
        text = _decoded(path.read_bytes())
    except OSError as error:
        # The connectors take time to import, and most scripts can be read.
        from fsql.runtime.connectors import paths

        missing = isinstance(error, FileNotFoundError)
        unreadable = paths.cannot_open("E531", name, error, *(paths.near(path) if missing else ()))
        raise ScriptError(unreadable.diagnostics) from None
    return Script(SourceText(name, text), parameters, path.resolve().parent, path.resolve())


def _decoded(content: bytes) -> str:
    """Return the text; bytes that are not UTF-8 become surrogates, which the parser refuses in place."""
    text = content.decode("utf-8", "surrogateescape")
    # Some editors put a mark in front; it says nothing about UTF-8, and is no part of the script.
    return text.removeprefix("\ufeff")
