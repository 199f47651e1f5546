"""Every stateful operator has a room of its own, with its kernel and snapshots, and a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from fsql.compiler import graph
from fsql.compiler.tick_plan import FoldHead
from fsql.runtime import kernels
from fsql.runtime.dataflow.fold_kernels import make_fold
from fsql.runtime.model.combine import COMBINE_FUNCTIONS
from fsql.tests.unit.optimizer.jobs import plan_of

SHARED: Final = {"accumulators", "expressions", "keyed", "maps"}
"""Folders of what several operators are made of; `maps` are the operators without state."""
TABLE: Final = """\
CREATE TABLE t (k STRING, a BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
WITH ('connector' = 'file', 'path' = 't.jsonl');
"""
CHANGES: Final = """\
CREATE TABLE c (k STRING, a BIGINT, PRIMARY KEY (k) NOT ENFORCED)
WITH ('connector' = 'file', 'path' = 'c.jsonl', 'format' = 'debezium-json');
"""
QUERIES: Final[dict[str, tuple[type[graph.Combine], str]]] = {
    "aggregate": (graph.CombineAggregate, TABLE + "SELECT k, COUNT(*) AS n FROM t GROUP BY k;"),
    "changes": (
        graph.CombineChanges,
        CHANGES + "SELECT k, a FROM c;",
    ),
    "changelog": (
        graph.CombineChangelog,
        TABLE + "SELECT * FROM TO_CHANGELOG(TABLE (SELECT k, COUNT(*) AS n FROM t GROUP BY k));",
    ),
    "over": (
        graph.CombineOver,
        TABLE + "SELECT k, SUM(a) OVER (PARTITION BY k ORDER BY at) AS s FROM t;",
    ),
    "sessions": (
        graph.CombineSessions,
        TABLE + "SELECT k, window_end, COUNT(*) AS n FROM TABLE(SESSION(TABLE t PARTITION BY k, "
        "DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;",
    ),
    "slices": (
        graph.CombineSlices,
        TABLE + "SELECT k, window_end, COUNT(*) AS n FROM HOP(t, at, INTERVAL '1' MINUTE, "
        "INTERVAL '2' MINUTE) GROUP BY k, window_start, window_end;",
    ),
    "ranking": (graph.CombineRank, TABLE + "SELECT k, a FROM t ORDER BY a LIMIT 3;"),
    "join": (graph.CombineJoin, TABLE + "SELECT x.a FROM t x JOIN t y ON x.k = y.k;"),
}
"""For each folder its operator, and a query that has it."""


def folders() -> set[str]:
    root = Path(kernels.__file__).parent
    return {path.parent.name for path in root.glob("*/__init__.py")} - SHARED


def test_each_folder_is_one_operator() -> None:
    assert folders() == set(QUERIES)
    assert {operator for operator, _ in QUERIES.values()} == set(graph.Combine.__subclasses__())


def test_each_operator_has_a_model() -> None:
    assert set(COMBINE_FUNCTIONS) == set(graph.Combine.__subclasses__())


@pytest.mark.parametrize("folder", QUERIES)
def test_the_kernel_and_its_snapshots_are_at_home(folder: str) -> None:
    operator, script = QUERIES[folder]
    heads = [stage.head for stage in plan_of(script).stages]
    found = [
        head for head in heads if isinstance(head, FoldHead) and type(head.combine) is operator
    ]
    kernel: Any = make_fold(found[0])._kernel
    home = f"fsql.runtime.kernels.{folder}."
    assert type(kernel).__module__.startswith(home)
    snapshots = type(kernel.snapshots).__module__
    assert snapshots.startswith((home, "fsql.runtime.kernels.keyed."))


def test_forks_have_all_kernels() -> None:
    program = (
        "import sys; from fsql.runtime.dataflow.fold_kernels import import_kernels; import_kernels();"
        "print(*{name.split('.')[3] for name in sys.modules if name.startswith('fsql.runtime.kernels.')})"
    )
    imported = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(imported.stdout.split()) >= set(QUERIES)
