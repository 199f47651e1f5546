"""`fsql bench` measures something, and says so; how much is for another day."""

from __future__ import annotations

import json

import pytest

from fsql.benchmarks.measure import Measured
from fsql.benchmarks.report import measured_text
from fsql.tests.cli.commands import fsql

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
