"""Paces the fronts of an epoch: reports stored positions to them, and grants credits to blocked ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.credits import Credits

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.frames import Blocked, Item
    from fsql.runtime.cluster.frontier_updates import FrontierUpdates
    from fsql.runtime.cluster.output_release import OutputRelease
    from fsql.runtime.dataflow.acker import Acker


class FrontPacing:
    """The coordinator's part in how far fronts read ahead."""

    def __init__(
        self,
        owner_of: Callable[[int], int],
        barrier_stage: int,
        acker: Acker,
        output: OutputRelease,
        updates: FrontierUpdates,
        put: Callable[[int, Item], None],
    ) -> None:
        """Start with no blocked fronts.

        `owner_of` returns the worker that currently reads for a front; `put` sends an item to a worker.
        """
        self._owner_of = owner_of
        self._barrier_stage = barrier_stage
        self._acker = acker
        self._output = output
        self._updates = updates
        self._put = put
        self._credits = Credits()

    def on_blocked(self, blocked: Blocked) -> None:
        """Record that a front is blocked."""
        self._credits.on_blocked(blocked)

    def advance(self, now: float) -> None:
        """Send what fronts need to continue to read."""
        self._update_read_ahead(now)
        self._grant_credit()

    def _update_read_ahead(self, now: float) -> None:
        """Send the position below which all sinks have stored everything: read-ahead counts from there.

        Blocked fronts are sent it immediately, the others with a later frame.
        """
        self._updates.on_advance(self._barrier_stage, self._output.out_below())
        for front in self._credits.find_blocked(self._acker.promises):
            worker = self._owner_of(front)
            for min_time in self._updates.take_all_updates(worker, now):
                self._put(worker, min_time)

    def _grant_credit(self) -> None:
        """Grant a credit if nothing is in flight and all is released: only blocked fronts stop the job."""
        if not self._credits.any_blocked or self._acker.messages_in_flight():
            return
        if self._output.holds_back:
            return  # the run ends at a position that was reached
        if self._output.out_below() < self._output.min_time:
            return
        credit = self._credits.grant(self._acker.least_promise)
        if credit is not None:
            self._put(self._owner_of(credit.front), credit)
