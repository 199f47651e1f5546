"""The final result of a query is what DuckDB says it is.

The logical plan is translated to DuckDB's SQL (`duckdb_sql`, which also lists what is left out because
DuckDB means it otherwise); input is bounded and without errors.  What the oracle has after all input is
compared with DuckDB's rows as a bag.

Catches an operator, function or rule of lateness that the oracle, and so everything that is compared with
it, reads wrongly.  Cannot catch wrong order or labels, wrong states on the way, or a plan that is wrong
for its text.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.tests.property.by_duckdb import final_results
from fsql.tests.property.cases import case_of
from fsql.tests.property.duckdb_expressions import ExcludedError
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds


def compare(kind: str, seed: int) -> Counter[str]:
    """Compare one case; return how it went, for each INSERT."""
    try:
        case = case_of(kind, seed)
    except FsqlError:
        return Counter(refused=1)
    if by_oracle(case.job, case.inputs).error is not None:
        return Counter(failed=1)
    went: Counter[str] = Counter()
    for insert in range(len(case.job.inserts)):
        try:
            ours, theirs = final_results(case.job, case.inputs, insert)
        except ExcludedError as excluded:
            went[f"excluded: {excluded}"] += 1
            continue
        assert ours == theirs, (
            f"{case.name}, insert {insert}: only by the oracle {ours - theirs}, only by DuckDB "
            f"{theirs - ours}\nshow it with: python -m fsql.tests.property.replay {kind} {seed}"
        )
        went["compared"] += 1
        went["not empty"] += bool(ours)
    return went


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "plan"])
def test_the_final_result_is_duckdbs(kind: str) -> None:
    went: Counter[str] = Counter()
    # Plans draw many operators that DuckDB does not have.
    chosen, compared = (chosen_seeds(40), 0.5) if kind == "script" else (chosen_seeds(100), 0.08)
    for seed in chosen:
        went += compare(kind, seed)
    print(went)  # noqa: T201 - shown by -rP and on failure
    assert went["compared"] > compared * len(chosen)
    assert went["not empty"] > 0.6 * compared * len(chosen)
