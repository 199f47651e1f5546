"""Queries that mix frames, LAG, subqueries, LATERAL and row patterns release the same on every way.

Each of these has tests of its own, over tables.  Here they read views of each other, joins, windows and
groups, and rows that are taken back.  Catches a decomposition that takes something of its input for granted.
That the text means what DuckDB says, `test_duckdb_text` compares for scripts of the same kind, without row
patterns.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.mixed_scripts import FEATURES
from fsql.tests.seeds import seed_ranges


@pytest.mark.parametrize("seeds", seed_ranges(32), ids=str)
def test_all_ways_release_the_same(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        try:
            case = case_of("mixed", seed)
        except FsqlError:
            met["refused"] += 1
            continue
        met.update(check(case, schedules=1))
        met.update(name for name, text in FEATURES.items() if text in case.text)
    print({name: met[name] for name in sorted(met)})  # noqa: T201 - shown by -rP and on failure
    assert [name for name in (*FEATURES, "updates", "late rows") if not met[name]] == []
    assert met["refused"] * 10 <= len(seeds)
    assert met["something released"] * 2 > len(seeds)
    assert met["runs that repair or hold"] * 3 > met["runs"]
