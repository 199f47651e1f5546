"""Failure detection: how long to wait for a silent node, and when it counts as failed.

Contract.  A peer has failed if it has been silent for the timeout, or if frames are in flight to it and it
has acknowledged none for as long.  Nodes check this only when a timer fires and all input is processed.

A node in one long step is as silent as one that has ended, and would be as silent in the next epoch.  So an
epoch that is lost to silence doubles the timeout, from `failure_after` up to `failure_after_most`, unless an
output has stored something since the last such epoch.  A silent worker that says Hello again was in a long
step: the timeout grows to more than its silence, also where outputs go on.  It never decreases: a job
with one such step is likely to have more.  In the same way, an epoch that was not loaded in time doubles the
time for loading.

By the same rule the launcher detects processes that hang, and a worker that was started by hand detects that
the run has ended.

Not promised: that a step ends.  Processes that have ended are reported by their launcher, immediately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from fsql.runtime.batch import START

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.link import Link

PeerT = TypeVar("PeerT")


class FailureDetector(Generic[PeerT]):
    """Detects which peers of a node have failed."""

    def __init__(self, timeout: float) -> None:
        """Start without watched peers; `timeout` is in seconds."""
        self.timeout = timeout
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
        self._silence_max = settings.failure_after_most
        self._loading_min = settings.loading_at_most
        self._done = START
        self._silent_since: tuple[str, float] | None = None

    def on_silence(self, done: Root, worker: str, since: float) -> None:
        """Record that an epoch was lost to silence when all sinks had stored everything below `done`.

        `worker` is the name of one that may live, and `since` the time of its last sign of life.
        """
        if done <= self._done:
            self.silence = longer_timeout(self.silence, self._silence_max)
        self._done = max(done, self._done)
        self._silent_since = worker, since

    def on_hello(self, worker: str, now: float) -> None:
        """Record that a worker lives; if the last epoch was lost to its silence, accept such a silence."""
        if self._silent_since is None or self._silent_since[0] != worker:
            return
        seconds = now - self._silent_since[1]
        self._silent_since = None
        while self.silence <= seconds and self.silence < self._silence_max:
            self.silence = longer_timeout(self.silence, self._silence_max)

    def on_loading_too_long(self) -> None:
        """Record that workers did not load in time; in the next epoch they have twice as long."""
        self.loading *= 2

    def on_loaded(self) -> None:
        """Record that all workers have loaded."""
        self.loading = self._loading_min
