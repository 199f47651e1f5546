"""`fsql bench` measures something, and says so; how much is for another day."""

from __future__ import annotations

import json

import pytest

from fsql.benchmarks.measure import Measured
from fsql.benchmarks.report import measured_text
from fsql.tests.cli.commands import fsql


@pytest.mark.parametrize("benchmark", ["inverted-index", "word-count"])
def test_a_measurement(benchmark: str) -> None:
    code, out, err = fsql("bench", benchmark, "--seconds", "0.3", "--rate", "300", "--json")
    assert (code, err) == (0, "")
    measured = json.loads(out)
    assert measured["benchmark"] == benchmark.replace("-", "_")
    assert measured["seconds"] >= 0.3
    assert 0 < measured["rows_in"] <= 301 * measured["seconds"]
    assert measured["words_in"] >= 10 * measured["rows_in"]
    assert measured["rows_out"] > measured["rows_in"]
    assert list(measured["latency_ms"]) == ["p50", "p95", "p99", "max"]


def test_the_text_of_a_measurement() -> None:
    measured = Measured(
        benchmark="word_count",
        workers=2,
        rate=100,
        seconds=10.0,
        rows_in=1_000,
        words_in=10_000,
        rows_out=9_500,
        words_per_second=1_000.0,
        rows_out_per_second=950.0,
        latency_ms={"p50": 1.25, "p99": 12.0},
    )
    assert measured_text(measured) == (
        "word_count: 2 workers, 10.0 s\n"
        "  words in       10,000  1,000/s\n"
        "  rows in         1,000\n"
        "  rows out        9,500  950/s\n"
        "  latency p50    1.2 ms\n"
        "  latency p99   12.0 ms\n"
    )
