"""The running word count: 10 million words in lines of 300."""

from __future__ import annotations

from typing import Final

from fsql.benchmarks import baseline
from fsql.benchmarks.measure import Benchmark
from fsql.benchmarks.text import write_lines

BENCHMARK: Final = Benchmark("word_count", 33_334, write_lines, baseline.word_count)
