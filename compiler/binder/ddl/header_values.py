"""The warning about a CSV file whose first line, which names inferred columns, probably is a row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.type_names import bind_type
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.ddl.options import TableOptions
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.syntax import PhysicalColumn
    from fsql.compiler.text.source import Span

_NUMBER: Final = re.compile(r"[-+]?\.?[0-9].*")
_YEAR: Final = re.compile(r"(1[89]|20|21)[0-9][0-9]")
"""Tables with a column for each year are common."""


def warn_of_values_in_header(
    columns: Sequence[PhysicalColumn], options: TableOptions, span: Span, context: Context
) -> None:
    """Warn if the name of a column is a number or a time, as the values of the column are."""
    if options.value("header") != "true" or "header" in options.spans:
        return
    found = next(
        (
            each.name.name
            for each in columns
            if _is_value(each.name.name, bind_type(each.type, context.zone))
        ),
        None,
    )
    if found is None:
        return
    path = options.value("path")
    label = Label(span, f'its first line has "{found}", a value like those of the column')
    table = f"('connector' = 'file', 'path' = '{path}', 'format' = 'csv', 'header' = 'false')"
    helps = (f"if the first line is a row, declare it: CREATE TABLE t WITH {table}",)
    context.report.warn(Diagnostic("W207", "header has values", label, helps=helps))


def _is_value(name: str, of: SqlType) -> bool:
    if not (of.numeric or of.kind in {Kind.DATE, Kind.TIMESTAMP}):
        return False
    if _NUMBER.fullmatch(name) is None or _YEAR.fullmatch(name) is not None:
        return False
    try:
        cast_value(name, STRING, of)
    except RowFailure:
        return False
    return True
