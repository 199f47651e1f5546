"""`fsql bench` measures something, and says so; how much is for another day."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from fsql.benchmarks import growth
from fsql.benchmarks.measure import Measured
from fsql.benchmarks.report import fields_text, measured_text
from fsql.benchmarks.snapshot_times import SnapshotTimes
from fsql.console.sim_queries import SIM_QUERIES
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("forked_runs")

_FIELDS = [
    "benchmark",
    "workers",
    "rate",
    "rows_in",
    "rows_out",
    "seconds",
    "words_per_second",
    "latency_ms_p50",
    "latency_ms_p75",
    "latency_ms_p95",
    "latency_ms_p99",
    "peak_bytes",
    "ratio",
    "operator_seconds",
]
_NEXMARK_FIELDS = [
    "benchmark",
    "events",
    "rows_in",
    "rows_out",
    "seconds",
    "processor_seconds",
    "peak_bytes",
    "operator_seconds",
    "events_per_second",
    "events_per_processor_second",
    "ratio",
]


@pytest.mark.parametrize("benchmark", ["inverted-index", "word-count"])
def test_throughput(benchmark: str) -> None:
    code, out, err = fsql("bench", benchmark, "--rows", "50", "--json")
    assert (code, err) == (0, "")
    measured = json.loads(out)
    assert list(measured) == _FIELDS
    assert measured["benchmark"] == benchmark.replace("-", "_")
    assert measured["rows_in"] == 50
    assert measured["rows_out"] > 50
    assert measured["ratio"] > 0
    assert measured["latency_ms_p50"] is None


@pytest.mark.parametrize("benchmark", ["inverted-index", "word-count"])
def test_latency(benchmark: str) -> None:
    code, out, err = fsql("bench", benchmark, "--rate", "100", "--seconds", "0.3", "--json")
    assert (code, err) == (0, "")
    measured = json.loads(out)
    assert list(measured) == _FIELDS
    assert measured["rows_in"] == 30
    assert 0 < measured["latency_ms_p50"] <= measured["latency_ms_p99"]


def test_nexmark() -> None:
    code, out, err = fsql("bench", "nexmark", "--queries", "q2,q8", "--events", "5000", "--json")
    assert (code, err) == (0, "")
    measured = [json.loads(line) for line in out.splitlines()]
    assert [list(each) for each in measured] == [_NEXMARK_FIELDS] * 2
    assert [(each["benchmark"], each["rows_in"], each["rows_out"]) for each in measured] == [
        ("nexmark q2", 4600, 20),
        ("nexmark q8", 400, 42),
    ]
    assert min(each["ratio"] for each in measured) > 0


def test_nexmark_names_the_queries_that_run() -> None:
    code, out, err = fsql("bench", "nexmark", "--queries", "q2,q24")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        'Error: there is no query "q24"; those that run are q0, q1, q2, q3, q4, q5, q6, q6_ranked, q7, q8,'
        " q9, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22, q23"
    )


@pytest.mark.parametrize(
    ("load", "policy", "rows", "out", "kept"),
    [
        ("windows", "speculative", 2_000, 2_000, 50),
        ("keys", "ordered", 2_000, 3_000, 2_000),
        ("lag", "ordered", 2_400, 3_800, 1_400),
        ("joins", "speculative", 2_000, 3_000, 6_000),
        ("ranges", "ordered", 2_000, 3_000, 5_000),
    ],
)
def test_growth(
    load: str, policy: str, rows: int, out: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the rows come to, and that only so many rows and groups are kept at any time."""
    monkeypatch.setattr(growth, "_LAG_RUN_SECONDS", 1_200)
    code, text, err = fsql(
        "bench", "growth", load, f"--rows={rows}", f"--policy={policy}", "--json"
    )
    assert (code, err) == (0, "")
    *parts, last = [json.loads(line) for line in text.splitlines()]
    assert [part["part"] for part in parts] == list(range(1, 11))
    for part in parts:
        assert (part["benchmark"], part["load"], part["policy"]) == ("growth", load, policy)
        assert part["rows_per_second"] > 0
        assert part["bytes"] > 0
        assert part["rows_kept"] <= kept
    assert last["rows_out"] == out
    assert last["bytes_last_to_first"] > 0


