"""The rows of joins of windows that change are dropped once their window has closed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fsql.compiler.graph import Closing
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.kernels.join.net_rows import ClosedWindows, NetRows, WeightedRows

GRAIN, DELAY = 10, 5
CLOSING = Closing(window_end=1, delay_us=DELAY, grain_us=GRAIN)
INSTANTS = pa.timestamp("us", tz="UTC")
ROWS = 1_000


def rows_of(ends: list[int], slots: list[int]) -> WeightedRows:
    """Return rows of weight 2 with two keys, the second one the end of a window, and a payload."""
    keys = [pa.array([0] * len(ends)), pa.array(ends, INSTANTS)]
    weights = np.full(len(ends), 2)
    return WeightedRows([*keys, pa.array(slots)], np.array(slots), weights)


def test_a_window_is_open_up_to_its_punctuation() -> None:
    closed = ClosedWindows(CLOSING)
    ends = rows_of([20, 21, 30], [0, 0, 0]).columns
    assert closed.close_times(ends).tolist() == [25, 35, 35]
    assert closed.open(ends) is None
    for horizon, expected in (
        (Root(25, PUNCTUATION), [True, True, True]),
        (Root(25, PUNCTUATION + 1), [False, True, True]),
        (Root(35, PUNCTUATION), [False, True, True]),
        (Root(36, PUNCTUATION), [False, False, False]),
    ):
        closed.advance(horizon)
        found = closed.open(ends)
        assert found is not None
        assert found.tolist() == expected


def test_nothing_is_dropped_while_keys_are_staged() -> None:
    closed = ClosedWindows(CLOSING)
    closed.advance(Root(1_000, 0))
    closed.keep_all(staged=True)
    assert closed.open(rows_of([20], [0]).columns) is None
    closed.keep_all(staged=False)
    assert closed.open(rows_of([20], [0]).columns) is not None


def test_rows_stay_few_and_slots_can_be_used_again() -> None:
    closed = ClosedWindows(CLOSING)
    rows = NetRows(2, counted=True, closed=closed)
    for number in range(ROWS):
        end = number * GRAIN
        closed.advance(Root(end, 0))
        rows.add(rows_of([end], [number]))
        assert len(rows) <= 8
    kept = np.zeros(ROWS, np.bool_)
    rows.mark_slots(kept)
    assert kept[-1]
    assert (rows.weights(np.arange(ROWS)) == 2 * kept).all()
