"""The hash of a row alone against its hash among others: they are computed in different ways.

Cannot catch what both get wrong; that equal keys have equal hashes is judged by `tests/property`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from fsql.compiler.sqltypes import STRING, Kind
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.hashing import hash_rows
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.naive_json import TYPES, values

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from fsql.compiler.sqltypes import SqlType


def each_alone(columns: list[pa.Array]) -> list[int]:
    alone = [[column.slice(row, 1) for column in columns] for row in range(len(columns[0]))]
    return [int(hash_rows(keys, 1)[0]) for keys in alone]


@pytest.mark.slow
@drawn(70, st.data(), st.lists(TYPES, min_size=1, max_size=3))
def test_a_row_alone_has_the_hash_it_has_among_others(
    data: DataObject, types: list[SqlType]
) -> None:
    rows = data.draw(st.lists(st.tuples(*map(values, types)), min_size=2, max_size=6))
    columns = []
    for column, sql_type in zip(zip(*rows, strict=True), types, strict=True):
        array = to_arrow(column, sql_type)
        encodes = sql_type.kind is Kind.STRING and data.draw(st.booleans())
        columns.append(array.dictionary_encode() if encodes else array)
    assert each_alone(columns) == hash_rows(columns, len(rows)).tolist()


def test_long_texts_too() -> None:
    texts = ["", "x", "ü" * 32, "x" * 64, "x" * 65, "ü" * 2000, None]
    columns = [to_arrow(texts, STRING)]
    assert each_alone(columns) == hash_rows(columns, len(texts)).tolist()


@pytest.mark.parametrize("distinct", [3, 500, 3000])
def test_texts_of_long_columns_that_repeat_or_not(distinct: int) -> None:
    """Texts that repeat are hashed once each, in the column and in a part of it that begins in the middle."""
    texts = [None if row % 7 == 3 else f"key {row % distinct}" for row in range(3000)]
    column = pa.array(texts, pa.string())
    expected = each_alone([column])
    assert hash_rows([column], 3000).tolist() == expected
    assert hash_rows([column.slice(500)], 2500).tolist() == expected[500:]
