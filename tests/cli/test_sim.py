"""`fsql sim`: seeds run, a run is replayed from its file, and what is wrong with the command line is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_garbage")


def test_seeds_of_our_queries() -> None:
    code, out, err = fsql("sim", "run", "--seeds", "0..2", "--seconds", "5", "--json", "--quiet")
    assert (code, err) == (0, "")
    series = json.loads(out)
    assert (series["seeds"], series["divergences"], series["not_repeatable"]) == (2, [], [])


def test_a_script_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"k": "a"}\n{"k": "b"}\n{"k": "a"}\n')
    (tmp_path / "count.sql").write_text(
        "CREATE TABLE t (k STRING) WITH ('connector' = 'file', 'path' = 'in.jsonl');\n"
        "CREATE TABLE r (k STRING, n BIGINT) WITH"
        " ('connector' = 'file', 'path' = 'out.jsonl', 'changes' = 'retract');\n"
        "INSERT INTO r SELECT k, COUNT(*) FROM t GROUP BY k;\n"
    )
    code, out, _ = fsql("sim", "run", str(tmp_path / "count.sql"), "--seeds", "7", "--seconds", "5")
    assert (code, out.splitlines()[-1]) == (0, "0 divergences")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_script_with_parameters(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"k": "a"}\n{"k": "b"}\n')
    (tmp_path / "copy.sql").write_text(
        "CREATE TABLE t (k STRING) WITH ('connector' = 'file', 'path' = '${input}');\n"
        "CREATE TABLE r (k STRING) WITH ('connector' = 'blackhole');\n"
        "INSERT INTO r SELECT k FROM t;\n"
    )
    arguments = ("sim", "run", str(tmp_path / "copy.sql"), "--seeds", "7", "--seconds", "5")
    code, out, _ = fsql(*arguments, "-D", "input=in.jsonl")
    assert (code, out.splitlines()[-1]) == (0, "0 divergences")
    assert fsql(*arguments).code == 1


def test_parameters_without_a_script() -> None:
    code, _, err = fsql("sim", "run", "-D", "a=b")
    assert (code, err.splitlines()[-1]) == (
        2,
        "Error: -D requires a script",
    )


def test_a_soak_that_has_not_met_everything_fails() -> None:
    arguments = ("sim", "run", "--seeds", "0", "--seconds", "5", "--once", "--soak")
    code, out, _ = fsql(*arguments)
    lines = out.splitlines()
    assert (code, lines[-1]) == (70, "0 divergences")
    assert "never occurred: situation: older manifest used" in lines
    assert "never occurred: situation: rejects under way" not in lines


def test_a_replay_from_a_file_is_the_same_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    arguments = ("sim", "replay", "--seed", "3", "--seconds", "5", "--trace", str(trace))
    first = fsql(*arguments)
    assert first.code == 0
    assert trace.exists()
    assert fsql(*arguments) == first


def test_seeds_that_are_none() -> None:
    code, out, err = fsql("sim", "run", "--seeds", "5..5")
    assert (code, out) == (2, "")
    assert err.endswith("Invalid value for '--seeds': there is no seed in \"5..5\"\n")
