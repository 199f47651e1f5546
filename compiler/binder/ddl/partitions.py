"""PARTITIONED BY: columns whose values are in the names of folders, `sales/day=2026-01-01/part.parquet`.

They are columns that the connector knows of each row apart from its record, like metadata columns.  Only
files have them; in the rows of other connectors they are columns like any other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import MetadataColumnEntry
from fsql.compiler.binder.report import no_column, not_implemented, refusal
from fsql.compiler.binder.scope import matches, names_text
from fsql.compiler.connectors import FOLLOW, partition_key
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.casts import castable
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.ddl.options import TableOptions
    from fsql.compiler.schema import Column, Schema
    from fsql.compiler.text.source import Span

_FILE: Final = "file"


def with_path_partitions(table: syntax.CreateTable, options: TableOptions) -> syntax.CreateTable:
    """Return a table without declared columns with the partition columns that its path names: `dir/day=*`."""
    path = options.value("path")
    if table.partitioned_by or path is None or FOLLOW in options.spans or not _is_file(options):
        return table
    span = options.spans["path"]
    identifiers = (syntax.Identifier(span, name, quoted=True) for name in _folder_names(path))
    return replace(table, partitioned_by=tuple(identifiers))


def _folder_names(path: str) -> list[str]:
    """Return the names before `=` of the folders in a path, each once."""
    folders = (part.partition("=") for part in PurePath(path).parts[:-1])
    return list(dict.fromkeys(name for name, equal, _ in folders if equal and name.isidentifier()))


def warn_of_folders(entry: TableEntry, context: Context) -> None:
    """Warn of columns that are read from the records, and may be meant to be those of folders."""
    path = entry.option("path")
    if entry.partitioned_by or path is None or entry.connector.name != _FILE:
        return
    columns = {column.name.lower(): column.name for column in entry.columns}
    found = [columns[name.lower()] for name in _folder_names(path) if name.lower() in columns]
    if found and "path" in entry.option_spans:
        names = ", ".join(found)
        context.report.warn(
            Diagnostic(
                "W204",
                f'column "{found[0]}" is read from the records, not from the folder `{found[0]}=…`',
                Label(entry.option_spans["path"]),
                helps=(
                    f"write PARTITIONED BY ({names}) before WITH if the folders have its values",
                ),
            )
        )


def partition_columns(
    table: syntax.CreateTable, options: TableOptions, columns: Schema, context: Context
) -> tuple[tuple[str, ...], tuple[MetadataColumnEntry, ...]]:
    """Return the names of the partition columns, and those of them that are not in the records.

    Raises:
        Refusal: E203, E205, E301, E318.
    """
    if not table.partitioned_by:
        return (), ()
    found = _find(table, columns)
    names = tuple(column.name for column in found)
    span = table.partitioned_by[-1].span
    if not _is_file(options):
        message = (
            f"PARTITIONED BY has no effect: connector '{options.connector.name}' has no folders"
        )
        helps = ("remove it; the columns are in the rows",)
        context.report.warn(Diagnostic("W203", message, Label(span), helps=helps))
        return names, ()
    if not options.connector.has_metadata:
        raise not_implemented(
            "PARTITIONED BY of files that are followed",
            span,
            help=f"remove '{FOLLOW}', or the partition columns",
        )
    _check_roles(table, names)
    for column, written in zip(found, table.partitioned_by, strict=True):
        if column.type.parts or column.type.zone or not castable(STRING, column.type):
            raise refusal(
                "E318",
                f'partition column "{column.name}" is {column.type}, which no name of a folder has',
                written.span,
                help="declare it as STRING, and cast it in a computed column",
            )
    if len(found) == len(columns):
        raise refusal(
            "E322",
            f'table "{table.name.parts[-1].name}" has no columns beside those of PARTITIONED BY',
            span,
            help="declare the columns of the files, too; or none, to infer them from the files",
        )
    places = [column.name.name for column in table.columns]
    return names, tuple(
        MetadataColumnEntry(column, places.index(column.name), partition_key(column.name))
        for column in found
    )


def without(columns: Schema, partitions: Iterable[MetadataColumnEntry]) -> Schema:
    """Return the columns of the records: those that are not in the names of folders."""
    names = {each.column.name for each in partitions}
    return tuple(column for column in columns if column.name not in names)


def check_written(entry: TableEntry, span: Span) -> None:
    """Check that rows of a table are not written to folders by their values.

    Raises:
        Refusal: E301.
    """
    if entry.partitioned_by and entry.connector.name == _FILE:
        name = entry.partitioned_by[0]
        raise not_implemented(
            "writing the folders of a table with PARTITIONED BY",
            span,
            help="remove PARTITIONED BY, and all rows are in one file with all columns; or declare a table"
            f" for each folder, 'path' = '{name}=x/rows.jsonl', and write it with WHERE {name} = 'x'",
        )


def _is_file(options: TableOptions) -> bool:
    return options.connector.name == _FILE


def _find(table: syntax.CreateTable, columns: Schema) -> list[Column]:
    """Return the columns that PARTITIONED BY names.

    Raises:
        Refusal: E203, E205.
    """
    found: list[Column] = []
    for written in table.partitioned_by:
        column = next((each for each in columns if matches(written, each.name)), None)
        if column is None:
            names = [each.name for each in columns]
            note = f"columns with a type are {names_text(names)}"
            raise no_column(written, names, note=note)
        if column in found:
            raise refusal(
                "E205",
                f'column "{column.name}" is twice in PARTITIONED BY',
                written.span,
                secondary=(Label(table.partitioned_by[found.index(column)].span, "first here"),),
            )
        found.append(column)
    return found


def _check_roles(table: syntax.CreateTable, names: tuple[str, ...]) -> None:
    """Check that event time and the PRIMARY KEY are in the records.

    Raises:
        Refusal: E301.
    """
    for watermark in table.watermarks:
        name = next((each for each in names if matches(watermark.column, each)), None)
        if name is not None:
            raise not_implemented(
                "a WATERMARK of a partition column",
                watermark.column.span,
                help=f"add a computed column, at AS CAST({name} AS TIMESTAMP), and WATERMARK FOR at",
            )
    for key in table.primary_keys:
        for column in key.columns:
            if any(matches(column, each) for each in names):
                raise not_implemented(
                    "a PRIMARY KEY with a partition column",
                    column.span,
                    help="make the key of columns of the records, or remove PARTITIONED BY",
                )
