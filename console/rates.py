"""Rates of a running job, and the fraction of its input that it has read, for all progress displays."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import rate_text

if TYPE_CHECKING:
    from fsql.job.overview import JobOverview
    from fsql.runtime.dataflow.metrics import Metrics

HELD_SECONDS: Final = 2.0
"""Output that waits for less time is not reported."""
_RATE_SECONDS: Final = 2.0
"""Rates are averages over this time."""


class Rates:
    """Rows per second over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque([(0.0, 0, 0)])

    def add(self, metrics: Metrics) -> None:
        """Add a sample of the metrics."""
        self._samples.append((metrics.seconds, metrics.rows_in, metrics.rows_out))
        while len(self._samples) > 2 and metrics.seconds - self._samples[1][0] >= _RATE_SECONDS:
            self._samples.popleft()

    @property
    def seconds(self) -> float:
        """Return the duration over which the rates are measured."""
        return self._samples[-1][0] - self._samples[0][0]

    @property
    def rows_in(self) -> str:
        """Return the rows read per second."""
        return rate_text(self._samples[-1][1] - self._samples[0][1], self.seconds)

    @property
    def rows_out(self) -> str:
        """Return the rows written per second."""
        return rate_text(self._samples[-1][2] - self._samples[0][2], self.seconds)


def read_share(metrics: Metrics, overview: JobOverview) -> float | None:
    """Return the fraction of its input that a job has read; None if it is not known."""
    if overview.input_bytes is None:
        return None
    passed = sum(source.bytes_passed for source in metrics.sources.values())
    return min(1.0, passed / overview.input_bytes)
