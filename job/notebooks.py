"""The cell magic `%%fsql` of IPython and Jupyter: SQL over the variables of a notebook.

%load_ext fsql

%%fsql totals
SELECT word, COUNT(*) AS n FROM words GROUP BY word
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fsql.job.errors import LibraryError, QueryError
from fsql.job.memory import Table
from fsql.job.session import Session
from fsql.job.udf import declaration_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.text.source import SourceText
    from fsql.job.changes import Changes

_WORD = re.compile(r"\w+")


class Shell(Protocol):
    """The part of IPython's `InteractiveShell` that is used."""

    user_ns: dict[str, object]

    def register_magic_function(
        self, func: Callable[[str, str], object], magic_kind: str, magic_name: str
    ) -> None:
        """Add a magic."""


class Written(NamedTuple):
    """The result of a cell that writes tables."""

    rows_in: int
    rows_out: int


def register(shell: Shell) -> None:
    """Add the cell magic `fsql` to a shell."""

    def fsql(line: str, cell: str) -> Changes | Written:
        """Run SQL; keep the result in the variable that the first line names, if it names one.

        Tables of the query are variables: data frames, Arrow tables, lists of dictionaries, earlier results.
        So are its functions, if `fsql.udf` and the like declare their types.
        """
        name = line.strip()
        if name and not name.isidentifier():
            message = f"%%fsql takes the name of one variable, not {name!r}"
            raise _shown_alone(ValueError(message))
        try:
            result = run_cell(cell, shell.user_ns)
        except LibraryError as error:
            raise _shown_alone(error) from None
        if name:
            shell.user_ns[name] = result
        return result

    shell.register_magic_function(fsql, "cell", "fsql")


def _shown_alone(error: Exception) -> Exception:
    """Return an error that IPython shows without a stack trace."""
    vars(error)["_render_traceback_"] = str(error).splitlines
    return error


def run_cell(text: str, variables: Mapping[str, object]) -> Changes | Written:
    """Return the result of the SELECT at the end of a script, or a summary if the script writes tables.

    Raises:
        LibraryError: for errors of the script, a source, a sink or a row.
    """
    session = Session()
    words = {word.lower() for word in _WORD.findall(text)}
    for name, value in variables.items():
        if name.lower() in words and declaration_of(value) is not None and callable(value):
            session.udf(value, name=name)
    tables: dict[str, Any] = {
        name: value
        for name, value in variables.items()
        if name.lower() in words and _is_table(value)
    }
    try:
        return session.sql(text, tables=tables)
    except QueryError as error:
        if [each.code for each in error.diagnostics] != ["E314"]:
            notes = [_with_variable(each, error.source, variables) for each in error.diagnostics]
            raise QueryError(notes, error.source) from None
    metrics = session.run(text, tables=tables)
    return Written(metrics.rows_in, metrics.rows_out)


def _with_variable(
    found: Diagnostic, source: SourceText | None, variables: Mapping[str, object]
) -> Diagnostic:
    """Return an error that a table is missing, with a note if a variable of that name is no table."""
    if found.code != "E201" or found.primary is None or source is None:
        return found
    span = found.primary.span
    name = source.text[span.start : span.end]
    if name not in variables:
        return found
    note = (
        f'the variable "{name}" is of type {type(variables[name]).__name__}; tables are data frames,'
        " Arrow tables, and lists of dictionaries that are not empty"
    )
    return replace(found, notes=(*found.notes, note))


def _is_table(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, dict) for row in value)
    return isinstance(value, Table) or (
        hasattr(value, "__arrow_c_stream__") and not isinstance(value, type)
    )