def test_simulation() -> None:
    code, out, err = fsql("bench", "simulation", "--seconds", "1", "--messages", "40", "--json")
    assert (code, err) == (0, "")
    measured = [json.loads(line) for line in out.splitlines()]
    assert [each["query"] for each in measured] == [query.name for query in SIM_QUERIES]
    for each in measured:
        assert each["workers"] == 5
        assert each["messages"] > 0
        assert each["times_real_time"] > 0


def test_the_text_of_a_measurement() -> None:
    measured = Measured(
        benchmark="word_count",
        workers=2,
        rate=100,
        rows_in=1_000,
        words_in=10_000,
        rows_out=9_500,
        seconds=10.0,
        peak_bytes=3 << 20,
        ratio=0.5,
        latency_ms={"p50": 1.25},
        operator_seconds={"write": 2.0},
    )
    assert measured_text(measured) == (
        "word_count: 2 workers, 10.0 s\n"
        "  words in      10,000  1,000/s\n"
        "  rows in        1,000\n"
        "  rows out       9,500\n"
        "  peak memory    3 MiB\n"
        "  ratio           0.50  of a plain batch in the same run\n"
        "  latency p50  1.25 ms\n"
        "  write         2.00 s\n"
    )


_CLUSTER_FIELDS = {
    "benchmark",
    "workers",
    "delivery",
    "snapshot_ms",
    "words_per_second",
    "latency_ms_p50",
    "latency_ms_p75",
    "latency_ms_p95",
    "latency_ms_p99",
    "peak_bytes",
    "snapshots",
    "recoveries",
    "ratio",
}


def cluster(*arguments: str | Path) -> list[dict[str, Any]]:
    """Return what a benchmark on two processes says, object by object."""
    code, out, err = fsql("bench", *arguments, "--workers", "2", "--json")
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def test_throughput_on_processes() -> None:
    local, both = cluster("inverted-index", "--rows", "200", "--snapshot-ms", "50")
    assert set(local) & set(both) >= _CLUSTER_FIELDS
    assert (local["workers"], local["delivery"], local["ratio"]) == (1, "none", 1.0)
    assert (both["workers"], both["delivery"], both["snapshot_ms"]) == (2, "exactly-once", 50)
    assert both["same_bytes"] is True
    assert both["words_per_second"] > 0
    assert local["longest_without_snapshot"] is None
    assert 0 < both["longest_without_snapshot"] <= both["seconds"]
    assert set(both["cpu_seconds"]) == {"launcher", "coordinator", "worker-0", "worker-1"}


def test_latency_on_processes() -> None:
    arguments = ("--rate", "50", "--seconds", "0.5", "--snapshot-ms", "50")
    none, exactly_once = cluster("inverted-index", *arguments)
    assert set(none) & set(exactly_once) >= _CLUSTER_FIELDS
    assert (none["delivery"], none["snapshot_ms"], none["snapshots"]) == ("none", None, 0)
    assert (exactly_once["delivery"], exactly_once["snapshot_ms"]) == ("exactly-once", 50)
    for measured in (none, exactly_once):
        assert measured["documents"] == 25
        assert 0 < measured["latency_ms_p50"] <= measured["latency_ms_p99"]


@pytest.mark.parametrize("kill_of", ["worker", "coordinator"])
def test_recovery(tmp_path: Path, kill_of: str) -> None:
    picture = tmp_path / "curve.svg"
    arguments = ("--seconds", "4", "--kills", "1", "--kill", kill_of, "--state-mib", "0")
    kill, run = cluster("recovery", *arguments, "--picture", picture)
    assert kill["kill"] == kill_of
    course = ("detected_ms", "gathered_ms", "loading_ms", "running_ms", "first_row_ms")
    times = [kill[name] for name in course]
    assert times == sorted(times)
    assert run["documents"] == 200
    assert run["recoveries"] >= 1
    assert run["longest_ms"] >= run["latency_ms_p99"]
    document = ElementTree.fromstring(picture.read_text())
    shapes = [element.tag.rpartition("}")[2] for element in document.iter()]
    assert shapes.count("polyline") == 1
    assert "kill" in [element.text for element in document.iter()]


