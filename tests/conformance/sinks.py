"""What every consumer must do, whatever it stores its rows in: the rules, as checks of a `Subject`.

A check gets a subject that is new.  `Subject.restarted()` gives a consumer as a new process would have it;
`stored()` is what a reader finds.  Whoever writes a consumer makes a subject of it and has it checked by all.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.released_lines import ReleasedLines
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.delivery.delivery import Bundle, Delivery
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.ports import Release
from fsql.runtime.sink import OpenReply, OpenRequest, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.sink import Sink

ROWS: Final = 200
EXACTLY_ONCE: Final = DeliveryOption.EXACTLY_ONCE


class Subject(Protocol):
    """A kind of consumer under test."""

    durable: bool
    """Whether what it has survives the end of its process."""

    def restarted(self) -> Sink:
        """Return the consumer as a new process would have it; the one before is gone."""

    def stored(self) -> bytes:
        """Return what a reader finds."""


def lines() -> ReleasedLines:
    return ReleasedLines(JsonEncoder(["n", "s"], [BIGINT, STRING]))


def release(start: int, stop: int) -> Released:
    """Return rows; three have the same root, so groups are larger than one row."""
    numbers = np.arange(start, stop)
    text = [f"row {number} " + "x" * (number * 7 % 50) for number in numbers.tolist()]
    return Released(
        0, Release([pa.array(numbers), pa.array(text)], None, numbers // 3, np.zeros_like(numbers))
    )


def expected(start: int = 0, stop: int = ROWS) -> bytes:
    return b"".join(bytes(line) for line in lines()(release(start, stop)))


def delivery(opened: OpenReply, begins: Root = START, seed: int = 0) -> Delivery:
    rows_max = Random(seed).choice([2, 7, 1000])
    return Delivery(EXACTLY_ONCE, opened.position, opened.window, rows_max, begins)


def opening(epoch: int, begins: Root = START, option: DeliveryOption = EXACTLY_ONCE) -> OpenRequest:
    return OpenRequest(epoch, begins, option, "test")


def run(consumer: Sink, made: Delivery, start: int, rows: int, bounds: list[Root]) -> Root:
    """Deliver the rows from number `start` on, up to each bound; return what was acknowledged."""
    taken = start
    have = made.position
    for bound in bounds:
        stop = taken
        while stop < rows and Root(stop // 3, 0) < bound:
            stop += 1
        if stop > taken:
            made.take(release(taken, stop))
        taken = stop
        pending = made.advance(bound)
        while pending or made.complete_below < bound:
            for bundle in pending:
                consumer.deliver(bundle)
            pending = []
            for position in consumer.take_acknowledged():
                have = max(have, position)
                pending += made.acknowledge(position)
    return have


def position_of(subject: Subject, beginning: OpenRequest) -> Root:
    """Return the position that the consumer has after a restart."""
    consumer = subject.restarted()
    try:
        return consumer.open(beginning).position
    finally:
        consumer.close()


def bounds(seed: int, low: Root = START) -> list[Root]:
    random = Random(seed)
    drawn = {Root(random.randrange(ROWS // 3 + 1), random.randrange(2)) for _ in range(12)}
    return [*sorted(bound for bound in drawn if bound > low), END]


def run_to_end(consumer: Sink, epoch: int, begins: Root = START, seed: int = 0) -> None:
    """Begin an epoch and deliver everything; `begins` lies at a group's beginning."""
    opened = consumer.open(opening(epoch, begins))
    start = 0 if begins == START else begins.time * 3
    made = delivery(opened, begins, seed)
    run(consumer, made, start, ROWS, bounds(seed, begins))
    assert made.complete_below == END


def check_rows_come_in_order(subject: Subject) -> None:
    consumer = subject.restarted()
    run_to_end(consumer, 1)
    consumer.sync()
    consumer.close()
    assert subject.stored() == expected()


def check_it_goes_on_from_what_it_acknowledged(subject: Subject) -> None:
    consumer = subject.restarted()
    have = START
    for epoch, bound in enumerate(bounds(5)):
        opened = consumer.open(opening(epoch))
        if subject.durable or epoch == 0:
            assert opened.position == have
        have = run(consumer, delivery(opened, START, epoch), 0, ROWS, [bound])
        if subject.durable:
            consumer.close()
            consumer = subject.restarted()
    consumer.close()
    assert subject.stored() == expected()


