"""The workers that write shards, as the coordinator of one epoch knows them.

Contract.  `docs/internals/distribution.md`, section 5.  The writers of an epoch are the workers with which it
began, for as long as it lasts.  Each is sent the released position when it has stored everything below the
position before, so that a slow writer gets few large steps.  Before a manifest is committed, all writers have
to sync the rows that they have stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.events import ManifestNotCommitted
from fsql.runtime.cluster.frames import ReleaseShards, SyncShards
from fsql.runtime.dataflow.shard_exchange import writer_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.events import CommitManifest
    from fsql.runtime.cluster.frames import ShardsReleased, ShardsSynced
    from fsql.runtime.cluster.job_spec import JobSpec, Settings


class ShardWriters:
    """The bounds that were sent to writers, and the positions below which they have stored everything."""

    def __init__(self, spec: JobSpec, workers: int, start: Root, settings: Settings) -> None:
        """Begin at `start`.

        The coordinator writes the shards if there are too few workers, or if the job ends after a number of
        rows, which it has to count.
        """
        outputs = spec.outputs
        written = not spec.insert_limits and any(output.shard is not None for output in outputs)
        self.count = workers if written and workers >= settings.shard_writers_min else 0
        """How many workers write shards, from number 0 on."""
        self._writers = {
            number: writer_of(output.shard.number, self.count)
            for number, output in enumerate(outputs)
            if output.shard is not None and self.count
        }
        self.are_waited_for = any(outputs[number].option.is_waited_for for number in self._writers)
        self._bound = start
        self._bounds = dict.fromkeys(sorted(set(self._writers.values())), start)
        self._stored = dict(self._bounds)
        self._committing: CommitManifest | None = None
        self._unsynced: set[int] = set()

    @property
    def outputs(self) -> frozenset[int]:
        """Return the numbers of the outputs that workers write."""
        return frozenset(self._writers)

    def stored_position(self, output: int) -> Root:
        """Return the position below which the writer of an output has reported everything as stored."""
        return self._stored[self._writers[output]]

    @property
    def stored_below(self) -> Collection[Root]:
        """Return the positions below which the writers have stored everything."""
        return self._stored.values()

    def advance(self, bound: Root) -> None:
        """Record that everything below `bound` is released."""
        self._bound = max(self._bound, bound)

    def take_releases(self) -> list[tuple[int, ReleaseShards]]:
        """Return the next bound for each writer that has stored everything below its last one."""
        due = [
            writer
            for writer, bound in self._bounds.items()
            if bound == self._stored[writer] and bound < self._bound
        ]
        self._bounds |= dict.fromkeys(due, self._bound)
        return [(writer, ReleaseShards(self._bound)) for writer in due]

    def on_released(self, writer: int, item: ShardsReleased) -> None:
        """Record that a writer has stored everything below a bound."""
        assert item.bound == self._bounds[writer]
        self._stored[writer] = item.bound

    def sync(self, commit: CommitManifest) -> list[tuple[int, SyncShards]]:
        """Have all writers sync before a manifest is committed; return the items to send to them."""
        if self._bounds:
            self._committing, self._unsynced = commit, set(self._bounds)
        return [(writer, SyncShards(commit.manifest.snapshot)) for writer in self._bounds]

    def on_synced(
        self, writer: int, item: ShardsSynced
    ) -> CommitManifest | ManifestNotCommitted | None:
        """Record that a writer has synced, or could not; return the commit, or its failure, once decided."""
        commit = self._committing
        if commit is None or commit.manifest.snapshot != item.snapshot:
            return None
        self._unsynced.discard(writer)
        if item.reason:
            self._committing = None
            manifest = commit.manifest
            return ManifestNotCommitted(manifest.epoch, manifest.snapshot, item.reason)
        if self._unsynced:
            return None
        self._committing = None
        return commit
