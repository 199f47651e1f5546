"""`fsql bench spark`: scripts of fsql on Spark, plain Spark and DuckDB return the same rows."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from click.testing import CliRunner

from fsql.benchmarks import batch_engines
from fsql.benchmarks.process_times import CommandTimes, run_command
from fsql.cli import main
from fsql.runtime.drivers.spark import session as sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from pyspark.sql import SparkSession


def run_here(command: Sequence[str]) -> CommandTimes:
    """Run a command of the benchmark in this process."""
    place = command.index("-m") + 2
    if command[place - 1] == "fsql":
        result = CliRunner().invoke(main, list(command[place:]))
        assert (result.exit_code, result.stderr) == (0, "")
    else:
        batch_engines.main(*command[place:])
    return CommandTimes(1.0, 2.0)


def test_all_engines_return_the_same_rows(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "spark_session", lambda *_: nullcontext(session))
    monkeypatch.setattr(batch_engines, "run_command", run_here)
    result = CliRunner().invoke(main, ["bench", "spark", "--rows", "3000", "--json"])
    session.conf.unset("spark.sql.session.timeZone")
    assert (result.exit_code, result.stderr) == (0, "")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    names = ["start", "groups", "join", "ranks", "windows"]
    assert [(each["query"], each["engine"]) for each in found] == [
        (name, engine) for name in names for engine in ("fsql", "spark", "duckdb", "medians")
    ]
    assert [each["rows_equal"] for each in found if "rows_equal" in each] == [True] * 15
    assert found[-1]["processor_seconds_fsql_by_duckdb"] == 1.0


def test_an_unknown_query_is_refused() -> None:
    result = CliRunner().invoke(main, ["bench", "spark", "--queries", "groups,sums"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        'Error: there is no query "sums"; there are groups, join, ranks, windows'
    )


def test_the_processor_time_of_a_command_includes_its_children() -> None:
    use = "import time\nwhile time.process_time() < 0.3: pass"
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    assert run_command([sys.executable, "-c", start, use]).processor_seconds >= 0.3
