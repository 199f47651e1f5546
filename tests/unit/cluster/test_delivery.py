"""Delivery: the rows that reach a consumer, whatever the bounds, bundle sizes, windows and recoveries.

The consumer here keeps the rules of `docs/internals/distribution.md`, section 5, and asserts them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.connectors import DELIVERIES
from fsql.runtime.batch import END, START, Batch, Root
from fsql.runtime.cluster.delivery.delivery import (
    Bundle,
    Contents,
    Delivery,
    PositionRefusedError,
    delivery_of,
)
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released
from fsql.runtime.ports import DeadLetter, Release

if TYPE_CHECKING:
    from collections.abc import Callable

EXACTLY_ONCE = DeliveryOption.EXACTLY_ONCE
Row = tuple[Root, int]


def roots(*times: int) -> list[Row]:
    return [(Root(time, 0), number) for number, time in enumerate(times)]


def released(rows: list[Row]) -> Released:
    time = np.array([root.time for root, _ in rows], np.int64)
    origin = np.array([root.origin for root, _ in rows], np.int64)
    numbers = [number for _, number in rows]
    operations = np.array([number % 4 for number in numbers], np.int8)
    return Released(0, Release([pa.array(numbers, pa.int64())], operations, time, origin))


def late(rows: list[Row]) -> LateRows:
    release = released(rows).release
    return LateRows(0, Batch(release.columns, release.time, release.origin, ()))


def rejected(rows: list[Row]) -> DeadLetters:
    return DeadLetters(tuple((root, DeadLetter(n, n, -1, 511, "", "", "")) for root, n in rows))


Kind: TypeAlias = "Callable[[list[Row]], Contents]"
KINDS: tuple[Kind, ...] = (released, late, rejected)


def rows_of(contents: Contents | None) -> list[Row]:
    match contents:
        case None:
            return []
        case Released(_, release):
            [column] = release.columns
            assert release.operations is not None
            assert release.operations.tolist() == [n % 4 for n in column.to_pylist()]
            rooted = zip(release.time.tolist(), release.origin.tolist(), strict=True)
            return list(zip((Root(*at) for at in rooted), column.to_pylist(), strict=True))
        case LateRows(_, rows):
            rooted = zip(rows.time.tolist(), rows.origin.tolist(), strict=True)
            return list(zip((Root(*at) for at in rooted), rows.columns[0].to_pylist(), strict=True))
        case DeadLetters(dead_letters):
            return [(root, dead_letter.row) for root, dead_letter in dead_letters]


@dataclass
class Sink:
    """Stores whole bundles behind the position that it has."""

    position: Root = START
    rows: list[Row] = field(default_factory=list)
    parts: list[Bundle] = field(default_factory=list)

    def store(self, bundle: Bundle) -> bool:
        """Store a part; say whether it made a bundle visible."""
        assert bundle.follows == self.position < bundle.ends
        assert bundle.part == len(self.parts)
        self.parts.append(bundle)
        if not bundle.last:
            return False
        stored = [row for part in self.parts for row in rows_of(part.contents)]
        assert all(self.position <= root < bundle.ends for root, _ in stored)
        self.rows += stored
        self.position, self.parts = bundle.ends, []
        return True


def sent(bundles: list[Bundle]) -> list[tuple[int, int, int, bool, int]]:
    return [(b.follows.time, b.ends.time, b.part, b.last, b.rows) for b in bundles]


def test_bundles_follow_one_another_up_to_the_bound() -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(0, 0), window=2, rows_max=10)
    delivery.take(released(roots(1, 2)))
    assert sent(delivery.advance(Root(5, 0))) == [(0, 5, 0, True, 2)]
    assert delivery.advance(Root(6, 0)) == []
    delivery.take(released(roots(7)))
    assert sent(delivery.advance(Root(8, 0))) == [(5, 8, 0, True, 1)]


def test_a_bundle_has_no_more_rows_than_allowed_and_whole_groups() -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(0, 0), window=9, rows_max=3)
    delivery.take(released(roots(1, 2, 2, 3, 3, 3, 4)))
    assert sent(delivery.advance(Root(9, 0))) == [
        (0, 3, 0, True, 3),
        (3, 4, 0, True, 3),
        (4, 9, 0, True, 1),
    ]


def test_a_group_that_is_too_large_goes_in_parts_of_one_bundle() -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(0, 0), window=1, rows_max=2)
    delivery.take(released(roots(1, 2, 2, 2, 2, 2, 3)))
    assert sent(delivery.advance(Root(9, 0))) == [(0, 2, 0, True, 1)]
    group = delivery.acknowledge(Root(2, 0))
    assert sent(group) == [(2, 9, 0, False, 2), (2, 9, 1, False, 2), (2, 9, 2, True, 2)]


def test_what_several_windows_found_late_below_one_bound_is_one_sequence_of_parts() -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(0, 0), window=1, rows_max=10)
    delivery.take(late(roots(1)))
    delivery.take(late(roots(1)))
    delivery.take(late(roots(2)))
    assert sent(delivery.advance(Root(5, 0))) == [
        (0, 5, 0, False, 1),
        (0, 5, 1, False, 1),
        (0, 5, 2, True, 1),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_the_consumer_has_are_dropped(kind: Kind) -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(3, 0), window=9, rows_max=10, begins=Root(1, 0))
    delivery.take(kind(roots(1, 2)))
    assert delivery.advance(Root(3, 0)) == []
    assert delivery.complete_below == Root(3, 0)
    delivery.take(kind(roots(3, 4)))
    [bundle] = delivery.advance(Root(5, 0))
    assert (bundle.follows, bundle.rows) == (Root(3, 0), 2)


def test_a_bound_below_what_the_consumer_has_takes_nothing_back() -> None:
    delivery = Delivery(EXACTLY_ONCE, Root(7, 0), window=9, rows_max=10)
    delivery.take(released(roots(1, 6, 7)))
    assert sent(delivery.advance(Root(8, 0))) == [(7, 8, 0, True, 1)]
    delivery = Delivery(EXACTLY_ONCE, Root(7, 0), window=9, rows_max=10)
    delivery.advance(Root(3, 0))
    assert delivery.complete_below == Root(7, 0)


@pytest.mark.parametrize("option", [DeliveryOption.AT_LEAST_ONCE, DeliveryOption.NONE])
def test_without_a_position_all_comes_again_from_where_the_input_is_replayed(
    option: DeliveryOption,
) -> None:
    delivery = Delivery(option, Root(3, 0), window=9, rows_max=10, begins=Root(1, 0))
    delivery.take(released(roots(1, 2, 3, 4)))
    assert sent(delivery.advance(Root(5, 0))) == [(1, 5, 0, True, 4)]


def test_only_what_promises_nothing_is_complete_without_an_acknowledgement() -> None:
    for option in DeliveryOption:
        delivery = Delivery(option, START, window=9, rows_max=10)
        delivery.take(released(roots(1)))
        delivery.advance(Root(5, 0))
        complete = Root(5, 0) if option is DeliveryOption.NONE else START
        assert (option, delivery.complete_below) == (option, complete)
        delivery.acknowledge(Root(5, 0))
        assert delivery.complete_below == Root(5, 0)
        assert delivery.rows_waiting == 0


def test_the_window_holds_bundles_back_and_rows_wait() -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=2, rows_max=1)
    delivery.take(released(roots(1, 2, 3, 4)))
    assert len(delivery.advance(Root(5, 0))) == 2
    assert delivery.rows_waiting == 4
    assert delivery.complete_below == START
    assert sent(delivery.acknowledge(Root(3, 0))) == [(3, 4, 0, True, 1), (4, 5, 0, True, 1)]
    assert (delivery.rows_waiting, delivery.complete_below) == (2, Root(3, 0))


def test_late_and_double_acknowledgements_change_nothing() -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=9, rows_max=1)
    delivery.take(released(roots(1, 2, 3)))
    delivery.advance(Root(5, 0))
    delivery.acknowledge(Root(3, 0))
    for position in (Root(3, 0), Root(2, 0), Root(1, 7), START):
        assert delivery.acknowledge(position) == []
        assert delivery.complete_below == Root(3, 0)


@pytest.mark.parametrize("position", [Root(2, 1), Root(5, 1), Root(9, 0), END])
def test_an_acknowledgement_of_what_was_not_sent_is_refused(position: Root) -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=2, rows_max=1)
    delivery.take(released(roots(1, 2, 3, 4)))
    delivery.advance(Root(5, 0))
    with pytest.raises(PositionRefusedError):
        delivery.acknowledge(position)


def test_a_bundle_that_waits_for_the_window_cannot_be_acknowledged_yet() -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=1, rows_max=1)
    delivery.take(released(roots(1, 2, 3)))
    delivery.advance(Root(5, 0))
    with pytest.raises(PositionRefusedError):
        delivery.acknowledge(Root(5, 0))


def test_a_consumer_that_has_lost_what_it_acknowledged_is_refused() -> None:
    for option in (EXACTLY_ONCE, DeliveryOption.AT_MOST_ONCE):
        with pytest.raises(PositionRefusedError):
            Delivery(option, Root(3, 0), window=1, rows_max=1, begins=Root(4, 0))


def test_a_consumer_is_told_a_position_to_which_no_rows_led() -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=1, rows_max=1)
    delivery.advance(Root(5, 0))
    assert delivery.complete_below == Root(5, 0)
    [bundle] = delivery.reach()
    assert bundle == Bundle(START, Root(5, 0), 0, last=True, contents=None)
    assert delivery.reach() == []
    delivery.acknowledge(Root(5, 0))
    assert delivery.position == Root(5, 0)


def test_a_consumer_learns_of_the_end_also_where_no_rows_led_there() -> None:
    delivery = Delivery(EXACTLY_ONCE, START, window=1, rows_max=1)
    assert sent(delivery.advance(END)) == [(START.time, END.time, 0, True, 0)]
    assert delivery.complete_below == START
    assert Delivery(EXACTLY_ONCE, END, window=1, rows_max=1).advance(END) == []


def drawn_rows(random: Random) -> list[Row]:
    times = sorted(random.choices(range(40), k=random.randrange(80)))
    rooted = sorted(Root(time, random.randrange(2)) for time in times)
    return [(root, number) for number, root in enumerate(rooted)]


def run_epoch(random: Random, rows: list[Row], consumer: Sink, begins: Root, kind: Kind) -> Root:
    """Run until the end or until everything is lost at random; return a position that a snapshot has."""
    window = random.choice([1, 2, 50])
    delivery = Delivery(
        EXACTLY_ONCE, consumer.position, window, random.choice([1, 2, 3, 100]), begins
    )
    consumer.parts = []
    bounds = sorted({Root(random.randrange(45), 0) for _ in range(random.randrange(20))})
    bounds = [bound for bound in bounds if bound > begins] + [END]
    snapshot = begins
    under_way: list[Bundle] = []
    for low, bound in pairwise([begins, *bounds]):
        contents = [row for row in rows if low <= row[0] < bound]
        if contents:
            delivery.take(kind(contents))
        under_way += delivery.advance(bound)
        while under_way and random.random() < 0.8:
            if consumer.store(under_way.pop(0)) and random.random() < 0.8:
                under_way += delivery.acknowledge(consumer.position)
                assert consumer.position == delivery.position
        assert len({bundle.ends for bundle in under_way}) <= window
        if random.random() < 0.3:
            under_way += delivery.reach()
        if delivery.position >= delivery.complete_below > snapshot and random.random() < 0.5:
            snapshot = min(delivery.complete_below, bound)
        if random.random() < 0.05:
            return snapshot
    while delivery.complete_below != END:
        if under_way:
            consumer.store(under_way.pop(0))
        under_way += delivery.acknowledge(consumer.position)
    assert (delivery.complete_below, delivery.rows_waiting) == (END, 0)
    return END


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_every_row_comes_once_and_in_order_whatever_fails(seed: int, kind: Kind) -> None:
    random = Random(seed)
    rows = drawn_rows(random)
    consumer, snapshot = Sink(), START
    while snapshot != END:
        snapshot = run_epoch(random, rows, consumer, snapshot, kind)
    assert consumer.rows == rows


def test_an_added_output_is_complete_where_it_begins() -> None:
    """A snapshot at the position at which the output was added waits for no rows."""
    begins = Root(5, 0)
    delivery = delivery_of(Output(EXACTLY_ONCE, since=begins), START, 2, 10, begins)
    assert (delivery.position, delivery.complete_below) == (START, begins)
    assert delivery.reach() == [Bundle(START, begins, 0, last=True, contents=None)]
    assert delivery.complete_below == START
    delivery.acknowledge(begins)
    assert delivery.complete_below == begins


def test_every_delivery_that_can_be_asked_for_is_known() -> None:
    assert tuple(option.value for option in DeliveryOption) == DELIVERIES
