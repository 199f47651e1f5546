"""Scripts as DuckDB runs them: the same text, but for windows, literals of DOUBLE, and EMIT.

Where the input has no late rows and every function means the same, the views of a script are views in
DuckDB, and the rows of the last one are what the job leaves.  So this compares the meaning of the text,
parser and binder included, where `duckdb_sql` compares the meaning of plans.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType

SETTINGS: Final = """
SET integer_division = true;
SET error_on_division_by_zero = false;
CREATE MACRO char_length(s) AS length(s);
CREATE MACRO cardinality(a) AS len(a);
CREATE MACRO element_at(a, i) AS CASE WHEN i >= 1 THEN a[i] END;
CREATE MACRO epoch_millis(t) AS epoch_ms(t);
CREATE MACRO greatest(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN a >= b THEN a ELSE b END;
CREATE MACRO least(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN a <= b THEN a ELSE b END;
"""
"""What makes DuckDB mean our functions; a division by zero is only met behind a condition."""

DOUBLE_LITERAL: Final = re.compile(r"(?<![\w.'])(\d+\.\d+)(?![\w.'])")
WINDOW: Final = re.compile(
    r"TABLE\((TUMBLE|HOP)\(TABLE (\w+), DESCRIPTOR\((\w+)\), "
    r"(?:INTERVAL '([\d.]+)' SECOND, )?INTERVAL '([\d.]+)' SECOND\)\)"
)


def duckdb_text(statement: str) -> str:
    """Return a CREATE VIEW for DuckDB."""
    statement = DOUBLE_LITERAL.sub(r"CAST('\1' AS DOUBLE)", statement)
    statement = re.sub(r" EMIT (CHANGES|FINAL)\b", "", statement)
    statement = re.sub(r"\bLEFT (SEMI|ANTI) JOIN\b", r"\1 JOIN", statement)
    return WINDOW.sub(_windows, statement)


def _windows(found: re.Match[str]) -> str:
    """Return the rows of a relation with their windows, as a subquery."""
    _, relation, time, slide, size = found.groups()
    size_us = round(float(size) * 1_000_000)
    slide_us = size_us if slide is None else round(float(slide) * 1_000_000)
    last = f"epoch_us({time}) // {slide_us}"
    # Times are behind 1970, so rounding down and truncating are the same.
    first = f"(epoch_us({time}) - {size_us}) // {slide_us} + 1"
    start = f"number_ * {slide_us}"
    return (
        "(SELECT COLUMNS(lambda c: NOT starts_with(c, 'window_') AND c <> 'number_'), "
        f"make_timestamp({start}) AS window_start, make_timestamp({start} + {size_us}) AS window_end, "
        f"make_timestamp({start} + {size_us} - 1) AS window_time "
        f"FROM (SELECT *, unnest(range({first}, {last} + 1)) AS number_ FROM {relation}))"
    )


def duckdb_type(type_: SqlType) -> str:
    """Return the type of a table's column."""
    if type_.element is not None:
        return f"{duckdb_type(type_.element)}[]"
    return {Kind.STRING: "VARCHAR", Kind.INT: "INTEGER"}.get(type_.kind, type_.kind.value)


def plain_column(name: str, type_: SqlType) -> str:
    """Return a column of the result in the form in which results are compared."""
    if type_.kind is Kind.TIMESTAMP:
        return f"epoch_us({name})"
    if type_.kind is Kind.DATE:
        return f"CAST({name} - DATE '1970-01-01' AS INTEGER)"
    return f"CAST({name} AS {duckdb_type(type_)})"
