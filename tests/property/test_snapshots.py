"""A run that goes on from a snapshot releases what a run that was never interrupted does.

Cases are scripts and plans with input, made from a seed.  A run takes snapshots at positions that are
drawn, and has to release what the oracle does, whatever it saves meanwhile.  Then runs go on from one of
its snapshots: with other workers, policies, batches and interleavings, reading only what is at or above the
position, and taking snapshots of their own.  What each releases has to be the rest of what the oracle does.

Catches state that is left out, doubled, or of another position than it says; copies that are stale or not
made; keys that go to another worker than their rows; windows, holds and horizons that a restored fold does
not know; merges that lose or keep too much.  Cannot catch what goes wrong on disk or between nodes: the
incremental snapshots are handed over in memory.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.batch import PUNCTUATION, START, Root
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import random_schedule
from fsql.tests.property.snapshots import check_snapshots, roots_of, state_at
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds, seed_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.tests.property.cases import Case

MUST_BE_MET = (
    *("runs from a snapshot", "chains", "merges", "refused", "cancelled", "cancelled late"),
    *("runs that repair", "runs that hold", "rows restored"),
)


def cases(kind: str, seeds: range) -> Iterator[Case]:
    """Yield the cases of seeds, without the scripts that the binder refuses."""
    for seed in seeds:
        try:
            yield case_of(kind, seed)
        except FsqlError:
            continue


@pytest.mark.slow
@pytest.mark.parametrize("seeds", seed_ranges(16), ids=str)
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_runs_go_on_from_snapshots(kind: str, seeds: range) -> None:
    met: Counter[str] = Counter()
    for case in cases(kind, seeds):
        expected = by_oracle(case.job, case.inputs)
        check_snapshots(case, expected, roots_of(case), Random(case.name), met)
    assert [name for name in MUST_BE_MET if not met[name]] == [], met


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_the_state_at_a_position_has_the_same_bytes_however_it_came_about(kind: str) -> None:
    rows = 0
    for case in cases(kind, chosen_seeds(8)):
        random = Random(case.name)
        roots = roots_of(case)
        if not roots:
            continue
        time, origin = random.choice(roots)
        position = Root(time, random.choice((origin, PUNCTUATION, START.origin)))
        states = [state_at(case, random_schedule(random), position, random) for _ in range(3)]
        first, *others = [state for state in states if state is not None] or [{}]
        rows += sum(batch.num_rows for batch in first.values())
        for state in others:
            assert bytes_of(state) == bytes_of(first), f"{case.name} at {position}"
    assert rows > 30


def bytes_of(state: dict[str, pa.RecordBatch]) -> dict[str, bytes]:
    found = {}
    for operator, rows in state.items():
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema) as writer:
            writer.write_batch(rows)
        found[operator] = stream.getvalue().to_pybytes()
    return found
