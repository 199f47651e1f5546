"""Checks of the columns of tables against what their formats support."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import refusal
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler import syntax
    from fsql.compiler.connectors import Format
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

_ASCII_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_format_columns(table: syntax.CreateTable, form: Format, columns: Schema) -> None:
    """Check that the format of a table supports its columns.

    Raises:
        Refusal: E318.
    """
    for column in columns:
        if column.type.parts and not form.takes_lists:
            raise refusal(
                "E318",
                f'column "{column.name}" is {column.type}, and format'
                f" '{form.name}' has no lists, rows or maps",
                table.name.span,
                help="choose another format, or write the value as a STRING",
            )
        names = (column.name, *_field_names(column.type)) if form.ascii_names else ()
        for name in names:
            if _ASCII_NAME.fullmatch(name) is None:
                raise refusal(
                    "E318",
                    f"format '{form.name}' has no name \"{name}\"",
                    table.name.span,
                    help="use ASCII letters, digits and _, with no digit at the beginning",
                )
        if form.text_keys and _has_other_keys(column.type):
            raise refusal(
                "E318",
                f'column "{column.name}" is {column.type}, and maps of format'
                f" '{form.name}' have keys of type STRING",
                table.name.span,
                help="declare the keys as STRING, and cast them in the query",
            )


def _field_names(sql_type: SqlType) -> Iterator[str]:
    """Yield the names of all fields of rows inside a type."""
    yield from (name for name, _ in sql_type.fields)
    for part in sql_type.parts:
        yield from _field_names(part)


def _has_other_keys(sql_type: SqlType) -> bool:
    """Return whether a type contains a map whose keys are not STRING."""
    own = sql_type.kind is Kind.MAP and sql_type.key != STRING
    return own or any(map(_has_other_keys, sql_type.parts))
