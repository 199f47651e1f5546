"""A front lingers between two chunks, while workers join, leave and are killed."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.test_rebalancing import script
from fsql.tests.cluster.test_tick_commands import take
from fsql.tests.cluster.twin import end_later, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.twin import Twin

pytestmark = pytest.mark.cluster

LINGER_MS: Final = 500
"""In this time 25 rows of a run come."""


def plan_with(twin: Twin, path: Path, linger_ms: int) -> Path:
    """Write the choices of a run with a linger for its table."""
    said = fsql("tick", "plan", "--state", twin.state)
    assert said.code == 0, said.err
    plan: dict[str, Any] = json.loads(said.out)
    plan["lingers"] = [{"table": "lines", "milliseconds": linger_ms}]
    path.write_text(json.dumps(plan))
    return path


def reads(twin: Twin) -> list[dict[str, Any]]:
    """Return what workers have read in each interval of which there are statistics."""
    found = []
    for path in sorted((twin.state / "statistics" / "operators").glob("[0-9]*.parquet")):
        with suppress(FileNotFoundError):  # files of old intervals are removed
            rows = pq.read_table(path).to_pylist()
            found += [row for row in rows if row["operator"] == "read" and row["calls"]]
    return found


def newest_epoch(twin: Twin) -> int:
    return max((row["epoch"] for row in reads(twin)), default=0)


def lingers(twin: Twin, after_epoch: int = 0) -> bool:
    """Return whether chunks of an epoch after the given one have had many rows."""
    return any(
        row["rows_in"] >= 15 * row["calls"] for row in reads(twin) if row["epoch"] > after_epoch
    )


def test_a_front_lingers_until_a_tick_ends_it(twin: Twin, tmp_path: Path) -> None:
    twin.start(2, "--no-contract", "--tick", "0.5")
    wait_until(lambda: bool(reads(twin)), "statistics")
    path = tmp_path / "plan.json"
    changes = take(twin, "--plan", plan_with(twin, path, LINGER_MS))["changes"]
    assert changes == [f"linger of lines: {LINGER_MS} ms, was: none"]
    wait_until(lambda: lingers(twin), "large chunks")
    before = newest_epoch(twin)
    os.kill(twin.worker_with_store(), signal.SIGKILL)
    wait_until(lambda: lingers(twin, before), "large chunks after a worker was killed")
    before = newest_epoch(twin)
    [coordinator] = twin.pids("coordinator")
    os.kill(coordinator, signal.SIGKILL)
    wait_until(lambda: lingers(twin, before), "large chunks after the coordinator was killed")
    take(twin, "--workers", "3")
    take(twin, "--plan", plan_with(twin, path, 0), "--workers", "1")
    said = fsql("tick", "plan", "--state", twin.state)
    assert json.loads(said.out)["lingers"] == [{"table": "lines", "milliseconds": 0}]
    assert end_later(twin, tmp_path / "right", script) == ""
