"""The word count: lines of ten words by Zipf's law over 100,000 words, a change for each line and word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.benchmarks.measure import measure

if TYPE_CHECKING:
    from fsql.benchmarks.measure import Measured

PARAMETERS: Final = {"words": "10", "vocabulary": "100000", "seed": "1"}


def run(*, rate: int | None, seconds: float, workers: int) -> Measured:
    """Measure it; `rate` is in lines a second."""
    return measure("word_count", PARAMETERS, rate=rate, seconds=seconds, workers=workers)
