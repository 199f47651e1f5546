"""`fsql stats`: Spark is asked for by a flag, and needs Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_master_is_that_of_spark(tmp_path: Path) -> None:
    said = fsql("stats", "--state", tmp_path, "--master", "local[1]")
    assert said.code == 2
    assert "--master requires --spark" in said.err


def test_spark_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsql.console.stats.job_of_state", lambda _: None)
    monkeypatch.setattr("fsql.runtime.drivers.java._candidates", list)
    said = fsql("stats", "--state", tmp_path, "--spark")
    assert (said.code, said.out) == (1, "")
    assert "error[FSQL-E644]: Java 17 or later is needed, and was not found" in said.err