def test_migration() -> None:
    arguments = ("--seconds", "3", "--state-mib", "1", "--rate", "200", "--snapshot-ms", "200")
    code, out, err = fsql("bench", "migration", *arguments, "--json")
    assert (code, err) == (0, "")
    measured = json.loads(out)
    assert (measured["refused"], measured["moved_bins"]) == ("", 2048)
    assert measured["bytes_equal"]
    assert measured["gap_ms"] > 0


def test_elastic(tmp_path: Path) -> None:
    picture = tmp_path / "elastic.svg"
    load = ("--seconds", "1", "--peak-seconds", "1", "--peak-rate", "200", "--words", "20")
    code, out, err = fsql("bench", "elastic", *load, "--propose", "--json", "--picture", picture)
    assert (code, err) == (0, "")
    *parts, run = [json.loads(line) for line in out.splitlines()]
    assert [(part["phase"], part["documents"]) for part in parts[:3]] == [
        ("before", 50),
        ("peak", 200),
        ("after", 50),
    ]
    ticks = parts[3:]  # a slow machine may come to the end of the input before a tick is taken
    assert all(tick["moved_bins"] == 2048 or tick["refused"] for tick in ticks)
    assert (run["documents"], run["ticks"], run["bytes_equal"]) == (300, len(ticks), True)
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    assert texts.count("200 documents/s") == 1
    names = ["keys to workers 0, 1", "keys to worker 0"]
    taken = [name for name, tick in zip(names, ticks, strict=False) if not tick["refused"]]
    assert [text for text in texts if text in names] == taken


def test_the_longest_time_without_a_snapshot(tmp_path: Path) -> None:
    manifests = tmp_path / "snapshots"
    begin = time.monotonic()
    end = begin + 10_000

    def last_seen() -> float:
        return end - times.longest_without(begin, end)

    def wait_for_one_after(before: float) -> float:
        while last_seen() < before + 0.001:  # it is looked for less often
            time.sleep(0.01)
        assert last_seen() <= time.monotonic()
        return last_seen()

    with SnapshotTimes(tmp_path) as times:
        assert times.longest_without(begin, end) == end - begin
        manifests.mkdir()
        (manifests / "1.json").touch()
        first = wait_for_one_after(begin)
        assert times.longest_without(first - 2, first + 1) == pytest.approx(2)
        assert times.longest_without(first - 2, first - 1) == pytest.approx(1)
        (manifests / "2.json").touch()
        second = wait_for_one_after(first)
        apart = second - first
        assert times.longest_without(first - 1, second + 2) == pytest.approx(max(2, apart))
        assert times.longest_without(first - apart / 2, second + apart / 2) == pytest.approx(apart)
    (manifests / "3.json").touch()
    assert last_seen() == second


def said(*arguments: str) -> list[dict[str, Any]]:
    code, out, err = fsql("bench", *arguments, "--json")
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def test_policies() -> None:
    *runs, last = said("policies", "--documents", "60", "--behind", "10,40")
    assert [(run["policy"], run["documents_behind"]) for run in runs] == [
        ("speculative", 10),
        ("ordered", 10),
        ("speculative", 40),
        ("ordered", 40),
    ]
    assert len({run["rows_out"] for run in runs}) == 1
    near, far = (run["redone_share"] for run in runs if run["policy"] == "speculative")
    assert 0 < near < far
    assert {run["redone_share"] for run in runs if run["policy"] == "ordered"} == {0}
    assert last["overtaken_at"] in {10, 40, None}


@pytest.mark.parametrize("shards", [(), ("--shards", "4")])
def test_scaling(shards: tuple[str, ...]) -> None:
    costs, *by_workers = said("scaling", "--documents", "2000", *shards)
    assert all(ns > 0 for ns in costs["ns_per_word"].values())
    splits = [(each["workers"], each["splits"]) for each in by_workers]
    of_one = [(2, 1), (2, 1), (4, 1), (4, 1), (8, 1), (8, 1)]
    assert splits == [(1, 1), (2, 2), (4, 4), (8, 8), *of_one]
    pairs = [each for each in by_workers if (each["workers"], each["splits"]) in of_one]
    for without, best in zip(pairs[::2], pairs[1::2], strict=True):
        assert without["rebalanced"] == 0
        assert best["words_per_second"] >= without["words_per_second"]
    for each in by_workers:
        assert each["busy"][each["limited_by"]] == 1.0
        assert each["words_per_second"] > 0


