"""What commands import: a time says more about the machine, so modules are counted."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LINES = "".join(f'{{"a": {number}, "b": "x"}}\n' for number in range(10))
DECLARED = """\
CREATE TABLE rows (a BIGINT, b STRING) WITH ('connector' = 'file', 'path' = 'rows.jsonl');
SELECT a FROM rows WHERE a > 8;
"""
INFERRED = "SELECT a FROM 'rows.jsonl' WHERE a > 8;\n"
GROUPED = "SELECT b, COUNT(*) AS n FROM 'rows.jsonl' GROUP BY b;\n"


def imported(tmp_path: Path, command: str, script: str) -> set[str]:
    (tmp_path / "rows.jsonl").write_text(LINES)
    (tmp_path / "query.sql").write_text(script)
    program = (
        "import gc, sys, threading\n"
        f"sys.argv[:] = ['fsql', {command!r}, '--quiet', 'query.sql']\n"
        "from fsql.__main__ import main\n"
        "try: main()\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)\n"
        "assert gc.get_freeze_count() > 50_000\n"  # so that the end of the process takes no time
    )
    if command == "check":
        program = program.replace("'--quiet', ", "")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("script", [DECLARED, INFERRED])
def test_a_check_imports_no_runtime(tmp_path: Path, script: str) -> None:
    modules = imported(tmp_path, "check", script)
    commands = {name for name in modules if name.startswith(("fsql.console.", "fsql.benchmarks."))}
    others = {name for name in commands if name.endswith("_commands") or "bench" in name}
    assert others == {"fsql.console.forked_commands"}
    assert modules & {"numpy", "pyarrow", "zmq", "rocksdict", "pyspark", "rich", "lark"} == set()
    runtime = {name for name in modules if name.startswith("fsql.runtime.")}
    assert runtime == {
        "fsql.runtime.compiled_modules",
        "fsql.runtime.hidden_pandas",
        "fsql.runtime.ports",
    }
    assert sum(name.startswith("fsql") for name in modules) <= 500
    assert len(modules) <= 670


def test_a_run_imports_the_kernels_of_its_plan(tmp_path: Path) -> None:
    modules = imported(tmp_path, "run", INFERRED)
    assert modules & {"zmq", "rocksdict", "pyspark", "rich", "lark", "pandas"} == set()
    families = ("join", "ranking", "sessions", "aggregate")
    kernels = tuple(f"fsql.runtime.kernels.{family}" for family in families)
    assert {name for name in modules if name.startswith(kernels)} == set()
    live = {name for name in modules if name.startswith("fsql.connectors.live.")}
    assert live == {"fsql.connectors.live.kinds", "fsql.connectors.live.options"}
    assert sum(name.startswith("fsql") for name in modules) <= 700
    assert len(modules) <= 1000


def test_a_run_of_groups_imports_no_joins(tmp_path: Path) -> None:
    modules = imported(tmp_path, "run", GROUPED)
    assert "fsql.runtime.kernels.aggregate.kernel" in modules
    assert {name for name in modules if name.startswith("fsql.runtime.kernels.join")} == set()
