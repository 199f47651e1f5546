"""Collectors over recorded statistics: rates and costs, damaged files, and old files that go."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsql.compiler.owner_map import BINS
from fsql.optimizer.collectors.built_in import collect
from fsql.optimizer.collectors.results import HALF_LIFE, Sums, cost_of
from fsql.optimizer.statistics import Statistics
from fsql.runtime.drivers.statistics_files import KEPT, StatisticsFiles
from fsql.runtime.state.local_directory import LocalDirectory
from fsql.tests.unit.optimizer.recorded import EVERY, NS_A_CALL, NS_A_ROW, STARTED, drawn, record

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.optimizer.collectors.files import Kept


def naive_rates(state: Path) -> dict[tuple[str, int, int], float]:
    """Return the rate of each bin, by loops over rows."""
    seconds: dict[int, float] = {}
    rates: dict[tuple[str, int, int], float] = {}
    spans = pa.concat_tables(pq.read_table(path) for path in sorted(state.glob("*/folds/*")))
    newest = max(spans.column("interval").to_pylist())

    def weight(row: dict[str, int]) -> float:
        return float(0.5 ** ((newest - row["interval"]) / HALF_LIFE))

    for row in spans.to_pylist():
        worker, lasted = row["worker"], (row["to"] - row["from"]) / 1e6
        seconds[worker] = seconds.get(worker, 0.0) + weight(row) * lasted
    for path in sorted(state.glob("*/bins/*")):
        for row in pq.read_table(path).to_pylist():
            key = row["operator"], row["side"], row["bin"]
            rate = weight(row) * row["rows"] / seconds[row["worker"]]
            rates[key] = rates.get(key, 0.0) + rate
    return rates


def test_rates_and_costs(tmp_path: Path) -> None:
    record(tmp_path)
    found = collect(tmp_path)
    assert found.problems == ()
    rates = naive_rates(tmp_path)
    assert {each[:3]: each.rows_per_second for each in found.loads} == pytest.approx(rates)
    costs = {each.operator: each for each in found.costs}
    fold = costs["aggregate-a"]
    assert fold.seconds_per_row == pytest.approx(NS_A_ROW / 1e9)
    assert fold.seconds_per_call == pytest.approx(NS_A_CALL / 1e9)
    assert fold.selectivity == pytest.approx(2.0)
    assert costs["read"].seconds_per_row == pytest.approx(1e-7)
    assert costs["read"].seconds_per_call is None
    assert [each.key for each in found.heavy if each.hash == 4_000_000_000] == ["hot, é"]
    assert sum(each.skew or 0.0 for each in found.fronts) == pytest.approx(3.0)
    assert {each.policy for each in found.folds} == {"speculative"}
    assert len(found.workers) == 3 * 5 - 1


def test_pairs_of_conditions_and_latency(tmp_path: Path) -> None:
    record(tmp_path)
    found = collect(tmp_path)
    [pair] = found.pairs
    assert (pair.filter, pair.first, pair.second) == ("filter-c", 0, 1)
    assert pair.selectivity == pytest.approx(0.25)
    assert 200 / 500 <= pair.given_first <= 202 / 500
    [latency] = found.latency
    assert latency.table == "lines"
    ends = [2 ** ((bucket + 1) / 4) / 1e6 for bucket in range(40, 44)]
    assert latency.median in ends[1:3]
    assert latency.p99 == ends[3]
    assert latency.chunks_per_second > 0
    assert [each.state_bytes for each in found.folds] == [3 * 9000]


def test_links_rewinds_and_blocked_time(tmp_path: Path) -> None:
    """A split is blocked for half a second of each interval, of which all have some 10 seconds."""
    record(tmp_path, workers=1, intervals=3)
    found = collect(tmp_path)
    [front] = found.fronts
    [fold] = found.folds
    assert 0.5 / 10.5 <= front.blocked <= 0.5 / 9.5
    assert 2 / 10.5 <= fold.rewinds_per_second <= 2 / 9.5
    assert fold.rewinds_per_second == pytest.approx(4 * front.blocked)
    assert fold.wait_seconds == pytest.approx(0.5)
    assert fold.changed_keys == 70
    coordinator, other = found.links
    assert (coordinator.worker, coordinator.peer) == (0, -1)
    assert coordinator.resent == pytest.approx(0.01)
    assert coordinator.busy == pytest.approx(5e-5 * coordinator.frames_per_second)
    assert coordinator.bytes_per_second == pytest.approx(200 * coordinator.frames_per_second)
    assert (other.peer, other.resent) == (1, 0.0)
    assert other.bytes_per_second == pytest.approx(90 * other.frames_per_second)
    assert other.busy == pytest.approx(50e-9 * other.frames_per_second)


def test_the_order_of_rows_by_interval(tmp_path: Path) -> None:
    """What workers have counted in an interval is added, and the intervals are kept apart."""
    record(tmp_path, workers=2, intervals=3)
    found = collect(tmp_path)
    assert len(found.disorder) == 3
    rates: dict[int, dict[str, float]] = {}
    for path in sorted((tmp_path / "statistics" / "folds").iterdir()):
        for row in pq.read_table(path).to_pylist():
            of_interval = rates.setdefault(row["interval"], {})
            for name in ("applied", "redone", "held", "batches", "disordered", "advances"):
                seconds = (row["to"] - row["from"]) / 1e6
                of_interval[name] = of_interval.get(name, 0.0) + row[name] / seconds
    for each in found.disorder:
        assert (each.operator, each.policy) == ("aggregate-a", "speculative")
        known = {name: getattr(each, name) for name in rates[each.interval]}
        assert known == pytest.approx(rates[each.interval])
        assert each.waiting == pytest.approx(each.held / 2)
        assert each.would_redo == pytest.approx(each.applied / 50, rel=0.1)


def test_bytes_and_negative_rows_of_bins(tmp_path: Path) -> None:
    """Rows of the aggregate have 21 bytes, and a third of those of a bin, rounded down, is negative."""
    record(tmp_path, workers=1, intervals=1)
    for each in collect(tmp_path).loads:
        size, negative = (21, 1 / 3) if each.operator == "aggregate-a" else (40, 0.0)
        assert each.bytes_per_second == pytest.approx(size * each.rows_per_second)
        assert each.negative is not None
        assert negative - 0.7 / each.rows_per_second / 9.5 <= each.negative <= negative


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    assert collect(tmp_path) == Statistics()


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "other columns", "other version", "text", "no such bin"]
)
def test_a_damaged_file_is_left_out(tmp_path: Path, damage: str) -> None:
    record(tmp_path)
    path = sorted((tmp_path / "statistics" / "bins").iterdir())[2]
    table, content = pq.read_table(path), path.read_bytes()
    versions = pa.array([99] * len(table), pa.int32())
    match damage:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "text":
            path.write_text("not a file of statistics, but text that is long enough")
        case "other columns":
            pq.write_table(table.drop_columns(["rows"]), path)
        case "no such bin":
            numbers = pa.array([BINS] * len(table), pa.int32())
            index = table.schema.get_field_index("bin")
            pq.write_table(table.set_column(index, "bin", numbers), path)
        case _:
            pq.write_table(table.set_column(0, "schema", versions), path)
    found = collect(tmp_path)
    [problem] = found.problems
    assert problem.startswith(f'"{path}" is skipped: ')
    assert len(found.loads) > 0
    assert len(found.workers) == 3 * 5 - 1


def test_a_changed_bit_is_no_statistics(tmp_path: Path) -> None:
    record(tmp_path, workers=1, intervals=2)
    before, random = collect(tmp_path), Random(9)
    for path in sorted((tmp_path / "statistics").glob("*/*"))[::2]:
        content = path.read_bytes()
        for position in random.sample(range(len(content)), 5):
            changed = bytearray(content)
            changed[position] ^= 1 << random.randrange(8)
            path.write_bytes(changed)
            found = collect(tmp_path)
            assert found == before or len(found.problems) == 1, (path, position)
        path.write_bytes(content)


def test_who_collects_again_reads_new_files_only(tmp_path: Path) -> None:
    kept: Kept = {}
    record(tmp_path, intervals=12)
    before = collect(tmp_path, kept)
    assert before == collect(tmp_path)
    known = dict(kept)
    for path in known:
        path.write_bytes(b"damaged since")
    assert collect(tmp_path, kept) == before
    assert kept == known
    files = StatisticsFiles(LocalDirectory(tmp_path), EVERY, lambda: STARTED + 12 * EVERY)
    files.write(drawn(Random(1), 0), files.now())
    collect(tmp_path, kept)
    added = {path.name for path in kept if path not in known}
    removed = {path.name for path in known if path not in kept}
    first, last = int(STARTED / EVERY), int(STARTED / EVERY) + 12
    assert added == {f"{last:012}-1-0.parquet"}
    assert removed == {f"{first:012}-1-{worker}.parquet" for worker in range(3)}


def test_statistics_written_late_are_of_the_interval_in_which_they_were_taken(
    tmp_path: Path,
) -> None:
    late = StatisticsFiles(LocalDirectory(tmp_path), EVERY, lambda: STARTED + 5 * EVERY)
    for interval in range(3):
        late.write(drawn(Random(interval), 0), STARTED + interval * EVERY)
    first = int(STARTED / EVERY)
    assert sorted(path.name for path in (tmp_path / "statistics" / "bins").iterdir()) == [
        f"{first + interval:012}-1-0.parquet" for interval in range(3)
    ]


def test_a_worker_that_has_left_does_not_count(tmp_path: Path) -> None:
    record(tmp_path, workers=2)
    for interval in range(5, 9):
        now = STARTED + interval * EVERY
        files = StatisticsFiles(LocalDirectory(tmp_path), EVERY, lambda now=now: now)  # type: ignore[misc]
        files.write(drawn(Random(interval), 0), files.now())
    assert {each.worker for each in collect(tmp_path).workers} == {0}


def test_old_files_are_removed(tmp_path: Path) -> None:
    for interval in range(KEPT + 20):
        now = STARTED + interval * EVERY
        files = StatisticsFiles(LocalDirectory(tmp_path), EVERY, lambda now=now: now)  # type: ignore[misc]
        files.write(drawn(Random(interval), interval % 2), files.now())
    for directory in (tmp_path / "statistics").iterdir():
        assert len(list(directory.iterdir())) == KEPT + 1


@pytest.mark.parametrize(
    ("sums", "cost"),
    [
        (Sums(0, 0, 0, 0, 0), (None, None)),
        (Sums(0, 0, 4, 0, 8), (None, 2.0)),
        (Sums(4, 4, 4, 8, 8), (2.0, None)),
        (Sums(5, 4, 5, 14, 13), (2.0, 1.0)),
        (Sums(5, 4, 5, 5, 3), (1.0, 0.0)),
        (Sums(5, 4, 5, 3, 5), (0.0, 1.0)),
    ],
)
def test_cost_of_rows_and_calls(sums: Sums, cost: tuple[float | None, float | None]) -> None:
    assert cost_of(sums) == cost
