"""The load of hash bins in the newest intervals: what replays and the choice of owners need of it.

`fsql.optimizer.collectors.bin_history` reads it from the files of workers.  The rows of a bin do not depend
on who owns it, so intervals before the last tick count, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.owners import Owners

    SecondsOfRows: TypeAlias = Mapping[str, Sequence[float]]
    """The seconds that a row of each bin takes, by exchange."""


class BinCosts(Protocol):
    """The cost of each bin of each exchange in some intervals, in seconds per second, the oldest first."""

    @property
    def intervals(self) -> int:
        """Return the number of intervals."""

    def loads(self, owners: Owners) -> list[list[float]]:
        """Return, for each interval, the cost of the bins of each worker if they had these owners."""

    def mean(self, first: int, end: int) -> dict[str, dict[int, float]]:
        """Return the mean cost of each bin of each exchange in the intervals `[first, end)`."""


class LoadHistory(Protocol):
    """The rows of each bin of each exchange in the newest intervals."""

    def last_begun_before(self, at: float) -> int | None:
        """Return the newest interval that had begun at a worker at a time; None if no interval is known."""

    def rates(self, intervals: int = 0) -> dict[str, dict[int, float]]:
        """Return the rows per second of each bin of each exchange in the newest intervals; 0 for all."""

    @property
    def intervals(self) -> int:
        """Return the number of intervals."""

    def seconds_of_rows(
        self, exchange: str, busy: Sequence[Sequence[float]], owners: Sequence[Sequence[int]]
    ) -> list[float]:
        """Return the seconds that a row of each bin takes on average, in as many intervals as are given.

        For each of the newest intervals, the oldest first: `busy` has the time of each worker for its bins, a
        fraction of the interval, and `owners` the worker of each bin.
        """

    def costs(self, seconds: SecondsOfRows) -> BinCosts:
        """Return the cost of each bin, given the seconds that a row takes."""
