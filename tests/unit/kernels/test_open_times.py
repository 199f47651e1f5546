"""Sessions without a gap, in columns: the same as the sessions of `open_sessions` with one time each.

Catches rows that close at another time, late rows that differ, and rows that are lost or kept when slots are
dropped or rows renumbered.  Cannot catch what is wrong in both; the oracles are for that.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.graph import SessionClosing
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.sessions.state import OpenSessions, OpenTimes, SessionRows

if TYPE_CHECKING:
    from fsql.runtime.kernels.sessions.state import ClosedRows, OpenRows

SLOTS = 5
STEPS = 30


def drawn_rows(random: Random, first: int, low: Root, high: Root) -> SessionRows:
    """Return rows at roots from `low` to below `high`, in the total order, with times around theirs."""
    count = random.choice((0, 1, 3, 40))
    times = sorted(random.randint(low.time, high.time - 1) for _ in range(count))
    starts = [max(0, time + random.randint(-30, 10)) for time in times]
    return SessionRows(
        *(
            np.array(column, np.int64)
            for column in (
                [random.randrange(SLOTS) for _ in times],
                range(first, first + count),
                times,
                [random.choice((0, PUNCTUATION - 1, PUNCTUATION + 1)) for _ in times],
                starts,
                starts,
            )
        )
    )


def in_total_order(rows: SessionRows) -> SessionRows:
    return rows.take(np.lexsort((rows.number, rows.origin, rows.time)))


def of_closed(closed: ClosedRows | None) -> list[tuple[int, ...]]:
    return [] if closed is None else sorted(zip(*(each.tolist() for each in closed), strict=True))


def of_slots(rows: OpenRows) -> list[list[int]]:
    numbers, sizes = rows.numbers_of(np.arange(SLOTS))
    return [sorted(part.tolist()) for part in np.split(numbers, np.cumsum(sizes)[:-1])]


@pytest.mark.parametrize("seed", range(30))
def test_rows_close_as_sessions_of_one_time_do(seed: int) -> None:
    random = Random(seed)
    closing = SessionClosing(0, random.choice((0, 4, 20)), random.choice((1, 5)))
    times, sessions = OpenTimes(closing), OpenSessions(closing)
    met: Counter[str] = Counter()
    low = Root(0, 0)
    made = 0
    for _ in range(STEPS):
        high = Root(low.time + random.randint(1, 20), random.choice((0, PUNCTUATION + 1)))
        rows = drawn_rows(random, made, low, high)
        made += len(rows.slot)
        late = [each.insert(rows, in_total_order) for each in (times, sessions)]
        met["late"] += len(late[0].slot)
        assert late[0].number.tolist() == late[1].number.tolist()
        assert of_slots(times) == of_slots(sessions)
        if random.random() < 0.2:
            slots = np.array(random.sample(range(SLOTS), 2))
            met["dropped"] += times.drop(slots) == sessions.drop(slots)
            assert of_slots(times) == of_slots(sessions)
        if random.random() < 0.2:
            shift = partial(np.add, random.randint(-3, 3))
            for each in (times, sessions):
                each.renumber(shift)
        assert sorted(np.concatenate([[], *times.numbers()])) == sorted(
            np.concatenate([[], *sessions.numbers()])
        )
        least = times.least()
        assert least is None or least <= (sessions.least() or least)
        closed = of_closed(times.pop_below(high))
        assert closed == of_closed(sessions.pop_below(high))
        met["closed"] += len(closed)
        low = high
    assert met["closed"]
    assert met["dropped"]
    if closing.delay_us < 20:
        assert met["late"]
