"""Hash ranges: every key has one owner, however many workers there are (U19, U20, U27).

Catches: gaps and overlaps of ranges, keys that hash beyond them, a skewed hash.  Not: who sends what where.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from fsql.runtime.model.partition import balancing_hash, covering, owner, wide_hash

HASHES = 2**32


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 1000])
def test_u19_u20_the_ranges_cover_the_space_up_to_its_last_hash(workers: int) -> None:
    bounds = covering(workers)
    assert (bounds[0], bounds[-1]) == (0, HASHES)
    assert owner(bounds, 0) == 0
    assert owner(bounds, HASHES - 1) == workers - 1
    for worker in range(workers):
        assert owner(bounds, bounds[worker]) == worker
        assert owner(bounds, bounds[worker + 1] - 1) == worker


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_ranges_are_equal_but_for_rounding(workers: int) -> None:
    bounds = covering(workers)
    widths = {high - low for low, high in pairwise(bounds)}
    assert max(widths) - min(widths) <= 1


def test_u27_keys_of_any_sign_and_kind_have_an_owner() -> None:
    bounds = covering(3)
    keys = [-1, -(2**63), 2**63 - 1, 0, "", "\ud800", (), ((0, -5), (2,)), None]
    for key in keys:
        assert 0 <= balancing_hash(key) < HASHES
        assert 0 <= owner(bounds, balancing_hash(key)) < 3


def test_keys_spread_over_the_workers() -> None:
    random = Random(0)
    bounds = covering(4)
    owners = Counter(owner(bounds, balancing_hash((0, random.random()))) for _ in range(4000))
    assert min(owners.values()) > 900


def test_hashes_are_the_same_in_every_run() -> None:
    assert wide_hash(((0, "a"), (2,))) == 1376893236565061697
