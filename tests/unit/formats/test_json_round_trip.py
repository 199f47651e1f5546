"""What is written as JSON is read back as it was, but for doubles that JSON has no number for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    array_of,
    map_of,
    row_of,
)
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.encoder import encode
from fsql.runtime.arrow_types import to_arrow
from fsql.tests.unit.connectors.reading import Read, read_bytes
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.naive_json import values

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

    from fsql.compiler.expression import Value

TYPES = (
    BOOLEAN,
    TINYINT,
    SMALLINT,
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    STRING,
    BYTES,
    TIME,
    TIMESTAMP,
    INTERVAL,
    UTINYINT,
    USMALLINT,
    UINT,
    UBIGINT,
)
NESTED = row_of(
    (("c0", BIGINT), ("in", row_of((("at", TIMESTAMP), ("s", STRING)))), ("l", array_of(TIMESTAMP)))
)
MAPS = (
    map_of(STRING, TIMESTAMP),
    map_of(BIGINT, BYTES),
    array_of(map_of(INT, STRING)),
    map_of(UBIGINT, UINT),
)
COLUMNS: Schema = tuple(
    Column(f"c{i}", sql_type)
    for i, sql_type in enumerate(
        (
            *(*TYPES, array_of(array_of(BIGINT)), array_of(UBIGINT), array_of(TIMESTAMP)),
            *(NESTED, array_of(NESTED), *MAPS),
        )
    )
)


def in_json(value: Value) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


@drawn(20, st.data())
def test_round_trip(data: DataObject) -> None:
    row = st.tuples(*(values(column.type).filter(in_json) for column in COLUMNS))
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    types = [column.type for column in COLUMNS]
    arrays = [to_arrow([row[i] for row in rows], sql_type) for i, sql_type in enumerate(types)]
    written = encode(arrays, [column.name for column in COLUMNS], types)
    read = read_bytes(written, COLUMNS, JsonDecoder(COLUMNS, 1 << 20))
    assert read == Read(dict(enumerate(rows)), [], len(written))
    assert repr(read.rows) == repr(dict(enumerate(rows))), "a zero changed its sign"
