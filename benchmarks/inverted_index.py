"""The inverted index: documents of 300 words on average by Zipf's law over 100,000 words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.benchmarks.measure import measure

if TYPE_CHECKING:
    from fsql.benchmarks.measure import Measured

PARAMETERS: Final = {"words": "300", "vocabulary": "100000", "seed": "1"}


def run(*, rate: int | None, seconds: float, workers: int) -> Measured:
    """Measure it; `rate` is in documents a second."""
    return measure("inverted_index", PARAMETERS, rate=rate, seconds=seconds, workers=workers)
