"""Oracle, model and engine release the same bytes, in whatever order things happen.

A case is a script or a plan with input, made from a seed.  The oracle evaluates the plan as a batch over
each prefix; the model executes the graph item by item; the engine executes tick plans in columns, on 1 to
4 workers, in batches of any size, with either policy, before and after the rewrite rules.  Channels
deliver in an order that a seed draws, so that disorder, exchange and speculation are real in one process.

Catches whatever makes a result depend on arrival, routes, batches or policy; operators that mean
something else than the plan says; wrong order, labels, text, late rows, rejects and errors.  Cannot catch
a plan that is wrong for its text (DuckDB judges that, in part), nor faults: nothing is lost here, and
nobody dies.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsql.tests.property.cases import plan_case
from fsql.tests.property.check import check, check_seeds
from fsql.tests.seeds import seed_ranges

if TYPE_CHECKING:
    from random import Random


_RARE: Final = {"plan": (109,)}
"""Seeds that are always run: one with a window over a window, which few have."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        pytest.param(kind, seeds, id=f"{kind}-{seeds}")
        for kind, count in (("script", 24), ("plan", 36))
        for seeds in seed_ranges(count)
    ],
)
def test_all_ways_release_the_same(kind: str, seeds: range) -> None:
    met = check_seeds(kind, (*seeds, *_RARE.get(kind, ())))
    print({name: met[name] for name in sorted(met)})  # noqa: T201 - shown by -rP and on failure


@pytest.mark.slow
def test_plans_that_hypothesis_draws_and_shrinks() -> None:
    examples = settings(
        max_examples=6,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def agrees(random: Random) -> None:
        check(plan_case(random, "plan 0"), schedules=1)

    examples(given(st.randoms(use_true_random=False))(agrees))()
