"""The control messages of a coordinator to its workers: they are sent outside of links, and may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Goodbye, Heartbeat
from fsql.runtime.cluster.manifest import manifest_bytes
from fsql.runtime.cluster.node import Received, Transmit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
    from fsql.runtime.cluster.coordinator_events import CoordinatorEvent
    from fsql.runtime.cluster.frames import Frame
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.manifest import Manifest


class ControlMessages:
    """Makes the messages of the coordinator of one job."""

    def __init__(self, spec: JobSpec, address: str) -> None:
        """Make messages to which workers reply at `address`."""
        self._spec = spec
        self._address = address

    def begin(
        self,
        epoch: CoordinatorEpoch,
        manifest: Manifest | None,
        names: Mapping[int, str],
    ) -> list[Transmit]:
        """Instruct the workers of an epoch that are not ready to load the manifest.

        `names` are those of the workers, by number.  A worker that joins has no state and no fronts; fronts
        may move to it later, and it skips the same rows of them as other workers.
        """
        spec = self._spec
        assert manifest is None or manifest.epoch <= epoch.number
        data = b"" if manifest is None else manifest_bytes(manifest)
        if manifest is not None and epoch.running:
            empty = msgspec.structs.replace(manifest, segments=(), fronts=())
            data = manifest_bytes(empty)
        return [
            Transmit(
                address,
                Begin(
                    spec.job,
                    spec.tick,
                    epoch.number,
                    names[number],
                    number,
                    self._address,
                    tuple(epoch.addresses[member] for member in epoch.members.numbers),
                    spec.description,
                    data,
                    epoch.detector.timeout,
                    epoch.ticks.owners.ranges,
                    tuple(epoch.members.numbers),
                    epoch.ticks.choices,
                    tuple(epoch.ticks.readers),
                    epoch.writers.count,
                    epoch.ticks.owners.exchange_ranges,
                ),
            )
            for number, address in epoch.addresses.items()
            if number in epoch.members.joining or not epoch.running
        ]

    def heartbeats(
        self, addresses: Iterable[str], epoch: CoordinatorEpoch | None
    ) -> list[Transmit]:
        """Send heartbeats to workers."""
        beat = Heartbeat(self._spec.job, _number(epoch), COORDINATOR)
        return [Transmit(address, beat) for address in addresses]

    def end_epoch(self, addresses: Iterable[str], epoch: int, member: int = -1) -> list[Transmit]:
        """Notify workers that an epoch is over, or that it is over for worker number `member` only."""
        goodbye = Goodbye(self._spec.job, epoch, COORDINATOR, finished=False, member=member)
        return [Transmit(address, goodbye) for address in addresses]

    def end_part(self, what: Frame | Heartbeat, address: str) -> list[Transmit]:
        """Notify the sender of a message that its part in the epoch is over."""
        if what.job != self._spec.job or what.sender == COORDINATOR:
            return []
        return self.end_epoch([address], what.epoch, what.sender)

    def end_job(self, addresses: Iterable[str], epoch: CoordinatorEpoch | None) -> list[Transmit]:
        """Notify workers that the job is finished."""
        goodbye = Goodbye(self._spec.job, _number(epoch), COORDINATOR, finished=True)
        return [Transmit(address, goodbye) for address in addresses]

    def repeat_end(self, event: CoordinatorEvent, epoch: CoordinatorEpoch | None) -> list[Transmit]:
        """Notify the sender of a message once more that the job is finished."""
        if not isinstance(event, Received) or isinstance(event.what, Goodbye):
            return []
        return self.end_job([event.source], epoch)


def _number(epoch: CoordinatorEpoch | None) -> int:
    return 0 if epoch is None else epoch.number
