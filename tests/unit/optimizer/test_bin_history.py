"""The rows of bins in each interval, read from recorded files and compared with loops over their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from fsql.compiler.owner_map import BINS
from fsql.compiler.owners import Owners
from fsql.optimizer.collectors.bin_history import INTERVALS, read_bin_history
from fsql.optimizer.replay import PastTick, Replay, outcome, replay
from fsql.tests.unit.optimizer.recorded import record

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.optimizer.collectors.files import Kept

A_ROW = {"aggregate-a": [1e-6] * BINS, "join-b": [2e-6] * (BINS // 2) + [4e-6] * (BINS // 2)}


def naive_rates(state: Path) -> dict[tuple[int, str, int], float]:
    """Return the rate of each bin of each exchange in each interval, by its age."""
    found: dict[tuple[int, str, int], float] = {}
    intervals: dict[int, set[int]] = {}
    rows = [row for path in (state / "statistics" / "bins").iterdir() for row in read(path)]
    for row in rows:
        intervals.setdefault(row["worker"], set()).add(row["interval"])
    for row in rows:
        later = [each for each in intervals[row["worker"]] if each > row["interval"]]
        key = len(later), row["operator"], row["bin"]
        rate = row["rows"] / (row["to"] - row["from"]) * 1e6
        found[key] = found.get(key, 0.0) + rate
    return found


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_rates_and_loads(tmp_path: Path) -> None:
    record(tmp_path, intervals=4)
    history, naive = read_bin_history(tmp_path), naive_rates(tmp_path)
    newest = {
        (name, number): rate for name, of in history.rates(1).items() for number, rate in of.items()
    }
    assert newest == pytest.approx({key[1:]: rate for key, rate in naive.items() if key[0] == 0})
    all_of = sum(sum(of.values()) for of in history.rates().values())
    assert all_of == pytest.approx(sum(naive.values()) / 4)
    costs, owners = history.costs(A_ROW), Owners.of_equal_ranges(3)
    assert costs.intervals == 4
    loads = [[0.0] * 3 for _ in range(4)]
    for (age, name, number), rate in naive.items():
        loads[3 - age][owners.of(name).owners[number]] += rate * A_ROW[name][number]
    assert costs.loads(owners) == [pytest.approx(each) for each in loads]
    assert sum(costs.mean(1, 3)["join-b"].values()) == pytest.approx(
        sum(
            rate * A_ROW[name][number] / 2
            for (age, name, number), rate in naive.items()
            if name == "join-b" and age in {1, 2}
        )
    )


def test_files_are_read_once_and_damaged_ones_are_left_out(tmp_path: Path) -> None:
    kept: Kept = {}
    record(tmp_path, workers=2, intervals=INTERVALS + 3)
    before = read_bin_history(tmp_path, kept).rates()
    for path in (tmp_path / "statistics" / "bins").iterdir():
        path.write_bytes(b"damaged since")
    assert read_bin_history(tmp_path, kept).rates() == before
    damaged = read_bin_history(tmp_path)
    assert damaged.rates() == {}
    assert damaged.costs(A_ROW).loads(Owners.of_equal_ranges(2)) == []


def test_without_a_history_nothing_is_replayed(tmp_path: Path) -> None:
    costs, owners = read_bin_history(tmp_path).costs(A_ROW), Owners.of_equal_ranges(2)
    past = [PastTick(3, Owners.of_equal_ranges(2))]
    nothing = replay(costs, owners, [0.0, 0.0], [["join-b"]], lambda _, __: 0.0)
    assert nothing == Replay() == outcome(costs, owners, [0.0, 0.0], past, lambda _, __: 0.0)
