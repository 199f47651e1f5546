"""The profile that Spark makes of input at rest is that of the built-in collector, but for times."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.profile import profile_input
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
