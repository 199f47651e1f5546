"""Processes that tests start, and what these have started."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE = """
import os, pathlib, time

def slow(n, marker):
    if n == 12345:  # no value with which functions are tried at the start
        path = pathlib.Path(marker)
        path.with_suffix(".partial").write_text(str(os.getpid()))
        path.with_suffix(".partial").rename(path)
        time.sleep(3600)
    return n
"""
"""A function that is still running when a signal comes: the run would not end before the test is given up."""


def slow_script_in(folder: Path) -> Path:
    """Write a script whose task writes its process into the file `marker`, then runs for an hour."""
    (folder / "functions").mkdir()
    (folder / "functions" / "slowly.py").write_text(MODULE)
    (folder / "temporary").mkdir()
    (folder / "in.jsonl").write_text('{"a": 12345}\n')
    script = folder / "query.sql"
    script.write_text(
        "CREATE FUNCTION slow(n BIGINT, marker STRING) RETURNS BIGINT"
        " LANGUAGE PYTHON AS 'slowly:slow';"
        "CREATE TABLE t (a BIGINT) WITH ('connector' = 'file', 'path' = 'in.jsonl');"
        "CREATE TABLE s (a BIGINT) WITH ('connector' = 'file', 'path' = 'out.jsonl');"
        f"INSERT INTO s SELECT a FROM t WHERE slow(a, '{folder / 'marker'}') = 1;"
    )
    return script


def wait_until(reached: Callable[[], object]) -> None:
    while not reached():
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def started_by(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that these have started."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found |= {child} | started_by(child)
    return found
