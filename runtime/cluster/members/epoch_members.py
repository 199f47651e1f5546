"""The workers of one epoch, as the coordinator knows them: some join and leave while it runs.

Contract.  `docs/internals/distribution.md`, section 9.  A number is assigned once in an epoch.  A worker that
joins has links, but no bins and no fronts; once it is ready, it is a member, and all others are notified.  It
takes part in the snapshots and ticks that are announced from then on.  A member that is not in the layout
leaves when a snapshot without it is committed, or immediately if it never took part in one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import MemberJoined, MemberLeft, Start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.runtime.cluster.coordinator.frontier_updates import FrontierUpdates
    from fsql.runtime.cluster.links.links import Links
    from fsql.runtime.cluster.members.failure_detector import FailureDetector
    from fsql.runtime.cluster.snapshots.epoch_snapshots import EpochSnapshots


class EpochMembers:
    """The members of an epoch, and the workers that join it."""

    def __init__(
        self,
        workers: int,
        links: Links,
        detector: FailureDetector[int],
        updates: FrontierUpdates,
        snapshots: EpochSnapshots,
    ) -> None:
        """Begin with the workers numbered below `workers`, to which `links` has links."""
        self.numbers = list(range(workers))
        """The members, ascending."""
        self.layout = tuple(self.numbers)
        """The members in the layout: the others leave."""
        self.joining: list[int] = []
        """The workers that are not ready yet."""
        self.next_number = workers
        self._unready = set(self.numbers)
        self._links = links
        self._detector = detector
        self._updates = updates
        self._snapshots = snapshots

    def join(self, addresses: Mapping[int, str], now: float) -> None:
        """Let workers join."""
        for number, address in addresses.items():
            assert number >= self.next_number
            self.next_number = number + 1
            self.joining.append(number)
            self._links.add(number, address)
            self._detector.watch([number], now)
        self._set_present()

    def drop(self, number: int) -> None:
        """Remove a worker that was lost before it was ready: no other worker knows it."""
        self.joining.remove(number)
        self._links.remove(number)
        self._detector.forget(number)
        self._set_present()

    def silent(self, now: float) -> list[int]:
        """Return the joining workers that have been silent for too long."""
        return [number for number in self.joining if self._detector.has_failed(number, now)]

    def on_ready(self, number: int) -> bool:
        """Record that a worker is ready; return whether the epoch may start now."""
        if number in self.joining:
            self.joining.remove(number)
            self.numbers.append(number)
            self.numbers.sort()
            self._updates.add(number)
            addresses = self._links.addresses
            for peer in self.numbers:
                if peer != number:
                    self._links.put(peer, MemberJoined(number, addresses[number]))
                    self._links.put(number, MemberJoined(peer, addresses[peer]))
            self._links.put(number, Start())
            return False
        was_unready = number in self._unready
        self._unready.discard(number)
        return was_unready and not self._unready

    def change_layout(self, numbers: Sequence[int]) -> None:
        """Change to a layout with these members; from now on snapshots consist of their parts."""
        self.layout = self._snapshots.members = tuple(numbers)

    def failure(self, now: float, *, running: bool) -> str | None:
        """Return which worker has failed and how, in words; None if none has failed."""
        detector, seconds = self._detector, f"{self._detector.timeout:g} s"
        if (silent := detector.silent(now)) is not None:
            return f"worker {silent} has been silent for {seconds}"
        stuck = detector.stuck(self._links.by_peer, now) if running else None
        return None if stuck is None else f"worker {stuck} has not acknowledged for {seconds}"

    def take_left(self) -> list[tuple[int, str]]:
        """Remove the members that may leave, and return their numbers and addresses."""
        left = []
        for number in self.numbers[:]:
            if number in self.layout:
                continue
            if not self._snapshots.is_without(number):
                self._snapshots.ask_without(number)
                continue
            left.append((number, self._links.addresses[number]))
            self.numbers.remove(number)
            self._links.remove(number)
            for peer in self.numbers:
                self._links.put(peer, MemberLeft(number))
            self._detector.forget(number)
            self._updates.remove(number)
        if left:
            self._set_present()
        return left

    def _set_present(self) -> None:
        self._snapshots.present = tuple(sorted((*self.numbers, *self.joining)))
