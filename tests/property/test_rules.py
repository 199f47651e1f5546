"""Rules change nothing that is released: random plans, evaluated before and after by the oracle.

Catches a rule, alone or with the others, that loses, adds or reorders rows, changes a value, lets a
failing row go or fails another one, or touches what comes late.  Does not catch a mistake that the
oracle makes as well on both plans, nor rules that never fire on these plans: the last test says which
do.  A failure prints the seed; `Random(seed)` makes the job and its input.
"""

from __future__ import annotations

from random import Random

import pytest

from fsql.compiler.explain import logical_text
from fsql.compiler.logical import Job
from fsql.compiler.rewrite import run_passes
from fsql.compiler.rules import PASSES
from fsql.compiler.verify_logical import verify_logical
from fsql.tests.property.random_plans import random_inputs, random_job
from fsql.tests.property.ways import Outcome, by_oracle

RULES = [*dict.fromkeys(rule for each in PASSES for rule in each.rules)]
SEEDS = 150


def outcome(job: Job, seed: int) -> Outcome:
    return by_oracle(job, random_inputs(Random(seed)))


def check(before: Job, after: Job, seed: int) -> None:
    """Fail, with both plans, unless they release the same."""
    expected, actual = outcome(before, seed), outcome(after, seed)
    # Two windows that rules have made one, of two INSERTs, count their late rows once.
    late = [(set(o.late)) for o in (expected, actual)]
    same = late[0] == late[1]
    difference = Outcome(expected.released, (), expected.rejects, expected.error).difference(
        Outcome(actual.released, (), actual.rejects, actual.error)
    )
    if difference or not same:
        difference = difference or expected.difference(actual)
        plans = f"{logical_text(before, details=False)}\n{logical_text(after, details=False)}"
        pytest.fail(f"seed {seed}\n{plans}\n{difference}")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_passes_keep_what_is_released(seed: int) -> None:
    job = random_job(Random(seed))
    verify_logical(job)
    check(job, run_passes(job, PASSES, verify=verify_logical), seed)
