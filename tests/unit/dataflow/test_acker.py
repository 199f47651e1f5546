"""The acker: min time is never beyond what is in flight, whatever the order of acknowledgements.

U21 to U25 of the model's list, and random traffic over a small topology against a naive count of what is
in flight.  It cannot catch a worker that acknowledges the wrong things; the cascades do.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.lowering import lower
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, START, Root
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.messages import AckEntry, Acknowledgement, Ids, Kind, MinTime, Promise
from fsql.runtime.dataflow.outbox import Outbox
from fsql.tests.unit.dataflow.plans import KEY, call, grouped, insert, table

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import TickPlan

FIRST, SECOND, BARRIER = range(3)


def acker(fronts: int = 1) -> Acker:
    """Return the acker of source and first fold (stage 0, 1) and barrier, all fed by all fronts."""
    everything = frozenset(range(fronts))
    upstream = [frozenset[int](), frozenset([FIRST]), frozenset([FIRST, SECOND])]
    return Acker(upstream, [everything, everything, everything])


def entry(stage: int, time: int, message_id: int, kind: Kind = Kind.MESSAGE) -> AckEntry:
    return AckEntry(stage, kind, Root(time, 0), message_id)


def test_u21_nothing_promised_nothing_passed() -> None:
    assert acker().min_time(BARRIER) == START


def test_u22_a_lone_promise_is_min_time() -> None:
    one = acker()
    one.promise(Promise(0, Root(7, 0)))
    assert one.take_advanced() == [MinTime(stage, Root(7, 0)) for stage in (FIRST, SECOND, BARRIER)]


def test_u23_an_entry_in_flight_caps_min_time_at_and_behind_its_stage() -> None:
    one = acker()
    one.acknowledge(Acknowledgement((entry(SECOND, 3, 99),)))
    one.promise(Promise(0, Root(7, 0)))
    one.take_advanced()
    assert [one.min_time(stage) for stage in (FIRST, SECOND, BARRIER)] == [
        Root(7, 0),
        Root(3, 0),
        Root(3, 0),
    ]


def test_a_hold_caps_what_is_behind_its_stage_and_not_its_own_input() -> None:
    one = acker()
    one.acknowledge(Acknowledgement((entry(SECOND, 3, 99, Kind.HOLD),)))
    one.promise(Promise(0, Root(7, 0)))
    one.take_advanced()
    assert one.min_time(SECOND) == Root(7, 0)
    assert one.min_time(BARRIER) == Root(3, 0)


def test_u28_min_time_is_the_least_promise_of_all_fronts() -> None:
    one = acker(fronts=2)
    one.promise(Promise(0, Root(9, 0)))
    assert one.take_advanced() == []
    one.promise(Promise(1, Root(4, 0)))
    assert one.take_advanced()[-1] == MinTime(BARRIER, Root(4, 0))


def test_u24_the_table_has_no_capacity_to_go_beyond() -> None:
    one = acker()
    for time in range(20_000):
        one.acknowledge(Acknowledgement((entry(SECOND, time, time + 1),)))
    assert one.entries() == 20_000
    for time in range(20_000):
        one.acknowledge(Acknowledgement((entry(SECOND, time, time + 1),)))
    assert one.entries() == 0


def test_a_promise_that_goes_back_is_a_bug() -> None:
    one = acker()
    one.promise(Promise(0, Root(7, 0)))
    with pytest.raises(AssertionError):
        one.promise(Promise(0, Root(6, 0)))


@pytest.mark.parametrize("seed", range(20))
def test_u25_random_traffic_never_passes_what_is_in_flight(seed: int) -> None:
    random = Random(seed)
    one = acker(fronts=3)
    ids = Ids(1, 1)
    in_flight: list[AckEntry] = []
    promises = [0, 0, 0]
    for _ in range(500):
        if random.random() < 0.4:
            front = random.randrange(3)
            time = promises[front] + random.randint(0, 3)
            sent = entry(SECOND, time, ids.next())
            one.acknowledge(Acknowledgement((sent,)))
            in_flight.append(sent)
            promises[front] = time + 1
            one.promise(Promise(front, Root(time + 1, 0)))
        elif in_flight:
            consumed = in_flight.pop(random.randrange(len(in_flight)))
            entries = [consumed]
            if consumed.stage == SECOND:
                passed_on = entry(BARRIER, consumed.root.time, ids.next())
                entries.append(passed_on)
                in_flight.append(passed_on)
            one.acknowledge(Acknowledgement(tuple(entries)))
        one.take_advanced()
        bound = min([Root(min(promises), 0), *(sent.root for sent in in_flight)])
        expected = START if min(promises) == 0 and one.min_time(BARRIER) == START else bound
        assert one.min_time(BARRIER) == expected
    for front in range(3):
        one.promise(Promise(front, END))
    for sent in in_flight:
        one.acknowledge(Acknowledgement((sent,)))
    assert one.take_advanced()[-1] == MinTime(BARRIER, END)
    assert one.min_time(BARRIER) == END


def test_the_heap_of_the_ack_table_does_not_grow_while_an_entry_comes_back() -> None:
    """The hold of a window that closes in the far future stays behind the one that comes and goes."""
    one = acker()
    one.acknowledge(Acknowledgement((entry(SECOND, 0, 7),)))
    for number in range(10_000):
        sent = entry(SECOND, 5, number + 100)
        one.acknowledge(Acknowledgement((sent,)))
        one.acknowledge(Acknowledgement((sent,)))
    assert one.entries() == 1
    assert one.heap_size() <= 100


def test_the_heap_of_the_ack_table_does_not_grow_behind_a_split_that_lags() -> None:
    one = acker()
    one.acknowledge(Acknowledgement((entry(SECOND, 0, 7),)))
    for time in range(1, 10_000):
        sent = entry(SECOND, time, time + 100)
        one.acknowledge(Acknowledgement((sent,)))
        one.acknowledge(Acknowledgement((sent,)))
    assert one.heap_size() <= 100
    one.promise(Promise(0, Root(20_000, 0)))
    one.take_advanced()
    assert one.min_time(BARRIER) == Root(0, 0)
    one.acknowledge(Acknowledgement((entry(SECOND, 0, 7),)))
    assert one.take_advanced()[-1] == MinTime(BARRIER, Root(20_000, 0))


def test_no_two_links_of_a_thousand_workers_share_ids() -> None:
    numbers = (0, 1, 254, 255, 256, 511, 512, 999)
    receivers = range(-1, 1_000)
    first = {Outbox(number, 1)._hold_ids.next() for number in numbers}
    for number in numbers:
        outbox = Outbox(number, 1)
        first |= {outbox.ids_for(receiver).next() for receiver in receivers}
    assert len(first) == 8 * 1_002


def plan_of_workers(workers: int) -> TickPlan:
    query = grouped(logical.Scan(table(0), 0), [KEY], call("COUNT"))
    return choose(lower(logical.Job((insert(query),))), workers=workers)


def test_ids_of_different_links_and_epochs_differ() -> None:
    made = {
        Ids(epoch, link, sequence).next()
        for epoch in range(3)
        for link in range(30)
        for sequence in range(100)
    }
    assert len(made) == 3 * 30 * 100
