"""Failure detection: how long to wait for a silent node, and when it counts as failed.

Contract.  A peer has failed if it has been silent for the timeout, or if frames are in flight to it and it
has acknowledged none for as long.  Nodes check this only when a timer fires and all input is processed.

A node in one long step is as silent as one that is stopped, or whose link is cut, and would be as silent in
the next epoch.  What tells them apart is processor time: only the first has used any, or has waited for a
processor.  So nodes report steps that were long and in which they computed (`Computed`), workers in the Hello
after them.  The timeout grows to
more than such a step, up to `failure_after_most`, and for no other reason.  It is halved each
`DECAY_SECONDS` in which no node was silent for half of it, down to `failure_after`.

A node that loads state sends heartbeats in any case, so they say how far it has come.  An epoch in which no
worker has come further for the time for loading is given up; the next ones have twice as long, up to
`LOADING_FACTOR_MAX` times.

In the same way the launcher detects processes that hang, and a worker that was started by hand detects that
the run has ended.

Not promised: that a step ends.  Processes that have ended are reported by their launcher, immediately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.links.link import Link

PeerT = TypeVar("PeerT")

DECAY_SECONDS: Final = 120.0
"""The time after which a longer timeout is halved if nothing has needed it."""

LOADING_FACTOR_MAX: Final = 16
"""How many times as long an epoch may stand still while it loads, after others that did."""

_COMPUTING: Final = 1 / 8
"""The least share of a step in which a process that computes uses a processor or waits for one.

The rest is waiting for memory and disks.
"""


def has_computed(seconds: float, busy_seconds: float) -> bool:
    """Return whether a process was computing that used or awaited a processor for a part of some seconds."""
    return busy_seconds >= _COMPUTING * seconds


class FailureDetector(Generic[PeerT]):
    """Detects which peers of a node have failed."""

    def __init__(self, timeout: float) -> None:
        """Start without watched peers; `timeout` is in seconds."""
        self.timeout = timeout
        self.longest_silence = 0.0
        """The longest silence that a sign of life has ended since this was last set to 0."""
        self._received_at: dict[PeerT, float] = {}

    def watch(self, peers: Iterable[PeerT], now: float) -> None:
        """Watch these peers from now on, as if each had just sent a frame."""
        self._received_at |= dict.fromkeys(peers, now)

    def forget(self, peer: PeerT) -> None:
        """Stop watching a peer."""
        self._received_at.pop(peer, None)

    def on_heartbeat(self, peer: PeerT, now: float) -> None:
        """Record a sign of life of a peer."""
        if peer in self._received_at:
            self.longest_silence = max(self.longest_silence, now - self._received_at[peer])
            self._received_at[peer] = now

    def silence(self, peer: PeerT, now: float) -> float:
        """Return for how many seconds a peer has been silent, 0 if it is not watched."""
        return now - self._received_at.get(peer, now)

    def has_failed(self, peer: PeerT, now: float) -> bool:
        """Return whether a peer is watched and has been silent for the timeout."""
        return peer in self._received_at and now >= self._received_at[peer] + self.timeout

    def silent(self, now: float) -> PeerT | None:
        """Return a peer that has been silent for the timeout, None if there is none."""
        for peer in self._received_at:
            if self.has_failed(peer, now):
                return peer
        return None

    def stuck(self, links: Mapping[PeerT, Link], now: float) -> PeerT | None:
        """Return a peer that has acknowledged nothing for longer than the timeout, None if there is none."""
        for peer, link in links.items():
            if link.stuck_for(now) > self.timeout:
                return peer
        return None

    def next_timer(self) -> float:
        """Return when the first peer will reach the timeout, infinity for never."""
        return min(self._received_at.values(), default=float("inf")) + self.timeout


def longer_timeout(timeout: float, most: float) -> float:
    """Return the timeout to use after one that was too short: twice as long, at most `most`."""
    return max(timeout, min(2 * timeout, most))


class Timeouts:
    """The timeouts of one coordinator, and of the workers that it leads, in seconds."""

    def __init__(self, settings: Settings) -> None:
        self.silence = settings.failure_after
        self.loading = settings.loading_at_most
        self._silence_min = settings.failure_after
        self._silence_max = settings.failure_after_most
        self._loading_min = settings.loading_at_most
        self._needed_at = 0.0

    def on_computed(self, seconds: float, now: float) -> None:
        """Record that a node has computed for so long without a sign of life; accept that from now on."""
        self.on_silence_ended(seconds, now)
        while self.silence <= seconds and self.silence < self._silence_max:
            self.silence = longer_timeout(self.silence, self._silence_max)

    def on_silence_ended(self, seconds: float, now: float) -> None:
        """Record that a node was silent for so long, and has not failed."""
        if seconds > self.silence / 2:
            self._needed_at = now

    def advance(self, now: float) -> None:
        """Let the timeout decay."""
        if self.silence == self._silence_min:
            return
        while now - self._needed_at >= DECAY_SECONDS and self.silence > self._silence_min:
            self.silence = max(self.silence / 2, self._silence_min)
            self._needed_at += DECAY_SECONDS

    def on_loading_too_long(self) -> None:
        """Record that loading stood still; in the next epoch it may for twice as long, up to a limit."""
        self.loading = longer_timeout(self.loading, LOADING_FACTOR_MAX * self._loading_min)

    def on_loaded(self) -> None:
        """Record that all workers have loaded."""
        self.loading = self._loading_min
