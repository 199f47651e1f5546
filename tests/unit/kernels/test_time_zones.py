"""Kernels of time zones against the row-wise evaluation, over columns long enough to be computed at once.

Catches a column that is moved by the offset of another row, and failures of the wrong rows.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.expression import Cast, ColumnRef
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.time_zones import offset_of, window_bounds, zone_of
from fsql.compiler.graph import ToWindows
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    instants,
)
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Root
from fsql.runtime.kernels.maps import compile_map
from fsql.tests.unit.kernels.rows import Row, batch_of, failures_of, rows_of
from fsql.tests.unit.kernels.tables import fails, outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

HOUR = 3_600_000_000
ROWS = 200
ZONES = ("Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "-03:30", "UTC")


def times(zone: str, random: Random) -> list[int]:
    """Return times around the transitions of a zone, and at the ends of the range."""
    found = zone_of(zone).transitions or (0,)
    near = [
        random.choice(found) + random.randrange(-24, 24) * HOUR // 2 + random.choice((0, 1, -1))
        for _ in range(ROWS)
    ]
    return [*near, TIMESTAMP_MIN, TIMESTAMP_MIN + 9 * HOUR, TIMESTAMP_MAX, TIMESTAMP_MAX - 9 * HOUR]


def expected(value: Value, source: SqlType, target: SqlType) -> str:
    try:
        return repr(cast_value(value, source, target))
    except RowFailure as failure:
        return repr(fails(failure.code))


@pytest.mark.parametrize("zone", ZONES)
def test_casts_of_columns_are_those_of_their_values(zone: str) -> None:
    random = Random(zone)
    zoned = instants(zone)
    values: list[Value] = [*times(zone, random), None]
    local = [expected(value, zoned, TIMESTAMP) for value in values]
    texts = [
        random.choice((text, text.removesuffix("Z"), f" {text[:16]}", "x"))
        for text in (str(cast_value(value, TIMESTAMP, STRING)) for value in values[:-1])
    ]
    days = [None if not isinstance(at, int) else at // (24 * HOUR) for at in values]
    targets = (TIMESTAMP, STRING, DATE, TIME, instants("UTC"))
    casts: list[tuple[SqlType, SqlType, Sequence[Value]]] = [
        *((zoned, target, values) for target in targets),
        (TIMESTAMP, zoned, values),
        (STRING, zoned, [*texts, None]),
        (DATE, zoned, days),
    ]
    for source, target, given in casts:
        cast = Cast(target, nullable=True, argument=ColumnRef(source, nullable=True, index=0))
        made = outcomes(cast, [to_arrow(given, source)], len(given))
        assert made == [expected(value, source, target) for value in given], (source, target)
    assert zone == "UTC" or repr(fails(504)) in local


@pytest.mark.parametrize("zone", ZONES[:-1])
@pytest.mark.parametrize(("size", "slide", "offset"), [(24, 24, 0), (2, 1, 1), (1, 3, 0)])
def test_windows_of_columns_are_those_of_their_values(
    zone: str, size: int, slide: int, offset: int
) -> None:
    random = Random(f"{zone} {size}")
    rows = [Row((at,), Root(place, 0), (), 1) for place, at in enumerate(times(zone, random))]
    function = ToWindows(0, size * HOUR // 2, slide * HOUR // 2, offset * HOUR // 2, zone)
    made: list[tuple[int, ...]] = []
    failing: list[Root] = []
    for row in rows:
        (at,) = row.values
        assert isinstance(at, int)
        since = at + offset_of(at, zone) - function.offset_us
        first = (since - function.size_us) // function.slide_us + 1
        starts = range(first, since // function.slide_us + 1)
        try:
            made += [
                (
                    at,
                    *window_bounds(
                        k * function.slide_us + function.offset_us, function.size_us, zone
                    ),
                )
                for k in starts
            ]
        except RowFailure:
            failing.append(row.root)
    schema = (Column("at", instants(zone), nullable=False),)
    result = compile_map(function, schema)(batch_of(rows, [instants(zone)]))
    assert [row.values for row in rows_of(result.rows, [TIMESTAMP] * 4)] == made
    assert [each.root for each in failures_of(result)] == failing
