"""What is pointed at when a row fails is something that fails with that code.

Random cases are evaluated by the oracle; where one stops because an expression failed on a row, the part
that is found for it (`compiler/analysis/failing.py`) has to be among those that may fail so.  Where the
job has only operators of one row at a time, one has to be found.  Cannot tell whether of several parts that
fail on one row the one is found that a person names first: the examples in `tests/cli/test_errors.py` do.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.analysis.failing import failing_part, parts_that_may_fail
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import (
    AssignWindows,
    Filter,
    Project,
    Scan,
    Union,
    Unnest,
    operators,
)
from fsql.runtime.batch import PUNCTUATION, origin_parts
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.cases import case_of
from fsql.tests.reference.oracle import evaluate_job
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.logical import Job

ONE_ROW = (AssignWindows, Filter, Project, Scan, Union, Unnest)


def of_one_row(job: Job) -> bool:
    return all(
        isinstance(plan, ONE_ROW) for insert in job.inserts for plan in operators(insert.query)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_the_part_that_is_found_can_fail_so(kind: str) -> None:
    found = 0
    for seed in chosen_seeds(80 if kind == "script" else 180):
        try:
            case = case_of(kind, seed)
        except FsqlError:
            continue
        error = evaluate_job(case.job, case.inputs).error
        if error is None or error[1][1] == PUNCTUATION:
            continue
        code, (time, origin) = error
        ordinal, split, number = origin_parts(origin)
        row = case.inputs[ordinal][split][number]
        table = next(table for table in case.job.tables if table.ordinal == ordinal)
        if isinstance(row, DeadLetter) or code > 505:
            continue
        may_fail = parts_that_may_fail(case.job, code)
        assert may_fail, case
        part = failing_part(case.job, table, row, code, time=time)
        if part is not None:
            found += 1
            assert part.part in may_fail, f"{case}\n{part}"
        assert part is not None or not of_one_row(case.job), case
    assert found >= 3
