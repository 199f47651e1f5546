"""A requested snapshot, until it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator_events import SnapshotRequested
    from fsql.runtime.cluster.frames import AnnounceSnapshot


class RequestedSnapshot:
    """At most one request, and the snapshot that was announced for it.

    The last snapshot of a run is a drain: nothing at or above its position is released once it is announced,
    and the run ends when it is committed and every sink has stored everything below its position.
    """

    def __init__(self) -> None:
        self._request: SnapshotRequested | None = None
        self._announced: AnnounceSnapshot | None = None
        self.drained_at: Root | None = None
        """The position of the last snapshot of the run, once it is committed."""

    def ask(self, request: SnapshotRequested) -> None:
        """Accept a request; a repeated one has no effect."""
        if self._request is None or self._request.request != request.request:
            self._request, self._announced = request, None

    @property
    def is_due(self) -> bool:
        """Return whether a snapshot is to be announced for the request."""
        return self._request is not None and self._announced is None

    def is_of(self, announced: AnnounceSnapshot) -> bool:
        """Return whether an announced snapshot is that of the request."""
        return self._announced is announced

    @property
    def is_last(self) -> bool:
        """Return whether the requested snapshot is the last one of the run."""
        return self._request is not None and self._request.last

    @property
    def release_bound(self) -> Root | None:
        """Return the position at or above which nothing may be released; None if there is none."""
        if self.drained_at is not None:
            return self.drained_at
        return self._announced.position if self.is_last and self._announced is not None else None

    def on_announced(self, announced: AnnounceSnapshot) -> None:
        """Record that a snapshot was announced; it is that of the request if one is due."""
        if self.is_due:
            self._announced = announced

    def on_cancelled(self, snapshot: int) -> None:
        """Record that a snapshot has failed: another one is due if it was that of the request."""
        if self._announced is not None and self._announced.snapshot == snapshot:
            self._announced = None

    def answers(self, snapshot: int) -> str:
        """Return the id of the request that a snapshot answers, "" for none."""
        if self._request is None or self._announced is None:
            return ""
        return self._request.request if self._announced.snapshot == snapshot else ""

    def on_committed(self, snapshot: int) -> None:
        """Record that a snapshot is committed."""
        if not self.answers(snapshot):
            return
        assert self._announced is not None
        if self.is_last:
            self.drained_at = self._announced.position
        self._request = self._announced = None
