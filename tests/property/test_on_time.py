"""What is within its table's delay is late nowhere: not for a window, not for a join's time range.

Rows that are later than their table allows are taken out of random cases; the oracle must then drop
nothing.  Catches a delay of an event-time column (`compiler/analysis/delays.py`, `reference/delays.py`) that
is too short.  Does not catch one that is longer than need be, which costs latency and changes bytes: there
the examples of the documentation and the oracle's unit tests have the figures.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import Join, operators
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.cases import case_of
from fsql.tests.reference.oracle import evaluate_job, time_of
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Job, Table
    from fsql.tests.property.inputs import Row, Splits


def on_time(table: Table, split: Sequence[Row]) -> list[Row]:
    """Return the rows of a split that are not later than the table's delay."""
    kept: list[Row] = []
    latest: int | None = None
    for row in split:
        if table.event_time is None or isinstance(row, DeadLetter):
            kept.append(row)
            continue
        time, code = time_of(table.event_time, row)
        if code is None and (latest is None or time >= latest - table.delay_us):
            kept.append(row)
            latest = time if latest is None else max(time, latest)
    return kept


def has_windows_behind_ranges(job: Job) -> bool:
    return any(
        isinstance(node, Join) and node.time_range is not None
        for insert in job.inserts
        for node in operators(insert.query)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_what_is_on_time_is_late_nowhere(kind: str) -> None:
    ranged = 0
    chosen = chosen_seeds(60)
    for seed in chosen:
        try:
            case = case_of(kind, seed)
        except FsqlError:
            continue
        inputs: dict[int, Splits] = {
            table.ordinal: [on_time(table, split) for split in case.inputs[table.ordinal]]
            for table in case.job.tables
        }
        result = evaluate_job(case.job, inputs)
        late = [row for rows in result.late for row in rows]
        assert late == [], f"{case.name}\n{case.with_inputs(inputs)}"
        if has_windows_behind_ranges(case.job):
            ranged += 1
            with mock.patch("fsql.tests.reference.joins.watermark", return_value=-(2**63)):
                patient = evaluate_job(case.job, inputs)
            assert result == patient, f"{case.name}\n{case.with_inputs(inputs)}"
    assert ranged > len(chosen) // 50
