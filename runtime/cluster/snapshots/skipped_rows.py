"""The rows that at-most-once skips after a failure, committed before any other rows are read.

Rows that were read before the failure may have been delivered in part, so they are never read again.  An
epoch that skips rows commits a manifest that lists them, and commits it twice: if the newest manifest is
damaged, the one before it has to list them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.plan_choices import choices_of
from fsql.runtime.batch import START
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.snapshots.epoch_snapshots import first_number
from fsql.runtime.cluster.snapshots.manifest import Manifest, skipped_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.epoch import CoordinatorEpoch
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.snapshots.manifest import SkippedRange


class SkippedRows:
    """The rows that epochs of one job skip, for the failures that this coordinator has seen."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._promises: dict[int, Root] = {}

    def on_epoch_lost(self, promises: Mapping[int, Root]) -> None:
        """Record the promise of each front when an epoch was lost, which shows how far it had read."""
        self._promises = dict(promises)

    def manifest(self, epoch: CoordinatorEpoch, start: Manifest | None) -> Manifest | None:
        """Return the manifest to commit before the epoch reads anything, None if it skips nothing.

        `start` is the manifest that the epoch starts from.
        """
        skipped = self._ranges(epoch)
        if not skipped and (start is None or not start.skipped):
            return None
        before = start or _empty_manifest(self._spec, epoch.number)
        return before.with_skipped(skipped, epoch.number, first_number(epoch.number))

    @staticmethod
    def second_manifest(manifest: Manifest, epoch: int) -> Manifest | None:
        """Return the manifest to commit after this one; None if this was the second."""
        if manifest.snapshot != first_number(epoch):
            return None
        return msgspec.structs.replace(manifest, snapshot=manifest.snapshot + 1)

    def _ranges(self, epoch: CoordinatorEpoch) -> tuple[SkippedRange, ...]:
        options = {output.option for output in self._spec.outputs}
        if options != {DeliveryOption.AT_MOST_ONCE}:
            return ()
        return skipped_ranges(self._promises, epoch.deliveries.max_stored_position())


def _empty_manifest(spec: JobSpec, epoch: int) -> Manifest:
    """Return the manifest of a job without snapshots: it starts from the beginning."""
    return Manifest(
        job=spec.job,
        tick=spec.tick,
        epoch=epoch,
        snapshot=0,
        position=(START.time, START.origin),
        workers=spec.plan.workers,
        owners=spec.plan.assignment.owners.ranges,
        exchanges=spec.plan.assignment.owners.exchange_ranges,
        choices=choices_of(spec.plan),
        segments=(),
        fronts=(),
        graph=spec.graph,
    )
