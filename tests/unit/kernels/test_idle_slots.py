"""Slots end when no row has come for a time: not before, once, and never with a row that is still theirs."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import PUNCTUATION, TIME_END, Root
from fsql.runtime.kernels.keyed.slot_ends import IdleSlots
from fsql.runtime.kernels.keyed.steps import steps_of

IDLE = 160
"""Checks come at multiples of 10."""


def touch(idle: IdleSlots, *rows: tuple[int, int]) -> None:
    """Apply rows, each a slot and a time, sorted by slot and time."""
    slots, times = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))
    idle.grow(int(slots.max()) + 1)
    idle.touch(times, steps_of(slots, np.arange(len(slots))))


def ended(idle: IdleSlots, time: int, origin: int = 0) -> list[int]:
    """Free the slots that have ended below a position, and return them."""
    slots = idle.take_ended(Root(time, origin))
    idle.clear(slots)
    return slots.tolist()


def test_a_slot_ends_at_the_first_check_after_its_time() -> None:
    idle = IdleSlots(IDLE)
    touch(idle, (0, 0), (1, 9), (2, 10))
    assert ended(idle, 170, PUNCTUATION) == []
    assert ended(idle, 170) == [0, 1]
    assert ended(idle, 180) == [2]
    assert ended(idle, TIME_END) == []


def test_a_row_puts_the_end_off() -> None:
    idle = IdleSlots(IDLE)
    touch(idle, (0, 0), (1, 0))
    touch(idle, (1, 100), (1, 160))
    assert ended(idle, 171) == [0]
    assert ended(idle, 330, PUNCTUATION) == []
    assert ended(idle, 330) == [1]


def test_undoing_brings_the_time_before_back() -> None:
    idle = IdleSlots(IDLE)
    touch(idle, (0, 0))
    both = np.array([0, 1])
    idle.grow(2)
    saved = idle.save(both)
    touch(idle, (0, 150), (1, 150))
    idle.restore(both, saved, both)
    assert idle.columns(both) == {"time": pa.array([0, None])}
    assert ended(idle, 171) == [0]
    assert ended(idle, 1000) == [1], "a slot without rows is given back"


def test_loaded_and_staged_slots_end_as_others() -> None:
    kept = IdleSlots(IDLE)
    touch(kept, (0, 0), (1, 50), (2, 90))
    slots = np.arange(3)
    columns = kept.columns(slots)
    loaded, staged = IdleSlots(IDLE), IdleSlots(IDLE)
    for each in (loaded, staged):
        each.grow(3)
        each.load(slots, columns)
    loaded.open_again(loaded.times(slots), slots, Root(0, 0))
    assert ended(loaded, 221) == [0, 1]
    staged.stage(staged.times(slots), slots)
    assert ended(staged, 171) == []
    assert staged.adopt(Root(200, 0)).tolist() == [0]
    assert ended(staged, 221) == [1]
    assert ended(staged, 261) == [2]


@pytest.mark.parametrize("seed", range(20))
def test_slots_end_as_a_loop_says(seed: int) -> None:
    random = Random(seed)
    idle, last, now = IdleSlots(IDLE), dict[int, int](), 0
    for _ in range(100):
        now += random.choice((1, 7, 40, 200))
        rows = [(random.randrange(6), now + random.randrange(20)) for _ in range(3)]
        touch(idle, *[(slot, max(time, last.get(slot, 0))) for slot, time in rows])
        for slot, time in rows:
            last[slot] = max(time, last.get(slot, 0))
        old = {slot for slot, time in last.items() if -(-(time + IDLE + 1) // 10) * 10 < now}
        may = {slot for slot, time in last.items() if time + IDLE + 1 < now}
        gone = set(ended(idle, now, PUNCTUATION))
        assert old <= gone <= may
        for slot in gone:
            del last[slot]
