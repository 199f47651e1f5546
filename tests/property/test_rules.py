"""Rules change nothing that is released: random plans, evaluated before and after by the oracle.

Catches a rule, alone or with the others, that loses, adds or reorders rows, changes a value, lets a
failing row go or fails another one, or touches what comes late.  Does not catch a mistake that the
oracle makes as well on both plans, nor rules that never fire on these plans, so a test says that all
of them do.  A failure prints the seed; `Random(seed)` makes the job and its input.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from fsql.compiler import logical
from fsql.compiler.explain.plan import logical_text
from fsql.compiler.logical import Job, has_late_rows, operators
from fsql.compiler.rules import PASSES
from fsql.compiler.rules.driver import Firing, run_passes
from fsql.compiler.rules.prune_columns.demand import LATE_OUTPUT
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP
from fsql.compiler.verify.logical import verify_logical
from fsql.tests.property.random_plans import random_inputs, random_job
from fsql.tests.property.values import NOON, SECOND
from fsql.tests.property.ways import Outcome, by_oracle
from fsql.tests.seeds import chosen_seeds
from fsql.tests.unit.model import plans as p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fsql.compiler.expression import Value
    from fsql.tests.reference.oracle import Inputs
    from fsql.tests.reference.relations import Root

RULES = [*dict.fromkeys(rule.name for each in PASSES for rule in each.rules)]
SEEDS_OF_ALL_RULES = 1_500
"""Some rules are for expressions that few plans have."""


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
        plan for insert in job.inserts for plan in operators(insert.query) if has_late_rows(plan)
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


@pytest.mark.parametrize("seed", chosen_seeds(100))
def test_rules_keep_what_is_released(seed: int) -> None:
    """All rules, and a few of them without the others."""
    job = random_job(Random(seed))
    verify_logical(job)
    check(job, run_passes(job, PASSES, verify=verify_logical), seed)
    few = Random(seed).sample(RULES, k=3)
    disabled = frozenset(RULES) - frozenset(few)
    check(job, run_passes(job, PASSES, disabled=disabled, verify=verify_logical), seed)


def test_every_rule_fires() -> None:
    """A rule that never fires on these plans is not tested by them."""
    missing = set(RULES)
    for seed in range(SEEDS_OF_ALL_RULES):
        trace: list[Firing] = []
        run_passes(random_job(Random(seed)), PASSES, trace=trace)
        missing -= {firing.rule for firing in trace}
        if not missing:
            break
    assert missing == set()


# What random plans hardly ever need: plans on which a rule would go wrong without its condition.


def rows(values: Iterable[tuple[int, ...]]) -> list[list[tuple[Value, ...]]]:
    """Return one split; the last of each row's values is its event time in seconds."""
    return [[(*row[:-1], NOON + row[-1] * SECOND) for row in values]]


def test_rank_of_pairs_of_tied_rows_is_kept() -> None:
    """Two rows close with one window; the one has an earlier partner that the filter drops."""
    left = p.scan(p.table("left", {"k": BIGINT, "at": TIMESTAMP}, event_time="at"))
    right = p.table("right", {"k": BIGINT, "v": BIGINT, "at": TIMESTAMP}, 1, event_time="at")
    closed = p.window_group(p.hop(left, "at", 10 * SECOND), ["window_end", "k"], n=p.count())
    pairs = p.join(closed, p.scan(right, 1), [("k", "k")])
    wanted = logical.Filter(pairs, p.gt(p.col(pairs, "v"), p.lit(3)))
    inputs = {0: rows([(1, 0), (2, 1)]), 1: rows([(1, 0, 2), (1, 5, 3), (2, 5, 4)])}
    assert_condition_needed(
        "pushdown_filter.join._droppable", lambda _: (True, True), p.job(wanted), inputs
    )


def test_columns_that_order_tied_rows_are_kept() -> None:
    """Two rows close with one window; the column that decides which is first is read by nobody."""
    left = p.scan(p.table("left", {"k": BIGINT, "at": TIMESTAMP}, event_time="at"))
    closed = p.window_group(p.hop(left, "at", 10 * SECOND), ["window_end", "k"], n=p.count())
    turned = p.project(closed, n=p.col(closed, "n"), k=p.col(closed, "k"))
    counted = p.over(turned, [], m=p.count())
    shown = p.project(counted, k=p.col(counted, "k"), m=p.col(counted, "m"))
    inputs = {0: rows([(1, 0), (1, 1), (2, 2)])}
    assert_condition_needed("prune_columns.demand.may_tie", lambda _: False, p.job(shown), inputs)


def assert_condition_needed(
    name: str, without: Callable[..., object], job: Job, inputs: Inputs
) -> None:
    """Assert that the rules keep what is released, and would not without a condition of theirs."""
    verify_logical(job)
    released = by_oracle(job, inputs).released
    assert by_oracle(run_passes(job, PASSES), inputs).released == released
    with mock.patch(f"fsql.compiler.rules.{name}", without):
        assert by_oracle(run_passes(job, PASSES), inputs).released != released
