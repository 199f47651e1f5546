"""The profile that Spark makes of input at rest is that of the built-in collector, but for times."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.profile import profile_input
from fsql.optimizer.collectors.profile_file import read_profile
from fsql.optimizer.collectors.profile_rows import collect_here
from fsql.optimizer.collectors.profile_spark import collect_counts
from fsql.tests.cli.commands import fsql
from fsql.tests.unit.optimizer.test_profile import windows_over, write_input

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fsql.optimizer.profile import Profile


def without_times(profile: Profile) -> Profile:
    """Return a profile without what depends on the machine."""
    return profile._replace(
        operators=tuple(each._replace(busy_seconds=0.0) for each in profile.operators),
        splits=tuple(each._replace(busy_seconds=0.0) for each in profile.splits),
    )


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_the_tables_are_equal(form: str, session: SparkSession, tmp_path: Path) -> None:
    write_input(tmp_path / "in", form)
    compiled = windows_over(tmp_path / "in", form)
    found = profile_input(compiled, partial(collect_counts, session))
    assert without_times(found) == without_times(profile_input(compiled))
    assert all(found)
    assert all(each.busy_seconds > 0 for each in found.splits)


def test_an_error_of_a_task_is_that_of_a_run(session: SparkSession, tmp_path: Path) -> None:
    write_input(tmp_path / "in", "parquet")
    path = tmp_path / "in" / "1.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    compiled = windows_over(tmp_path / "in", "parquet")
    said = []
    for collect in (collect_here, partial(collect_counts, session)):
        with pytest.raises(FsqlError) as raised:
            profile_input(compiled, collect)
        said.append([(each.code, each.message) for each in raised.value.diagnostics])
    assert said[0] == said[1]


def test_the_command_writes_a_profile_that_a_plan_is_made_from(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fsql.runtime.drivers.spark.session.spark_session", lambda *_: nullcontext(session)
    )
    write_input(tmp_path / "in", "json")
    script = tmp_path / "s.sql"
    script.write_text(windows_over(tmp_path / "in").script.source.text)
    said = fsql("stats", "profile", script, "--spark", "-o", tmp_path / "profile")
    assert (said.code, said.out) == (0, "")
    assert f"profile of {script} in {tmp_path}/profile: 8,000 rows of 2 splits\n" in said.err
    shown = fsql("explain", script, "--stage", "tick", "-w", "3", "--profile", tmp_path / "profile")
    assert "pre-aggregated from 256 rows on; key 'hot, " in shown.out


def live_windows() -> str:
    """Return a script like that of `windows_over`, which reads standard input."""
    return """
CREATE TABLE t (k STRING, n BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH ('connector' = 'stdin');
CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO o SELECT k, COUNT(*) AS v FROM TUMBLE(t, at, INTERVAL '1' DAY)
GROUP BY k, window_start, window_end;
"""


def test_tables_of_the_catalog_replace_those_of_the_script(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of files, of a table and of a view of the catalog give the counts that the files have."""
    monkeypatch.setattr(
        "fsql.runtime.drivers.spark.session.spark_session", lambda *_: nullcontext(session)
    )
    folder = tmp_path / "in"
    write_input(folder, "parquet")
    session.sql(f"CREATE TABLE history USING parquet LOCATION 'file://{folder}'")
    session.sql("CREATE TEMPORARY VIEW old AS SELECT at, k, CAST(n AS INT) AS n FROM history")
    script = tmp_path / "s.sql"
    script.write_text(live_windows())
    assert "no input at rest" in fsql("stats", "profile", script).out
    expected = profile_input(windows_over(folder, "parquet"))
    try:
        for name in (f"parquet.`file://{folder}`", "history", "old"):
            path = tmp_path / "profile"
            flags = ("--spark", "--table", f"t={name}", "-o", path)
            said = fsql("stats", "profile", script, *flags)
            assert said.err == f"profile of {script} in {path}: 8,000 rows of 1 split\n"
            found = read_profile(path)
            assert (found.bins, found.sides) == (expected.bins, expected.sides)
            hot = max(found.heavy, key=lambda each: each.rows)
            assert hot.key == max(expected.heavy, key=lambda each: each.rows).key
        session.sql("CREATE OR REPLACE TEMPORARY VIEW old AS SELECT k, n FROM history")
        said = fsql("stats", "profile", script, "--spark", "--table", "t=old")
        assert said.err == (
            'error[FSQL-E531]: table "old" of Spark has no column "at", which table "t" has\n'
            "  = help: create a view in Spark with the columns of the script's table\n"
        )
        session.sql("CREATE OR REPLACE TEMPORARY VIEW old AS SELECT k, k AS n, at FROM history")
        said = fsql("stats", "profile", script, "--spark", "--table", "t=old")
        assert 'error[FSQL-E542]: column "n" of table "t" does not fit BIGINT: ' in said.err
    finally:
        session.sql("DROP VIEW old")
        session.sql("DROP TABLE history")
