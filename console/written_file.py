"""A file of text that a command writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError

if TYPE_CHECKING:
    from pathlib import Path


def check_folder(file: Path) -> None:
    """Check that the folder of a file exists, before the work whose result is written.

    Raises:
        FsqlError: E535, if it does not.
    """
    if not file.absolute().parent.is_dir():
        message = f'"{file}" cannot be written: its folder does not exist'
        raise FsqlError([Diagnostic("E535", message)])


def write_text(file: Path, text: str) -> None:
    """Write the text in UTF-8.

    Raises:
        FsqlError: E535, if it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f'"{file}" cannot be written: {error.strerror}'
        raise FsqlError([Diagnostic("E535", message)]) from None
