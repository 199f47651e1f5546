"""Connector `datagen`: each value by the number of its row, within the bounds of its column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
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
    decimal_type,
    map_of,
    row_of,
)
from fsql.connectors.context import ConnectorContext
from fsql.connectors.opening import open_source
from fsql.runtime.ports import SourceOffset, SplitReader
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from collections.abc import Mapping

MIXED: Schema = (
    Column("id", BIGINT, nullable=False),
    Column("item", STRING),
    Column("price", decimal_type(6, 2)),
    Column("n", INT),
    Column("share", DOUBLE),
    Column("paid", BOOLEAN),
    Column("day", DATE),
    Column("at", TIMESTAMP),
    Column("tags", array_of(STRING)),
    Column("place", row_of((("city", STRING), ("zip", INT)))),
)
OPTIONS = {
    "fields.id.kind": "sequence",
    "fields.item.values": "tea, rum",
    "fields.price.min": "1.50",
    "fields.price.max": "2.49",
    "fields.n.null_rate": "0.25",
    "fields.at.jitter": "3 s",
}


def reader(
    options: Mapping[str, str], columns: Schema = MIXED, place: SourceOffset | None = None
) -> SplitReader:
    (split,) = open_source(table(columns, connector="datagen", **options), ConnectorContext(Path()))
    return split.open(place)


def rows(
    options: Mapping[str, str], columns: Schema = MIXED, rows_max: int = 10**6
) -> list[tuple[object, ...]]:
    return [*read_all(reader(options, columns), columns, rows_max).rows.values()]


def test_the_first_rows_are_these_for_ever() -> None:
    assert rows({"count": "3", **OPTIONS}) == [
        (
            0,
            "rum",
            248,
            499,
            0.41641108306903496,
            True,
            20454,
            1767225599907198,
            ("baki",),
            ("fi", 633),
        ),
        (1, "tea", 236, None, 0.4539340748233738, False, 20455, 1767225599250173, (), ("ca", 782)),
        (2, "rum", 175, None, 0.6963259282178961, False, 20456, 1767225600268036, (), ("ro", 91)),
    ]


def test_a_row_depends_on_its_number_alone() -> None:
    whole = rows({"count": "50", **OPTIONS})
    for rows_max in (1, 7, 49):
        assert rows({"count": "50", **OPTIONS}, rows_max=rows_max) == whole
    for first in (0, 1, 20, 49):
        going_on = reader({"count": "50", **OPTIONS}, place=SourceOffset(first, 0, 0))
        assert [*read_all(going_on, MIXED, 8).rows.values()] == whole[first:]
    other = rows({"count": "50", "seed": "1", **OPTIONS})
    assert [row[0] for row in other] == [row[0] for row in whole]
    assert [row[1:] for row in other] != [row[1:] for row in whole]
    assert reader({"count": "50"}, place=SourceOffset(50, 0, 0)).read(10) is None


def test_values_are_within_their_bounds() -> None:
    columns = [*zip(*rows({"count": "4000", **OPTIONS}), strict=True)]
    ids, items, prices, numbers, shares, paid, days, times, tags, places = columns
    assert ids == tuple(range(4000))
    assert set(items) == {"tea", "rum"}
    assert (min(prices), max(prices), len(set(prices))) == (150, 249, 100)
    assert 900 <= numbers.count(None) <= 1100
    assert all(each is None or 0 <= each <= 1000 for each in numbers)
    assert all(0 <= each < 1 for each in shares)
    assert 1900 <= sum(paid) <= 2100
    assert [day - days[0] for day in days[:3]] == [0, 1, 2]
    first = parse_timestamp("2026-01-01")
    late = [first + second * 10**6 - at for second, at in enumerate(times)]
    assert 0 <= min(late) < 10**4
    assert 3 * 10**6 - 10**4 < max(late) <= 3 * 10**6
    assert {len(each) for each in tags} == {0, 1, 2, 3}
    assert all(isinstance(city, str) and 0 <= code <= 1000 for city, code in places)


def test_steps_and_bounds_of_every_kind() -> None:
    schema: Schema = (
        Column("at", TIMESTAMP),
        Column("day", DATE),
        Column("name", STRING),
        Column("price", decimal_type(4, 1)),
        Column("x", DOUBLE),
    )
    made = rows(
        {
            "count": "3",
            "fields.at.start": "2026-05-01 12:00:00",
            "fields.at.step": "1 min",
            "fields.day.start": "2026-05-01",
            "fields.day.step": "-7",
            "fields.name.kind": "sequence",
            "fields.name.start": "7",
            "fields.price.step": "0.5",
            "fields.x.min": "-1",
            "fields.x.max": "-1",
        },
        schema,
    )
    start = parse_timestamp("2026-05-01 12:00:00")
    day = start // (86_400 * 10**6)
    assert made == [
        (start, day, "7", 0, -1.0),
        (start + 60 * 10**6, day - 7, "8", 5, -1.0),
        (start + 120 * 10**6, day - 14, "9", 10, -1.0),
    ]
    first = parse_timestamp("2026-01-01")
    due = {"count": "2", "rate": "50", "start_ms": "0"}
    assert rows(due, (Column("at", TIMESTAMP),)) == [(first,), (first + 20_000,)]


def test_small_and_unsigned_integers() -> None:
    types = (TINYINT, SMALLINT, UTINYINT, USMALLINT, UINT, UBIGINT)
    schema: Schema = tuple(Column(f"c{at}", each) for at, each in enumerate(types))
    made = rows(
        {
            "count": "2000",
            "fields.c1.min": "-2",
            "fields.c1.max": "1",
            "fields.c2.values": "0, 255",
            "fields.c4.start": "4294965000",
            "fields.c5.min": "9223372036854775806",
            "fields.c5.max": "9223372036854775807",
        },
        schema,
    )
    columns = [*zip(*made, strict=True)]
    assert set(columns[0]) == set(range(128))
    assert set(columns[1]) == {-2, -1, 0, 1}
    assert set(columns[2]) == {0, 255}
    assert (min(columns[3]), max(columns[3])) == (0, 1000)
    assert columns[4] == tuple(range(4294965000, 4294967000))
    assert set(columns[5]) == {2**63 - 2, 2**63 - 1}


def test_maps_have_each_key_once_in_order() -> None:
    columns = (Column("b", map_of(BOOLEAN, STRING)), Column("n", map_of(INT, array_of(STRING))))
    made = rows({"count": "300"}, columns)
    for maps, lengths in zip(zip(*made, strict=True), ({0, 1, 2}, {0, 1, 2, 3}), strict=True):
        keys = [[key for key, _ in each] for each in maps]
        assert {len(each) for each in keys} == lengths
        assert keys == [sorted(set(each)) for each in keys]


def test_words_follow_a_law() -> None:
    texts = rows({"count": "5000", "fields.word.distinct": "10"}, (Column("word", STRING),))
    counts = sorted((texts.count(each) for each in set(texts)), reverse=True)
    assert len(counts) == 10
    assert counts[0] > 2 * counts[2]


WRONG = {
    ("n", "min", "x"): "option 'fields.n.min' is 'x', which is not a value of the column",
    ("n", "min", "3000000000"): "option 'fields.n.min' is 3000000000, which is out of range",
    ("n", "max", "-1"): "option 'fields.n.max' is -1, which is less than the minimum",
    (
        "price",
        "min",
        "1.234",
    ): "option 'fields.price.min' is '1.234', which is not a value of the column",
    (
        "id",
        "null_rate",
        "0.5",
    ): "option 'fields.id.null_rate' cannot be more than 0: the column is NOT NULL",
    ("n", "null_rate", "2"): "option 'fields.n.null_rate' is 2; it must be from 0 to 1",
    (
        "n",
        "jitter",
        "1 s",
    ): "option 'fields.n.jitter' has no effect: the column is INT, made by random",
    (
        "n",
        "kind",
        "choice",
    ): "option 'fields.n.kind' is choice; give the values: 'fields.n.values' = 'a, b'",
    ("n", "values", "1, b"): "option 'fields.n.values' is 'b', which is not a value of the column",
    ("n", "values", "1, 3000000000"): "option 'fields.n.values' has a value that does not fit INT",
    (
        "paid",
        "kind",
        "sequence",
    ): "option 'fields.paid.kind' cannot be sequence: the column is BOOLEAN",
    ("at", "step", "1"): "option 'fields.at.step' is '1'; it must be a duration such as `10 s`",
    ("u", "min", "-1"): "option 'fields.u.min' is -1, which is out of range",
    (
        "u",
        "step",
        "-1",
    ): "option 'fields.u.step' is -1; the column is UINT, which has no negative values",
    ("u", "values", "1, -1"): "option 'fields.u.values' has a value that does not fit UINT",
    ("m", "min", "1"): 'table "t" has no column "m" that a generator fills',
}


@pytest.mark.parametrize("given", WRONG)
def test_options_that_do_not_fit(given: tuple[str, str, str]) -> None:
    column, option, value = given
    with pytest.raises(FsqlError) as raised:
        reader({f"fields.{column}.{option}": value}, (*MIXED, Column("u", UINT)))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E534", WRONG[given])


def test_types_without_bounds() -> None:
    schema: Schema = (Column("f", FLOAT), Column("t", TIME), Column("b", BYTES))
    options = {"fields.f.max": "2", "fields.t.null_rate": "0.5"}
    columns = [*zip(*rows({"count": "400", **options}, schema), strict=True)]
    floats, times, octets = columns
    assert all(each == float(np.float32(each)) and 0 <= each <= 2 for each in floats)
    assert max(floats) > 1.9
    known = [each for each in times if each is not None]
    assert 150 <= len(known) <= 250
    assert all(each % 10**6 == 0 for each in known)
    hour = 3_600 * 10**6
    assert 0 <= min(known) < hour < 23 * hour < max(known) < 24 * hour
    assert {len(each) for each in octets} == {8}
    assert len({*octets}) == 400
    values = {"fields.t.values": "10:00:00, 11:30:00", "fields.b.values": "ab, c"}
    _, times, octets = zip(*rows({"count": "40", **values}, schema), strict=True)
    assert ({*times}, {*octets}) == ({10 * hour, 23 * hour // 2}, {"ab", "c"})
