"""Lifetimes sum up to the history that they are made of, and overlaps are all pairs that share a root."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.kernels.join.lifetimes import BEFORE, History, history, lifetimes, overlaps
from fsql.runtime.kernels.join.net_rows import NetRows, WeightedRows

ROOTS = 8


def weighted(payloads: list[str], slots: list[int], weights: list[int]) -> WeightedRows:
    keys = pa.array(slots, pa.int64())
    columns = [keys, pa.array(payloads, pa.string())]
    return WeightedRows(columns, np.array(slots, np.int64), np.array(weights, np.int64))


def drawn_history(random: Random) -> History:
    count = random.randint(1, 30)
    rows = weighted(
        random.choices(["x", "y", "-"], k=count),
        random.choices(range(3), k=count),
        random.choices([-3, -1, -1, 1, 1, 2], k=count),
    )
    return history(rows, np.array(random.choices(range(ROOTS), k=count), np.int64), 1)


def levels(of: History) -> Counter[tuple[int, str, int]]:
    """Return the weight of each slot and payload at each root, by adding up what changed so far."""
    found: Counter[tuple[int, str, int]] = Counter()
    payloads = of.rows.columns[1].to_pylist()
    for row, (slot, weight) in enumerate(zip(of.rows.slot, of.rows.weight, strict=True)):
        for root in range(int(of.root[row]), ROOTS):
            found[int(slot), payloads[row], root] += int(weight)
    return Counter({place: weight for place, weight in found.items() if weight})


@pytest.mark.parametrize("seed", range(100))
def test_lifetimes_add_up_to_the_history(seed: int) -> None:
    of = drawn_history(Random(seed))
    lives = lifetimes(of, ROOTS)
    payloads = of.rows.columns[1].to_pylist()
    found: Counter[tuple[int, str, int]] = Counter()
    for row, slot, start, end, weight in zip(*(each.tolist() for each in lives), strict=True):
        assert of.rows.slot[row] == slot
        assert BEFORE <= start < end <= ROOTS
        for root in range(start, end):
            found[slot, payloads[row], root] += weight
    assert Counter({place: weight for place, weight in found.items() if weight}) == levels(of)
    assert len(lives.row) <= len(of.root)


def test_the_first_unit_that_came_is_the_first_that_goes() -> None:
    rows = weighted(["x"] * 4, [0] * 4, [2, -1, 2, -2])
    lives = lifetimes(history(rows, np.array([0, 3, 5, 6]), 1), ROOTS)
    assert [
        (start, end, weight)
        for _, _, start, end, weight in zip(*(each.tolist() for each in lives), strict=True)
    ] == [(0, 3, 1), (0, 6, 1), (5, 6, 1), (5, ROOTS, 1)]


@pytest.mark.parametrize("seed", range(100))
def test_overlaps_are_the_pairs_that_share_a_root(seed: int) -> None:
    random = Random(seed)
    left, right = (lifetimes(drawn_history(random), ROOTS) for _ in range(2))
    expected = [
        (i, j)
        for i in range(len(left.row))
        for j in range(len(right.row))
        if left.slot[i] == right.slot[j]
        and max(left.start[i], right.start[j]) < min(left.end[i], right.end[j])
    ]
    lefts, rights = overlaps(left, right, ROOTS)
    assert sorted(zip(lefts.tolist(), rights.tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(30))
def test_net_rows_are_the_sums_of_what_was_added(seed: int) -> None:
    random = Random(seed)
    rows, expected = NetRows(1), Counter[tuple[int, str]]()
    for _ in range(random.randint(1, 40)):
        count = random.randint(1, 6)
        payloads, slots = random.choices("xyz", k=count), random.choices(range(4), k=count)
        weights = random.choices([-2, -1, 1, 2], k=count)
        rows.add(weighted(payloads, slots, weights))
        for slot, payload, weight in zip(slots, payloads, weights, strict=True):
            expected[slot, payload] += weight
    wanted = sorted(random.sample(range(4), 2))
    found = rows.find(np.array(wanted))
    assert ({} if found is None else contents(found)) == {
        place: weight for place, weight in expected.items() if weight and place[0] in wanted
    }
    assert len(rows) <= 4 * 3 * 4, "runs of rows that cancel are merged"


def contents(rows: WeightedRows) -> dict[tuple[int, str], int]:
    payloads = rows.columns[1].to_pylist()
    return {
        (slot, payload): weight
        for slot, payload, weight in zip(
            rows.slot.tolist(), payloads, rows.weight.tolist(), strict=True
        )
    }
