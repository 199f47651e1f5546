"""Columns that scripts do not declare: inferred when a job is first compiled, and kept with it.

A job that continues, a compiled plan and the processes of a run use the columns that were inferred first:
files that have grown since do not change the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.inferred_columns import parse_declaration
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import infer_columns

if TYPE_CHECKING:
    from fsql.compiler.connectors import Options
    from fsql.compiler.schema import InferenceNote, Schema
    from fsql.compiler.surroundings import Infer, Inferred
    from fsql.compiler.text.source import Span
    from fsql.job.script import Script


def column_inference(script: Script, found: dict[str, str]) -> Infer:
    """Return a function that infers the columns of tables of a script, and adds them to `found`.

    What is in `found`, by table, stands after its name in CREATE TABLE.
    """

    def infer(name: str, options: Options, span: Span) -> Inferred:
        declaration = script.columns.get(name)
        notes: tuple[InferenceNote, ...] = ()
        if declaration is None:
            columns, shown, notes = infer_columns(options, ConnectorContext(script.base_directory))
            declaration = _declaration(columns, shown)
        found[name] = declaration
        try:
            return parse_declaration(declaration, span)._replace(notes=notes)
        except FsqlError as error:  # names or a number of columns that no table can have
            message = f'the columns of "{name}" cannot be inferred: {error.diagnostics[0].message}'
            helps = ("declare the columns that are read in CREATE TABLE",)
            raise FsqlError([Diagnostic("E225", message, helps=helps)]) from None

    return infer


def _declaration(schema: Schema, options: Options) -> str:
    """Return what stands after the name in CREATE TABLE."""
    columns = ", ".join(f"{_quote(column.name)} {column.type}" for column in schema)
    with_ = ", ".join(f"'{key}' = '{value}'" for key, value in options)
    return f"({columns}) WITH ({with_})" if options else f"({columns})"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
