"""Columns that scripts do not declare: inferred when a job is first compiled, and kept with it.

A job that continues, a compiled plan and the processes of a run use the columns that were inferred first:
files that have grown since do not change the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.inferred_columns import parse_columns
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import infer_columns

if TYPE_CHECKING:
    from fsql.compiler.surroundings import Infer, Options
    from fsql.compiler.syntax import PhysicalColumn
    from fsql.compiler.text.source import Span
    from fsql.job.script import Script


def column_inference(script: Script, found: dict[str, str]) -> Infer:
    """Return a function that infers the columns of tables of a script, and adds them to `found`, by table."""

    def infer(name: str, options: Options, span: Span) -> tuple[PhysicalColumn, ...]:
        columns = script.columns.get(name)
        if columns is None:
            schema = infer_columns(options, ConnectorContext(script.base_directory))
            columns = ", ".join(f"{_quote(column.name)} {column.type}" for column in schema)
        found[name] = columns
        try:
            return parse_columns(columns, span)
        except FsqlError as error:  # names or a number of columns that no table can have
            message = f'the columns of "{name}" cannot be inferred: {error.diagnostics[0].message}'
            helps = ("declare the columns that are read in CREATE TABLE",)
            raise FsqlError([Diagnostic("E225", message, helps=helps)]) from None

    return infer


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
