"""Progress of a series of seeds: a line every ten seconds and one for each seed that fails."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.numbers import count_text, seconds_text
from fsql.console.progress import LINE_SECONDS
from fsql.console.reporter import print_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.console.reporter import Reporter
    from fsql.console.sim import Series


class SeedLines:
    """Prints the progress of a series of `wanted` seeds on standard error."""

    def __init__(
        self, wanted: int, reporter: Reporter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._wanted = wanted
        self._reporter = reporter
        self._clock = clock
        self._begun = self._printed_at = clock()
        self._divergences = 0

    def seed_done(self, series: Series) -> None:
        """Print a line if the last seed failed or the interval has passed."""
        divergences = len(series.failed) + len(series.differing)
        news = divergences > self._divergences
        self._divergences = divergences
        now = self._clock()
        due = now - self._printed_at >= LINE_SECONDS and series.seeds < self._wanted
        if self._reporter.quiet or not (due or news):
            return
        self._printed_at = now
        seconds = now - self._begun
        faults = sum(series.coverage.faults.values())
        if self._reporter.json:
            fields = {"seeds": series.seeds, "faults": faults, "seconds": round(seconds, 3)}
            self._reporter.event("progress", {**fields, "divergences": divergences})
            return
        last = series.failed[-1] if news and series.failed else None
        why = f"; seed {last.seed}: {last.failure}" if last is not None else ""
        print_message(
            f"{seconds_text(seconds)}  {count_text(series.seeds)} of {count_text(self._wanted)} seeds"
            f"  {count_text(faults)} faults  {count_text(divergences)} divergences{why}\n"
        )
