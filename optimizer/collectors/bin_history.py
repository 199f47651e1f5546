"""The rows of each hash bin in each of the newest intervals, from the files of workers.

Collectors sum intervals up, so this reads the files of `bins` by itself.  Like the collectors it keeps what
it has read: a file never changes.  Intervals of workers do not begin at the same time, so they are matched
backwards from the newest of each worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.owner_map import BINS
from fsql.optimizer.collectors.files import read_files
from fsql.optimizer.collectors.results import GONE_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fsql.compiler.owners import Owners
    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.load_history import SecondsOfRows

    Floats = np.ndarray[Any, np.dtype[np.float64]]

INTERVALS: Final = 24
"""The number of newest intervals that are read."""


def read_bin_history(state: Path, kept: Kept | None = None, until: int | None = None) -> BinHistory:
    """Return the history of the job in a state directory; damaged files are skipped.

    Intervals after `until` do not count, so that it agrees with statistics that are older.

    Files in `kept` are not read again; see `files.read_files`.
    """
    of_workers: dict[int, dict[tuple[int, int], pa.Table]] = {}
    begun: list[tuple[float, int]] = []

    def take(table: str, path: Path, content: pa.Table) -> None:
        del path
        if len(content):
            worker, number, epoch, begins = (
                content.column(name)[0].as_py() for name in ("worker", "interval", "epoch", "from")
            )
            if until is None or number <= until:
                begun.append((begins / 1e6, number))
                if table == "bins":
                    of_workers.setdefault(worker, {})[number, epoch] = content

    # Workers that own no bin have files of operators only.
    read_files(state, take, ("bins", "operators"), INTERVALS, kept)
    newest = max((max(of)[0] for of in of_workers.values()), default=0)
    count = max((len(of) for of in of_workers.values()), default=0)
    rates: dict[str, Floats] = {}
    for _, of in sorted(of_workers.items()):
        if max(of)[0] > newest - GONE_AFTER:
            for age, (_, content) in enumerate(sorted(of.items(), reverse=True)):
                _add(rates, content, count, count - 1 - age)
    return BinHistory(rates, begun)


def _add(rates: dict[str, Floats], content: pa.Table, count: int, interval: int) -> None:
    """Add the rows of a file to the rates in an interval, of which there are `count`."""
    begins, ends = (content.column(name)[0].as_py() for name in ("from", "to"))
    names = content.column("operator").combine_chunks().dictionary_encode()
    bins, rows = (content.column(name).to_numpy() for name in ("bin", "rows"))
    exists = (bins >= 0) & (bins < BINS)
    for code, name in enumerate(names.dictionary.to_pylist()):
        own = exists & (names.indices.to_numpy() == code)
        of_operator = rates.setdefault(name, np.zeros((count, BINS)))
        of_operator[interval] += np.bincount(
            bins[own], rows[own] / ((ends - begins) / 1e6), minlength=BINS
        )


class BinHistory:
    """See `fsql.optimizer.load_history.LoadHistory`."""

    def __init__(
        self, rates: Mapping[str, Floats], begun: Sequence[tuple[float, int]] = ()
    ) -> None:
        """Take the rows per second by exchange: `(intervals, bins)`, the oldest interval first.

        `begun` has when each interval of a worker began, in seconds since 1970, with its number.
        """
        self._rates = rates
        self._begun = begun

    def last_begun_before(self, at: float) -> int | None:
        """Return the newest interval that had begun at a worker at a time; None if no interval is known."""
        if not self._begun:
            return None
        return max((number for begins, number in self._begun if begins < at), default=0)

    def rates(self, intervals: int = 0) -> dict[str, dict[int, float]]:
        """Return the rows per second of each bin of each exchange in the newest intervals; 0 for all."""
        return {
            name: _of_bins(of[-intervals:].mean(axis=0)) for name, of in sorted(self._rates.items())
        }

    @property
    def intervals(self) -> int:
        """Return the number of intervals."""
        return max((len(of) for of in self._rates.values()), default=0)

    def seconds_of_rows(
        self, exchange: str, busy: Sequence[Sequence[float]], owners: Sequence[Sequence[int]]
    ) -> list[float]:
        """Return the seconds that a row of each bin takes on average, in as many intervals as are given.

        For each of the newest intervals, the oldest first: `busy` has the time of each worker for its bins, a
        fraction of the interval, and `owners` the worker of each bin.
        """
        taken, rows = np.zeros(BINS), np.zeros(BINS)
        recorded = self._rates.get(exchange, np.zeros((len(busy), BINS)))[-len(busy) :]
        for of_bins, spent, owner in zip(recorded, busy, owners, strict=True):
            of_workers = np.bincount(owner, of_bins, minlength=len(spent))
            a_row = np.divide(spent, of_workers, out=np.zeros(len(spent)), where=of_workers > 0)
            taken += of_bins * a_row[np.array(owner)]
            rows += of_bins
        mean = taken.sum() / rows.sum() if rows.any() else 0.0
        found: list[float] = np.divide(
            taken, rows, out=np.full(BINS, mean), where=rows > 0
        ).tolist()
        return found

    def costs(self, seconds: SecondsOfRows) -> CostHistory:
        """Return the cost of each bin, given the seconds that a row takes."""
        return CostHistory(
            {
                name: of * np.array(seconds[name])
                for name, of in sorted(self._rates.items())
                if name in seconds
            }
        )


class CostHistory:
    """See `fsql.optimizer.load_history.BinCosts`."""

    def __init__(self, costs: Mapping[str, Floats]) -> None:
        self._costs = costs

    @property
    def intervals(self) -> int:
        """Return the number of intervals."""
        return max((len(of) for of in self._costs.values()), default=0)

    def loads(self, owners: Owners) -> list[list[float]]:
        """Return, for each interval, the cost of the bins of each worker if they had these owners."""
        total = np.zeros((self.intervals, owners.workers))
        for name, of in self._costs.items():
            owner = np.array(owners.of(name).owners)
            for interval, costs in enumerate(of):
                total[interval] += np.bincount(owner, costs, minlength=owners.workers)
        found: list[list[float]] = total.tolist()
        return found

    def mean(self, first: int, end: int) -> dict[str, dict[int, float]]:
        """Return the mean cost of each bin of each exchange in the intervals `[first, end)`."""
        return {name: _of_bins(of[first:end].mean(axis=0)) for name, of in self._costs.items()}


def _of_bins(values: Floats) -> dict[int, float]:
    """Return the values that are not 0, by bin."""
    bins = np.flatnonzero(values)
    return dict(zip(bins.tolist(), values[bins].tolist(), strict=True))
