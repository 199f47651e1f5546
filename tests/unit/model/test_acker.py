"""The acker: min time never passes what is in flight, and reaches the end (U21 to U25, U28).

There is one table, so U26 (shards that round each other's promises) has nothing to apply to.  U24 is turned
round: the table grows instead of refusing what is far ahead; what it refuses is the past.

Catches: a release too early or never, under any delivery that keeps the order of each sender.  Does not
catch: senders that acknowledge in two parts, or promise too early (test_machine runs the real ones).
"""

from __future__ import annotations

from collections import deque
from random import Random

import pytest

from fsql.runtime.batch import END, START, Root
from fsql.runtime.hashing import mix
from fsql.runtime.model.acker import Acker


def root(time: int) -> Root:
    return Root(time, 0)


def test_u21_an_empty_table_stands_at_its_start() -> None:
    assert Acker([0], root(5)).min_time == root(5)
    assert Acker([0]).min_time == START
    assert Acker([]).min_time == END


def test_u22_a_promise_alone_promotes_to_what_is_promised() -> None:
    acker = Acker([0])
    acker.promise(0, root(7))
    assert acker.min_time == root(7)


def test_u23_what_is_in_flight_caps_the_promotion() -> None:
    acker = Acker([0])
    acker.acknowledge([(root(3), 11)])
    acker.promise(0, root(7))
    assert acker.min_time == root(3)
    acker.acknowledge([(root(3), 11)])
    assert acker.min_time == root(7)


def test_u24_the_past_is_refused_and_the_far_future_is_not() -> None:
    acker = Acker([0])
    acker.promise(0, root(7))
    with pytest.raises(AssertionError, match="below min time"):
        acker.acknowledge([(root(6), 1)])
    acker.acknowledge([(Root(2**62, 0), 1)])
    assert acker.min_time == root(7)


def test_promises_must_not_decrease() -> None:
    acker = Acker([0])
    acker.promise(0, root(7))
    with pytest.raises(AssertionError, match="promise decreased"):
        acker.promise(0, root(6))


def test_a_combined_acknowledgement_is_applied_at_once() -> None:
    # A repair of root 2 that replaces something at root 5: in two parts, 2 would look done before 5 is known.
    acker = Acker([0])
    acker.acknowledge([(root(2), 1)])
    acker.promise(0, END)
    acker.acknowledge([(root(2), 1), (root(5), 2)])
    assert acker.min_time == root(5)


def test_u25_random_matched_pairs_always_promote_to_the_end_of_the_epoch() -> None:
    random = Random(0)
    acker = Acker([0])
    serial = 0
    for epoch in range(400):
        entries = []
        for _ in range(random.randrange(25)):
            serial += 1
            entries += [(root(epoch * 10 + random.randrange(10)), mix(serial))] * 2
        random.shuffle(entries)
        for entry in entries:
            acker.acknowledge([entry])
        acker.promise(0, root(epoch * 10 + 10))
        assert acker.min_time == root(epoch * 10 + 10)


def test_u28_min_time_waits_for_the_promise_of_every_front() -> None:
    acker = Acker([0, 1])
    acker.promise(0, root(9))
    assert acker.min_time == START
    acker.promise(1, root(4))
    assert acker.min_time == root(4)
    acker.promise(1, END)
    assert acker.min_time == root(9)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_ever_in_flight_below_min_time(seed: int) -> None:
    """Cascades of messages between stations; all acknowledgements are late, each by its own delay."""
    random = Random(seed)
    stations = 4
    fronts = [deque(sorted(random.randrange(40) for _ in range(8))) for _ in range(2)]
    acker = Acker(range(len(fronts)))
    links: dict[int, deque[list[tuple[Root, int]] | tuple[int, Root]]] = {
        sender: deque() for sender in range(stations + len(fronts))
    }
    in_flight: dict[int, tuple[Root, int]] = {}
    serial = 0

    def sent(at: Root, hops: int) -> tuple[Root, int]:
        nonlocal serial
        serial += 1
        in_flight[mix(serial)] = at, hops
        return at, mix(serial)

    seen = [acker.min_time]
    while acker.min_time < END:
        action = random.randrange(3)
        if action == 0:
            front = random.randrange(len(fronts))
            link = links[stations + front]
            if fronts[front]:
                at = root(fronts[front].popleft())
                link.append([sent(at, hops=3)])
                link.append((front, at))
            elif not link:
                link.append((front, END))
        elif action == 1 and in_flight:
            message = random.choice(sorted(in_flight))
            at, hops = in_flight.pop(message)
            entries = [(at, message)]
            entries += [
                sent(root(at.time + random.choice([0, 0, 1, 9])), hops - 1)
                for _ in range(random.randrange(3) if hops else 0)
            ]
            links[random.randrange(stations)].append(entries)
        elif waiting := [link for link in links.values() if link]:
            late = random.choice(waiting).popleft()
            if isinstance(late, list):
                acker.acknowledge(late)
            else:
                acker.promise(*late)
        assert all(at >= acker.min_time for at, _ in in_flight.values())
        seen.append(acker.min_time)
    assert seen == sorted(seen)
    assert not in_flight
