"""`fsql stats profile`, and runs that start with the plan that suits a profile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.job.description import prepare_job
from fsql.job.state_directory import read_description
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE o (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)
WITH ('connector' = 'file', 'path' = 'o.jsonl');
INSERT INTO o SELECT k, SUM(n) AS v FROM t GROUP BY k;
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    rows = [{"k": "abcdefgh"[min(n % 41, 7)], "n": n} for n in range(4000)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "s.sql"
    path.write_text(SCRIPT)
    return path


def test_a_profile_is_printed(script: Path) -> None:
    said = fsql("stats", "profile", script)
    assert (said.code, said.err) == (0, "")
    assert "t      0      4,000  86,890\n" in said.out
    assert "0     h    82.9%" in said.out
    shown = fsql("stats", "profile", script, "--json").out
    assert shown.startswith('{"profile":1,"crc":')


@pytest.mark.slow
def test_a_run_starts_with_the_plan_that_suits_the_profile(script: Path, tmp_path: Path) -> None:
    profile, state, output = tmp_path / "profile", tmp_path / "state", tmp_path / "o.jsonl"
    assert fsql("run", script, "--quiet").code == 0
    expected = output.read_bytes()
    assert fsql("stats", "profile", script, "-o", profile, "--quiet").code == 0
    explained = fsql("explain", script, "--stage", "tick", "-w", "2", "--profile", profile).out
    assert " bins move; the busiest worker gets " in explained
    flags = ("--overwrite", "-w", "2", "--state", state, "--quiet")
    assert fsql("run", script, *flags, "--profile", profile).code == 0
    assert output.read_bytes() == expected
    profile.unlink()
    description = read_description(state)
    assert description is not None
    assert description.first is not None
    assert prepare_job(description).plan.assignment.owners.ranges == description.first.owners


@pytest.mark.slow
def test_a_damaged_profile_costs_the_better_plan_only(script: Path, tmp_path: Path) -> None:
    profile, state, output = tmp_path / "profile", tmp_path / "state", tmp_path / "o.jsonl"
    profile.write_text("{}\n[]\n")
    problem = f'profile "{profile}" is ignored: '
    alone = fsql("run", script, "--profile", profile)
    assert alone.code == 0
    assert f"warning: {problem}" in alone.err
    expected = output.read_bytes()
    flags = ("--overwrite", "-w", "2", "--state", state, "--profile", profile)
    said = fsql("run", script, *flags)
    assert said.code == 0
    assert problem in said.err
    assert output.read_bytes() == expected


def test_what_cannot_be_profiled(script: Path, tmp_path: Path) -> None:
    said = fsql("stats", "profile", script, "-o", script)
    assert said.code == 1
    assert "error[FSQL-E532]" in said.err
    said = fsql("stats", "profile", script, "-o", tmp_path / "no" / "profile")
    assert said.code == 1
    assert "cannot be written: No such file or directory" in said.err
    said = fsql("run", script, "--engine", "model", "--profile", tmp_path / "profile")
    assert said.code == 2
    assert "--profile cannot be used with --engine model" in said.err
    said = fsql("stats", "profile", script, "--table", "t=history")
    assert said.code == 2
    assert "--table requires --spark" in said.err
    said = fsql("stats", "profile", script, "--spark", "--table", "x=history")
    assert said.code == 2
    assert '--table: the script reads no table "x"' in said.err
    script.write_text("SELECT * FROM nowhere;")
    assert "error[FSQL-E2" in fsql("stats", "profile", script).err
