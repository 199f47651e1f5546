"""Hand-built cascades through fold, acker and barrier, against the prefix oracle.

Aggregates over aggregates, windows over windows, joins and running aggregates in every order, on one to
four workers, under either policy, with chunks and channels drawn from a seed.  This catches whatever goes
wrong in disorder, repair, holds, progress and release.  It cannot catch what the oracle gets wrong too;
the model and the generated queries of `tests/property` are for that.
"""

from __future__ import annotations

from random import Random

import pytest

from fsql.compiler import logical
from fsql.compiler.logical import Changes, FrameEnd, Insert
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.drivers.in_memory import run_in_memory
from fsql.tests.reference.lines import line
from fsql.tests.reference.oracle import evaluate_job
from fsql.tests.seeds import chosen_seeds
from fsql.tests.unit.dataflow.plans import (
    AT,
    DOUBLE_VALUE,
    GROUP,
    KEY,
    NUMBER,
    SECOND,
    call,
    column,
    grouped,
    insert,
    over,
    rows,
    table,
    windowed,
)

_RUNNING = FrameEnd.CURRENT_ROW
_BEFORE = FrameEnd.ONE_PRECEDING


def _updating() -> dict[str, Insert]:
    scan, second = logical.Scan(table(0), 0), logical.Scan(table(0), 1)
    other = logical.Scan(table(1), 1)
    every = (
        call("COUNT"),
        call("SUM", column(scan, NUMBER)),
        call("MIN", column(scan, NUMBER)),
        call("MAX", column(scan, GROUP)),
        call("AVG", column(scan, DOUBLE_VALUE)),
        call("SUM", column(scan, DOUBLE_VALUE)),
    )
    maxima = grouped(scan, [KEY, GROUP], call("MAX", column(scan, NUMBER)))
    counts = grouped(maxima, [2], call("COUNT"))
    by_group = grouped(maxima, [1], call("MAX", column(maxima, 2)))
    swapped = logical.Project(by_group, (column(by_group, 1), column(by_group, 0)), ("m", "g"))
    self_join = logical.Join(scan, second, (column(scan, KEY),), (column(second, GROUP),), None)
    joined_counts = grouped(other, [KEY], call("COUNT"))
    return {
        "every aggregate": insert(grouped(scan, [KEY], *every), (0,)),
        "average of maxima": insert(
            grouped(maxima, [1], call("AVG", column(maxima, 2)), call("MIN", column(maxima, 0))),
            (0,),
        ),
        "count of counts": insert(grouped(counts, [1], call("COUNT")), (0,)),
        "upsert": insert(grouped(scan, [KEY, GROUP], call("COUNT")), (0, 1), Changes.UPSERT),
        "upsert behind a projection": insert(swapped, (1,), Changes.UPSERT),
        "upsert by a wider key": insert(swapped, (0, 1), Changes.UPSERT),
        "self join into aggregate": insert(
            grouped(self_join, [1], call("COUNT"), call("SUM", column(self_join, 7))), (0,)
        ),
        "aggregate of a union": insert(
            grouped(logical.Union((scan, other)), [KEY], call("SUM", column(scan, NUMBER))), (0,)
        ),
        "join of an aggregate": insert(
            logical.Join(
                scan, joined_counts, (column(scan, NUMBER),), (column(joined_counts, 1),), None
            )
        ),
    }


def _append_only() -> dict[str, Insert]:
    scan, second = logical.Scan(table(0), 0), logical.Scan(table(0), 1)
    other = logical.Scan(table(1), 1)
    running = over(
        scan,
        KEY,
        (call("COUNT"), _BEFORE),
        (call("MAX", column(scan, NUMBER)), _RUNNING),
        (call("SUM", column(scan, DOUBLE_VALUE)), _RUNNING),
    )
    return {
        "running aggregates": insert(running),
        "running over running": insert(
            over(running, 5, (call("ARRAY_AGG", column(running, KEY)), _RUNNING))
        ),
        "self join": insert(
            logical.Join(scan, second, (column(scan, KEY),), (column(second, GROUP),), None)
        ),
        "union": insert(logical.Union((scan, other))),
    }


def _windows(delay_us: int) -> dict[str, Insert]:
    scan = logical.Scan(table(0, event=True, delay_us=delay_us), 0)
    other = logical.Scan(table(1, event=True, delay_us=delay_us // 2), 1)
    hop = windowed(
        scan,
        AT,
        4,
        3,
        [KEY],
        call("COUNT"),
        call("SUM", column(scan, NUMBER)),
        call("ARRAY_AGG", column(scan, NUMBER)),
    )
    both = logical.Union(
        (
            windowed(scan, AT, 4, 4, [GROUP], call("COUNT")),
            windowed(other, AT, 4, 4, [GROUP], call("COUNT")),
        )
    )
    near = logical.TimeRange(AT, AT, -2 * SECOND, 3 * SECOND)
    return {
        "hop": insert(hop),
        "window over window": insert(
            windowed(hop, 3, 8, 8, [KEY], call("SUM", column(hop, 4)), call("MAX", column(hop, 5)))
        ),
        "open windows": insert(
            windowed(scan, AT, 4, 2, [KEY], call("COUNT"), final=False), (0, 1, 2, 3)
        ),
        "windows of a union": insert(
            windowed(logical.Union((scan, other)), AT, 4, 4, [GROUP], call("COUNT"))
        ),
        "running over ties": insert(over(both, 0, (call("SUM", column(both, 4)), _RUNNING))),
        "join in a time range": insert(
            logical.Join(scan, other, (column(scan, KEY),), (column(other, KEY),), near)
        ),
        "join with windows": insert(
            logical.Join(hop, other, (column(hop, 0),), (column(other, KEY),), None)
        ),
    }


_CASES = {
    **_updating(),
    **_append_only(),
    **{f"{name}, no delay": case for name, case in _windows(0).items()},
    **{f"{name}, delayed": case for name, case in _windows(2 * SECOND).items()},
}


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.parametrize("seed", chosen_seeds(2))
def test_released_bytes_are_the_oracles(name: str, seed: int) -> None:
    one = _CASES[name]
    random = Random(f"{name} {seed}")
    job = logical.Job((one,))
    inputs = {
        source.ordinal: [rows(random, random.randint(0, 14)) for _ in range(random.randint(1, 3))]
        for source in job.tables
    }
    [expected] = evaluate_job(job, inputs).released
    graph = lower(job)
    for _ in range(3):
        workers = random.randint(1, 4)
        policy = random.choice([None, Policy.ORDERED, Policy.SPECULATIVE])
        fronts = {ordinal: len(splits) for ordinal, splits in inputs.items()}
        outcome = run_in_memory(
            choose(
                graph,
                workers=workers,
                policy=policy,
                fronts=fronts,
                repairs_free=random.choice([0, 3, 1000]),
            ),
            inputs,
            seed=random.getrandbits(32),
            batch_rows=random.choice([1, 3, 20]),
            read_ahead=random.choice([1, 5, 1000]),
        )
        released = tuple(
            (tuple(root), line(one.sink, label or "+I", row))
            for root, label, row in outcome.released[0]
        )
        assert released == expected, f"{workers} workers, {policy}"
