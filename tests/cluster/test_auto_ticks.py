"""A run that chooses its ticks: one is taken, damaged statistics cost nothing, and output is the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.cluster.test_tick_commands import live, ticks  # noqa: F401 - a fixture
from fsql.tests.cluster.twin import difference, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.cluster.test_tick_commands import LiveTwin

pytestmark = pytest.mark.cluster


def damage(statistics: Path) -> None:
    """Cut the files of the newest interval, and add some that are none."""
    for table in statistics.iterdir():
        newest = max(table.glob("*.parquet"), default=None)
        if newest is not None:
            content = newest.read_bytes()
            newest.write_bytes(content[: len(content) // 2])
            (table / f"{newest.name.partition('-')[0]}-9-9.parquet").write_bytes(b"not Parquet")
            (table / "x.parquet").mkdir()


def test_a_tick_is_taken_without_anybody(
    live: LiveTwin,  # noqa: F811
    tmp_path: Path,
) -> None:
    live.start(2, "--auto", "--tick", "0.5")
    bins = live.state / "statistics" / "bins"
    wait_until(lambda: bins.is_dir() and len(list(bins.iterdir())) > 1, "statistics")
    damage(live.state / "statistics")
    wait_until(lambda: any(each["state"] == "taken" for each in ticks(live)), "a tick")
    taken = next(each for each in reversed(ticks(live)) if each["state"] == "taken")
    assert taken["reason"].startswith("auto: owners: ")  # which, depends on the machine
    shown = fsql("stats", "--state", live.state, "--json")
    assert shown.code == 0
    assert len(json.loads(shown.out)["workers"]) > 0
    wait_until(lambda: "is skipped" in live.errors(), "a warning")
    live.stop_feeding()
    assert live.ended() == 0, live.errors()
    (tmp_path / "right").mkdir()
    assert difference(live.written(), live.right(tmp_path / "right")) == ""