def test_the_text_of_fields() -> None:
    fields = {"benchmark": "b", "rows": 12_000, "ratio": None, "cpu": {"one": 1.5, "two": 2}}
    assert fields_text(fields) == "b:\n  rows     12,000\n  cpu one  1.5\n  cpu two  2\n"


def test_skew(tmp_path: Path) -> None:
    picture = tmp_path / "skew.svg"
    arguments = ("--rows", "3000", "--exponent", "1.4", "--tick", "0.5", "--picture", picture)
    code, out, err = fsql("bench", "skew", "--load", "maxima", *arguments, "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    assert [(run["load"], run["plan"], run["rows"], run["bytes_equal"]) for run in runs] == [
        ("maxima", "equal", 3000, True),
        ("maxima", "auto", 3000, True),
        ("maxima", "best", 3000, True),
    ]
    assert (medians["load"], medians["exponent"], medians["plan"]) == ("maxima", 1.4, "medians")
    assert {"auto_by_equal", "auto_by_best", "best_by_equal"} <= set(medians)
    assert {"auto_latency_by_equal", "auto_latency_by_best"} <= set(medians)
    assert all(run["latency_ms_p99"] is None or run["latency_ms_p99"] >= 0 for run in runs)
    shares = [run["busiest_over_mean"] for run in runs]
    assert all(share is None or 1 <= share <= 2 for share in shares)
    equal, _, best = (run["rows_over_mean_at_end"] for run in runs)
    moved = runs[2]["moved_bins"]  # a slow machine may come to the end of the input before the tick
    assert (best < equal) == (moved > 0)
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    plans = ["equal", "auto", "best"]
    assert [text for text in texts if text in plans] == plans


@pytest.mark.parametrize("name", ["joins", "maxima", "windows"])
def test_crowded_keys_are_in_the_bins_of_one_worker(name: str) -> None:
    from fsql.benchmarks.measure import SCRIPTS
    from fsql.benchmarks.skew import LOADS
    from fsql.benchmarks.zipf import ZipfKeys
    from fsql.compiler.owner_map import BINS
    from fsql.compiler.tick_plan import ToFold
    from fsql.runtime.arrow_types import arrow_type

    load = LOADS[name]
    parameters = {"input": "in", "output": "out", "keys": "keys"}
    text = (SCRIPTS / f"{load.script}.sql").read_text()
    used = {each: value for each, value in parameters.items() if f"${{{each}}}" in text}
    plan = choose(compile_job(script_of_text(text, used)).graph)
    keys = [
        send.to.keys for stage in plan.stages for send in stage.sends if isinstance(send.to, ToFold)
    ]
    types = [arrow_type(each.type) for each in keys[-1]]
    assert types == [pa.string(), *(each.type for each in load.other_keys)]
    rows = load.bins(ZipfKeys(1.4, 20_000, crowded=16, other_keys=load.other_keys))
    even = load.bins(ZipfKeys(0.0, 20_000, other_keys=load.other_keys))
    assert rows[: BINS // 2].sum() > rows.sum() * 0.65
    assert even[: BINS // 2].sum() == pytest.approx(even.sum() / 2, rel=0.05)


def test_plan_scale() -> None:
    arguments = ("--workers", "1,64", "--exponent", "1.1", "--stages", "3", "--draws", "1")
    code, out, err = fsql("bench", "plan-scale", *arguments, "--json")
    assert (code, err) == (0, "")
    one, _, many, two, choice = [json.loads(line) for line in out.splitlines()]
    assert two["own_maps_each_over_mean"] <= two["one_map_each_over_mean"]
    assert two["own_maps_sum_over_mean"] < two["equal_sum_over_mean"]
    names = ("equal_over_mean", "levelled_over_mean", "best_possible")
    assert [one[name] for name in names] == [1.0, 1.0, 1.0]
    assert many["equal_over_mean"] > many["levelled_over_mean"] >= many["best_possible"] > 1
    assert (choice["workers"], choice["stages"]) == (64, 3)
    assert choice["reason"].startswith("owners: ")
