"""Queries in the manner of published ones, over whole tables, against DuckDB: end to end, from the same text.

Judges what stands between a text and its plan: names, scopes, coercions, NULLs, subqueries, set operations,
groups and windows; and ORDER BY.  Cannot judge changes or event time, nor the text of errors.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import fsql
from fsql.compiler.diagnostics import FsqlError
from fsql.tests.property.by_duckdb import NULLS_LIKE_POSTGRESQL, empty_database
from fsql.tests.published.data import TABLES
from fsql.tests.published.files import published_cases
from fsql.tests.published.generated import generated_cases
from fsql.tests.published.tpch import TPCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from fsql.tests.published.files import PublishedCase

SETTINGS = f"SET integer_division = true; {NULLS_LIKE_POSTGRESQL}"
EXACT_FROM = 2**53
"""The least integer that is compared in all its digits."""
ORDERED = {"order", "tpch"}
"""The files whose queries determine the order of their rows, which is compared, too."""
CASES = [*published_cases(), *generated_cases()]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_it_has_the_rows_that_duckdb_has(case: PublishedCase) -> None:
    if case.refused is not None:
        with pytest.raises(FsqlError) as error:
            fsql.sql(case.query, tables=TABLES)
        assert [each.code for each in error.value.diagnostics] == [case.refused]
        return
    tables = TPCH if case.file == "tpch" else TABLES
    table = fsql.sql(case.query, tables=tables).table()
    ours = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    theirs = by_duckdb(case.duckdb, tables)
    if case.file == "tpch":
        # Quotients of DECIMALs have 6 digits of fraction here, and are DOUBLE there.
        assert numbers(ours) == [tuple(map(nearly, row)) for row in numbers(theirs)]
    elif case.file in ORDERED:
        assert comparable_rows(ours) == comparable_rows(theirs)
    else:
        assert Counter(comparable_rows(ours)) == Counter(comparable_rows(theirs))


def by_duckdb(query: str, tables: Mapping[str, pa.Table]) -> list[tuple[object, ...]]:
    with empty_database(SETTINGS) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.execute(query).fetchall()


def numbers(rows: Iterable[Iterable[object]]) -> list[tuple[object, ...]]:
    """Return rows with DOUBLEs for DECIMALs."""
    return [
        tuple(float(each) if isinstance(each, Decimal) else each for each in row) for row in rows
    ]


def nearly(value: object) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-6) if isinstance(value, float) else value


def comparable_rows(rows: Iterable[Iterable[object]]) -> list[tuple[object, ...]]:
    """Return rows whose values compare: numbers by 9 digits, times without zone."""
    return [tuple(map(comparable, row)) for row in rows]


def comparable(value: object) -> object:
    match value:
        case bool() | None:
            return value
        case int() if abs(value) >= EXACT_FROM:
            return str(value)
        case int() | float() | Decimal():
            return f"{float(value) + 0:.9g}"
        case dt.datetime():
            return value.replace(tzinfo=None)
        case list():
            return tuple(map(comparable, value))
        case _:
            return value
