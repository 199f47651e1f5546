"""Rules change nothing that is released: random plans, evaluated before and after by the oracle.

Catches a rule, alone or with the others, that loses, adds or reorders rows, changes a value, lets a
failing row go or fails another one, or touches what comes late.  Does not catch a mistake that the
oracle makes as well on both plans, nor rules that never fire on these plans: the last test says which
do.  A failure prints the seed; `Random(seed)` makes the job and its input.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.explain import logical_text
from fsql.compiler.logical import Job, WindowAggregate, operators
from fsql.compiler.rewrite import run_passes
from fsql.compiler.rules import PASSES
from fsql.compiler.rules.prune_columns.demand import LATE_OUTPUT
from fsql.compiler.verify_logical import verify_logical
from fsql.tests.property.random_plans import random_inputs, random_job
from fsql.tests.property.ways import Outcome, by_oracle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.tests.reference.relations import Root

RULES = [*dict.fromkeys(rule for each in PASSES for rule in each.rules)]
SEEDS = 150


def outcome(job: Job, seed: int) -> Outcome:
    return by_oracle(job, random_inputs(Random(seed)))


def check(before: Job, after: Job, seed: int) -> None:
    """Fail, with both plans, unless they release the same."""
    expected, actual = outcome(before, seed), outcome(after, seed)
    difference = replace(expected, late=()).difference(replace(actual, late=()))
    if not difference and late_rows(before, expected) != late_rows(after, actual):
        difference = f"late:\n  {late_rows(before, expected)}\n  {late_rows(after, actual)}"
    if difference:
        plans = f"{logical_text(before, details=False)}\n{logical_text(after, details=False)}"
        pytest.fail(f"seed {seed}\n{plans}\n{difference}")


def late_rows(job: Job, released: Outcome) -> list[set[object]]:
    """Return what is seen of late rows: for each INSERT how many, when, and if it writes them, all.

    The rows of a window come as one; which of two equal windows of two INSERTs is which is not seen.
    """
    windows = dict.fromkeys(
        plan
        for insert in job.inserts
        for plan in operators(insert.query)
        if isinstance(plan, WindowAggregate)
    )
    rows_of = dict(zip(windows, released.late, strict=True))
    found: list[set[object]] = []
    for insert in job.inserts:
        written = LATE_OUTPUT in dict(insert.sink.options)
        of_insert = [rows_of[plan] for plan in operators(insert.query) if plan in rows_of]
        found.append(
            {rows if written else frozenset(count_by_root(rows).items()) for rows in of_insert}
        )
    return found


def count_by_root(rows: Iterable[tuple[Root, int, str]]) -> Counter[Root]:
    counts: Counter[Root] = Counter()
    for root, weight, _ in rows:
        counts[root] += weight
    return counts


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_passes_keep_what_is_released(seed: int) -> None:
    job = random_job(Random(seed))
    verify_logical(job)
    check(job, run_passes(job, PASSES, verify=verify_logical), seed)
