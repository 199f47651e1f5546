"""The inverted index of the papers: 20,000 documents of 300 words on average."""

from __future__ import annotations

from typing import Final

from fsql.benchmarks import baseline
from fsql.benchmarks.measure import Benchmark
from fsql.benchmarks.text import write_documents

BENCHMARK: Final = Benchmark("inverted_index", 20_000, write_documents, baseline.inverted_index)