def bundle(start: int, stop: int, *, part: int = 0, last: bool = True) -> Bundle:
    """Return rows `start` to `stop`, whole groups, as a bundle or a part of one of six rows."""
    follows = START if start == 0 else Root(start // 3, 0)
    return Bundle(follows, Root(stop // 3, 0), part, last, release(start, stop))


def wait_for(consumer: Sink, position: Root) -> list[Root]:
    acknowledged: list[Root] = []
    while position not in acknowledged:
        acknowledged += consumer.take_acknowledged()
    return acknowledged


def deliver_and_wait(consumer: Sink, delivered: Bundle) -> None:
    consumer.deliver(delivered)
    wait_for(consumer, delivered.ends)


def check_what_it_has_is_passed_over(subject: Subject) -> None:
    consumer = subject.restarted()
    consumer.open(opening(1))
    consumer.deliver(bundle(0, 6))
    wait_for(consumer, Root(2, 0))
    consumer.deliver(bundle(0, 6))
    consumer.deliver(bundle(0, 3))
    consumer.deliver(bundle(6, 9))
    assert max(wait_for(consumer, Root(3, 0))) == Root(3, 0)
    consumer.close()
    assert subject.stored() == expected(0, 9)


def check_a_gap_is_refused(subject: Subject) -> None:
    wrong = [
        bundle(9, 12),
        bundle(3, 9),
        bundle(6, 9, part=1),
        Bundle(START, END, 0, last=True, contents=release(0, 6)),
    ]
    for epoch, refused in enumerate(wrong, 1):
        consumer = subject.restarted()
        consumer.open(opening(epoch))
        if epoch == 1 or not subject.durable:
            consumer.deliver(bundle(0, 6))
            wait_for(consumer, Root(2, 0))
        with pytest.raises((SinkLostError, FsqlError)):
            deliver_and_wait(consumer, refused)
        consumer.close()
        if subject.durable:
            assert subject.stored() == expected(0, 6)


def check_parts_count_when_the_last_has_come(subject: Subject) -> None:
    consumer = subject.restarted()
    consumer.open(opening(1))
    consumer.deliver(bundle(0, 6))
    wait_for(consumer, Root(2, 0))
    first = Bundle(Root(2, 0), Root(4, 0), 0, last=False, contents=release(6, 9))
    consumer.deliver(first)
    assert Root(4, 0) not in consumer.take_acknowledged()
    if subject.durable:
        consumer.close()
        consumer = subject.restarted()
    assert consumer.open(opening(2)).position == Root(2, 0)
    consumer.deliver(first)
    consumer.deliver(Bundle(Root(2, 0), Root(4, 0), 1, last=True, contents=release(9, 12)))
    wait_for(consumer, Root(4, 0))
    consumer.close()
    assert subject.stored() == expected(0, 12)


def check_a_position_without_rows_is_kept(subject: Subject) -> None:
    consumer = subject.restarted()
    consumer.open(opening(1))
    consumer.deliver(Bundle(START, Root(7, 5), 0, last=True, contents=None))
    wait_for(consumer, Root(7, 5))
    consumer.close()
    if subject.durable:
        assert position_of(subject, opening(2)) == Root(7, 5)
    assert subject.stored() == b""


def check_an_older_epoch_is_refused(subject: Subject) -> None:
    consumer = subject.restarted()
    consumer.open(opening(7))
    consumer.deliver(bundle(0, 6))
    wait_for(consumer, Root(2, 0))
    consumer.close()
    again = subject.restarted() if subject.durable else consumer
    with pytest.raises(SinkLostError):
        again.open(opening(6))
    again.close()


def check_rows_that_were_lost_are_noticed(subject: Subject) -> None:
    consumer = subject.restarted()
    with pytest.raises(FsqlError, match="E537"):
        consumer.open(opening(1, begins=Root(3, 0)))
    consumer.close()


def check_less_than_it_had_is_noticed(subject: Subject) -> None:
    consumer = subject.restarted()
    consumer.open(opening(1))
    deliver_and_wait(consumer, bundle(0, 6))
    consumer.close()
    assert position_of(subject, opening(2, begins=Root(2, 0))) == Root(2, 0)
    with pytest.raises(FsqlError, match="E537"):
        position_of(subject, opening(3, begins=Root(3, 0)))


def check_at_least_once_goes_on_from_where_the_input_is_replayed(subject: Subject) -> None:
    consumer = subject.restarted()
    option = DeliveryOption.AT_LEAST_ONCE
    assert consumer.open(opening(1, START, option)).position == START
    consumer.deliver(bundle(0, 9))
    wait_for(consumer, Root(3, 0))
    if subject.durable:
        consumer.close()
        consumer = subject.restarted()
    begins = Root(2, 0)
    assert consumer.open(opening(2, begins, option)).position == begins
    consumer.deliver(bundle(6, 12))
    wait_for(consumer, Root(4, 0))
    consumer.close()
    assert subject.stored() == expected(0, 9) + expected(6, 12)


def check_what_was_stored_under_another_promise_counts(subject: Subject) -> None:
    """The command line may ask for another delivery than the run before."""
    consumer = subject.restarted()
    assert consumer.open(opening(1, START, DeliveryOption.AT_LEAST_ONCE)).position == START
    deliver_and_wait(consumer, bundle(0, 9))
    consumer.close()
    assert position_of(subject, opening(2, begins=Root(2, 0))) == Root(3, 0)


CHECKS: Final[tuple[Callable[[Subject], None], ...]] = (
    check_rows_come_in_order,
    check_it_goes_on_from_what_it_acknowledged,
    check_what_it_has_is_passed_over,
    check_a_gap_is_refused,
    check_parts_count_when_the_last_has_come,
    check_a_position_without_rows_is_kept,
    check_an_older_epoch_is_refused,
    check_at_least_once_goes_on_from_where_the_input_is_replayed,
)
DURABLE_CHECKS: Final[tuple[Callable[[Subject], None], ...]] = (
    check_rows_that_were_lost_are_noticed,
    check_less_than_it_had_is_noticed,
    check_what_was_stored_under_another_promise_counts,
)
