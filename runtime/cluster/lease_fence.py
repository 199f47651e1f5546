"""The fence of the lease: no bundle is sent while another coordinator may hold the lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator_events import Deliver

if TYPE_CHECKING:
    from fsql.runtime.cluster.coordinator_events import CoordinatorEffect


class LeaseFence:
    """Holds bundles back as soon as the lease may have expired."""

    def __init__(self) -> None:
        self._until = float("-inf")
        self._held_back: list[Deliver] = []

    def on_lease_held(self, until: float) -> None:
        """Record the time until which the lease is held."""
        self._until = until

    def on_lease_lost(self) -> None:
        """Record that another coordinator may hold the lease."""
        self._until = float("-inf")

    def is_open(self, now: float) -> bool:
        """Return whether bundles may be sent."""
        return now < self._until

    def filter(
        self, effects: list[CoordinatorEffect], epoch: int | None, now: float
    ) -> list[CoordinatorEffect]:
        """Return the effects to carry out now: while the fence is closed, all except bundles.

        Bundles that were held back are returned once it is open again, if `epoch` is still theirs.
        """
        held_back, self._held_back = self._held_back, []
        if epoch is not None and self.is_open(now):
            if not held_back:
                return effects
            return [*(each for each in held_back if each.epoch == epoch), *effects]
        self._held_back = [*held_back, *(each for each in effects if isinstance(each, Deliver))]
        return [each for each in effects if not isinstance(each, Deliver)]
