"""Functions against DuckDB's, over columns of NULL, empty, extreme and Unicode values.

Catches a function that means something else than the one of that name elsewhere.  What DuckDB does not have
is held to the oracle in `test_scalars`.  A row that fails on either side is NULL here.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

from fsql.compiler.expression import ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import make_call
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, outside_type, to_arrow
from fsql.runtime.kernels.expressions import compile_expression
from fsql.tests.property.judged_functions import JUDGED, ComparedFunction
from fsql.tests.property.judged_json import JSON
from fsql.tests.property.judged_others import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

CASES = {**JUDGED, **OTHERS, **JSON}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def theirs(
    connection: duckdb.DuckDBPyConnection,
    judged: ComparedFunction,
    rows: list[tuple[Value, ...]],
    result: SqlType,
) -> list[Value]:
    """Return what DuckDB computes."""
    arrays = {"n": pa.array(range(len(rows)))}
    for place, column in enumerate(judged.columns):
        array = to_arrow([row[place] for row in rows], column.type).cast(outside_type(column.type))
        if column.type.kind is Kind.TIMESTAMP:
            array = array.cast(pa.timestamp("us"))
        arrays[f"c{place}"] = array
    table = pa.table(arrays)
    sql = judged.sql.format(*(f"c{place}" for place in range(len(judged.columns))))
    connection.register("given", table)
    found = connection.sql(f"SELECT {sql} AS x FROM given ORDER BY n").to_arrow_table()
    wanted = pa.timestamp("us") if result.kind is Kind.TIMESTAMP else outside_type(result)
    array = found["x"].combine_chunks().cast(wanted).cast(arrow_type(result))
    return from_arrow(array, result)


def ours(
    name: str, judged: ComparedFunction, rows: list[tuple[Value, ...]]
) -> tuple[SqlType, list[Value]]:
    """Return the type of the call, and what fsql computes over columns; None where a row fails."""
    arguments: list[Expression] = [
        Literal(column.type, nullable=False, value=column.values[0])
        if column.literal
        else ColumnRef(column.type, nullable=True, index=place)
        for place, column in enumerate(judged.columns)
    ]
    call = make_call(name, *arguments)
    assert call is not None, "no signature fits"
    columns = [
        to_arrow([row[place] for row in rows], column.type)
        for place, column in enumerate(judged.columns)
    ]
    computed = compile_expression(call)(columns, len(rows))
    values = from_arrow(
        computed.values.dictionary_decode()
        if isinstance(computed.values, pa.DictionaryArray)
        else computed.values,
        call.type,
    )
    failed = [0] * len(rows) if computed.failed is None else computed.failed.tolist()
    return call.type, [None if code else value for value, code in zip(values, failed, strict=True)]


def same(left: Value, right: Value, within: float) -> bool:
    """Say whether two results are one; NaN is."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right or math.isclose(left, right, rel_tol=within, abs_tol=within)
    return left == right


@pytest.mark.parametrize("name", CASES)
def test_a_function_means_what_duckdb_means(
    name: str, connection: duckdb.DuckDBPyConnection
) -> None:
    values: list[Value] = []
    for judged in CASES[name]:
        rows = list(product(*(column.values for column in judged.columns)))
        result, mine = ours(name, judged, rows)
        other = theirs(connection, judged, rows, result)
        wrong = [
            (row, one, two)
            for row, one, two in zip(rows, mine, other, strict=True)
            if not same(one, two, judged.within)
        ]
        assert wrong == [], judged.sql
        values += mine
    assert any(value is not None for value in values)
