"""A stream goes on from the state that tasks of a batch system have computed, as one long run.

Cases are scripts and plans with input, made from a seed, cut at a position that is drawn.  Tasks of stages
compute what is below it, on any number of workers; the engine goes on from their state, on any other.  Both
together have to release what the oracle does, and the state has the bytes of a worker's snapshot there.

Catches rows on the wrong side of the position, state that is left out, and windows that close twice or never.
Cannot catch what goes wrong on Spark, or between the files of a state directory.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.batch import PUNCTUATION, START, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import merge_snapshots
from fsql.tests.property.bootstrap import compute
from fsql.tests.property.check import random_schedule
from fsql.tests.property.snapshots import Snapshots, from_on, roots_of, run_with_snapshots, state_at
from fsql.tests.property.test_snapshots import bytes_of, cases
from fsql.tests.property.ways import Outcome, by_oracle, outcome_of
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.tests.property.cases import Case


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_a_stream_goes_on_from_computed_state(kind: str) -> None:
    met: Counter[str] = Counter()
    for case in cases(kind, chosen_seeds(14)):
        check_bootstrap(case, Random(case.name), met)
    assert min(met["runs"], met["rows of state"], met["rows before"], met["rows behind"]) > 10, met


def check_bootstrap(case: Case, random: Random, met: Counter[str]) -> None:
    roots = roots_of(case)
    if not roots:
        return
    time, origin = random.choice(roots)
    position = Root(time, random.choice((origin, origin + 1, PUNCTUATION, START.origin)))
    expected = by_oracle(case.job, case.inputs)
    computed = compute(case, random.choice((1, 2, 3, 5)), position, random)
    before = outcome_of(case.job, computed.outcome)
    difference = _below(expected, position).difference(before)
    assert not difference, f"{case.name} below {position} differs in {difference}"
    met["rows before"] += sum(map(len, before.released))
    if before.error is not None:
        return
    snapshots = Snapshots(random, (), dict(computed.begin.state), 0.2, Counter(), computed.begin)
    behind = run_with_snapshots(case, random_schedule(random), snapshots)
    difference = from_on(expected, position).difference(behind)
    assert not difference, f"{case.name} from {position} on differs in {difference}"
    met["rows behind"] += sum(map(len, behind.released))
    met["runs"] += 1
    whole = {
        operator: merge_snapshots(parts, position, whole=True).rows
        for operator, parts in computed.begin.state.items()
    }
    saved = state_at(case, random_schedule(random), position, random)
    if saved is not None:
        found = {operator: rows for operator, rows in whole.items() if rows.num_rows}
        assert bytes_of(found) == bytes_of(saved), f"{case.name} at {position}"
        met["rows of state"] += sum(rows.num_rows for rows in saved.values())


def _below(outcome: Outcome, position: Root) -> Outcome:
    """Return what of an outcome is below `position`."""
    error = outcome.error
    return Outcome(
        tuple(tuple(row for row in rows if row[0] < position) for rows in outcome.released),
        tuple(tuple(row for row in rows if row[0] < position) for rows in outcome.late),
        tuple(dead_letter for dead_letter in outcome.dead_letters if dead_letter[0] < position),
        error if error is None or error[1] < position else None,
    )
