"""For each code of runs on processes (E62x), a state directory with which `fsql run` reports it."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

SCRIPT = "CREATE TABLE t (a STRING) WITH ('connector' = 'words', 'count' = '1'); SELECT a FROM t;"


@contextmanager
def hold(state: Path) -> Iterator[None]:
    """Be another run that has the directory."""
    state.mkdir()
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def begin_another_job(state: Path) -> Iterator[None]:
    """Let another script begin there."""
    fsql("run", "--quiet", "--state", state, "-e", SCRIPT.replace("'1'", "'2'"))
    yield


@contextmanager
def alter_description(state: Path) -> Iterator[None]:
    """Write something else into the description."""
    state.mkdir()
    (state / "job.json").write_text("{}")
    yield


FAILING_RUN: dict[str, Callable[[Path], AbstractContextManager[None]]] = {
    "E621": hold,
    "E622": begin_another_job,
    "E623": alter_description,
}
