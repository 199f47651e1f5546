"""The spans of options in a script, for errors about files that cannot be opened."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError, Label
from fsql.compiler.syntax import CreateTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.syntax import Script
    from fsql.compiler.text.source import Span


@contextmanager
def locate_errors(script: Script, table: str, option: str) -> Iterator[None]:
    """Add the span of a table's option to errors without one."""
    try:
        yield
    except FsqlError as error:
        span = option_span(script, table, option)
        if span is None or error.source is not None:
            raise
        placed = [replace(each, primary=Label(span)) for each in error.diagnostics]
        raise FsqlError(placed, script.source) from error


def option_span(script: Script, table: str, option: str) -> Span | None:
    """Return the span of the option's value, otherwise of the table's name; None if there is neither."""
    for statement in script.statements:
        if isinstance(statement, CreateTable) and statement.name.parts[-1].name == table:
            for given in statement.options:
                if given.key.value.lower() == option:
                    return given.value.span
            return statement.name.span
    return None
