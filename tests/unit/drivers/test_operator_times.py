"""What each operator was given and how long it took."""

from __future__ import annotations

import pytest

from fsql.console.panel import operator_labels
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions
from fsql.job.run import open_run
from fsql.job.script_file import script_of_text
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.metrics import OperatorMetrics, slowest
from fsql.runtime.drivers.operator_times import OperatorTimes

SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'count' = '1000');
CREATE TABLE nowhere (n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO nowhere SELECT COUNT(*) OVER (ROWS UNBOUNDED PRECEDING) FROM lines WHERE line <> '';
"""


def test_rows_are_those_that_operators_are_given() -> None:
    result = compile_job(script_of_text(SCRIPT, {}))
    with open_run(result, open_splits(result), RunOptions()) as run:
        metrics = run.run(lambda _: None)
    labels = operator_labels(metrics.operators)
    rows = {labels[name]: one.rows for name, one in metrics.operators.items() if one.rows}
    assert rows == {"Scan lines": 1000, "Filter": 1000, "Project": 1000, "over": 1000}
    assert {"read", "write", "barrier"} <= set(metrics.operators)


def test_the_slowest_come_first() -> None:
    operators = {name: OperatorMetrics(t) for name, t in (("a", 1.0), ("b", 3.0), ("c", 2.0))}
    assert [name for name, _ in slowest(operators)] == ["b", "c", "a"]


def test_what_fails_is_measured_as_well() -> None:
    metrics = OperatorTimes()

    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        metrics("broken", fail)()
    measured = metrics.operators["broken"]
    assert measured.seconds > 0
    assert measured.busy > 0
