"""Connector `nexmark`: its proportions, its references, and each event by its number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import BIGINT, INT, STRING, TIMESTAMP, row_of
from fsql.connectors.context import ConnectorContext
from fsql.connectors.nexmark.events import KINDS
from fsql.connectors.opening import open_source
from fsql.runtime.ports import SourceOffset, SplitReader
from fsql.tests.unit.connectors.reading import read_all
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLES: Mapping[str, Schema] = {
    kind: tuple(Column(name, type_) for name, (type_, _) in columns.items())
    for kind, columns in KINDS.items()
}
ALL: Schema = (
    Column("event_type", INT),
    *(
        Column(kind, row_of([(name, type_) for name, (type_, _) in columns.items()]))
        for kind, columns in KINDS.items()
    ),
    Column("dateTime", TIMESTAMP),
)
FIRST_BID = (1002, 1000, 6971, "Google", "https://www.nexmark.com/racy/cpqa/ncny/item.htm?query=1")
FIRST_TIME = parse_timestamp("2015-07-15")


def reader(
    kind: str, columns: Schema, place: SourceOffset | None = None, count: int = 5000
) -> SplitReader:
    options = {"connector": "nexmark", "events": kind, "count": str(count)}
    (split,) = open_source(table(columns, **options), ConnectorContext(Path()))
    return split.open(place)


def rows(kind: str, columns: Schema | None = None, rows_max: int = 10**6) -> list[tuple[Any, ...]]:
    schema = columns or TABLES[kind]
    return [*read_all(reader(kind, schema), schema, rows_max).rows.values()]


def test_the_first_events_are_these_for_ever() -> None:
    assert rows("bid")[0] == (*FIRST_BID, FIRST_TIME, "bznkivigasunalmi")
    assert rows("person")[0][:6] == (
        1000,
        "Walter Abrams",
        "jbscowl@gbrpc.com",
        "8916 5636 2561 8584",
        "Seattle",
        "WA",
    )
    assert rows("auction")[0][3:] == (
        192876,
        38063992,
        FIRST_TIME,
        FIRST_TIME + 246_000,
        1000,
        11,
        "ecsgrvyolidlxbfc",
    )


def test_one_table_of_all_events_has_those_of_each() -> None:
    events = rows("all", ALL)
    assert len(events) == 5000
    for at, kind in enumerate(KINDS):
        own = [event for event in events if event[0] == at]
        assert [event[1 + at] for event in own] == rows(kind)
        assert all(event[1 + other] is None for event in own for other in range(3) if other != at)
    assert [event[0] for event in events[:50]] == [0, 1, 1, 1, *[2] * 46]
    assert [event[4] for event in events] == sorted(event[4] for event in events)
    assert events[-1][4] == FIRST_TIME + 499_000


@pytest.mark.slow
def test_an_event_depends_on_its_number_alone() -> None:
    for kind, schema in TABLES.items():
        whole = rows(kind)
        assert rows(kind, rows_max=17) == whole
        going_on = reader(kind, schema, SourceOffset(30, 0, 0))
        assert [*read_all(going_on, schema, 9).rows.values()] == whole[30:]
    assert len(rows("person")) * 3 == len(rows("auction"))
    assert len(rows("person")) * 46 == len(rows("bid"))
    schema = TABLES["bid"]
    for count, bids in ((4, 0), (5, 1), (50, 46), (53, 46), (60, 52)):
        assert len(read_all(reader("bid", schema, count=count), schema, 100).rows) == bids


def test_references_lead_to_what_has_come_before() -> None:
    auctions = {auction[0]: auction for auction in rows("auction")}
    persons = {person[0]: person for person in rows("person")}
    bids = rows("bid")
    assert all(auctions[bid[0]][5] <= bid[5] for bid in bids)
    assert all(persons[bid[1]][6] <= bid[5] for bid in bids)
    assert all(persons[auction[7]][6] <= auction[5] <= auction[6] for auction in auctions.values())
    assert {auction[8] for auction in auctions.values()} == {10, 11, 12, 13, 14}
    assert all(auction[3] < auction[4] for auction in auctions.values())
    assert all(100 <= bid[2] <= 100_000_000 for bid in bids)
    last = [
        bid for bid in bids if bid[5] >= FIRST_TIME + 400_000
    ]  # 300 auctions in all, 200 hot before
    hot = [bid for bid in last if bid[0] in {1200, 1100}]
    assert 0.4 < len(hot) / len(last) < 0.6
    assert 0.4 < sum(not bid[3].startswith("channel-") for bid in bids) / len(bids) < 0.6


WRONG = {
    ("bid", "prize", BIGINT): (
        'a bid has no column "prize" of type BIGINT',
        ("a column with a similar name exists: price",),
    ),
    ("bid", "price", STRING): ('column "price" of a bid is BIGINT, and the table has STRING', ()),
    ("all", "id", BIGINT): (
        'the table of all events has no column "id" of type BIGINT',
        ("there are event_type, dateTime, person, auction, bid",),
    ),
}


@pytest.mark.parametrize("given", WRONG)
def test_columns_that_events_do_not_have(given: tuple[str, str, Any]) -> None:
    kind, name, sql_type = given
    with pytest.raises(FsqlError) as raised:
        reader(kind, (Column(name, sql_type),))
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.message, diagnostic.helps) == WRONG[given]
