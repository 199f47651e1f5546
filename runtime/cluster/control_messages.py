"""The messages by which a coordinator leads its workers; they travel outside of links and may get lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Goodbye, Heartbeat
from fsql.runtime.cluster.manifest import manifest_bytes
from fsql.runtime.cluster.node import Transmit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.manifest import Manifest


class ControlMessages:
    """Makes the messages of the coordinator of one job."""

    def __init__(self, spec: JobSpec, address: str) -> None:
        """Make messages that tell workers to answer to `address`."""
        self._spec = spec
        self._address = address

    def begin(
        self,
        epoch: CoordinatorEpoch,
        manifest: Manifest | None,
        workers: Iterable[tuple[str, str]],
    ) -> list[Transmit]:
        """Tell the workers of an epoch, given by name and address, to load the manifest."""
        spec = self._spec
        assert manifest is None or manifest.epoch <= epoch.number
        data = b"" if manifest is None else manifest_bytes(manifest)
        return [
            Transmit(
                address,
                Begin(
                    spec.job,
                    spec.tick,
                    epoch.number,
                    worker,
                    number,
                    self._address,
                    epoch.addresses,
                    spec.description,
                    data,
                    epoch.detector.timeout,
                    epoch.owners.ranges,
                ),
            )
            for number, (worker, address) in enumerate(workers)
        ]

    def heartbeats(
        self, addresses: Sequence[str], epoch: CoordinatorEpoch | None
    ) -> list[Transmit]:
        """Tell workers that there is a coordinator."""
        beat = Heartbeat(self._spec.job, _number(epoch), COORDINATOR)
        return [Transmit(address, beat) for address in addresses]

    def end_epoch(self, addresses: Iterable[str], epoch: int) -> list[Transmit]:
        """Tell workers that the epoch of that number is over."""
        goodbye = Goodbye(self._spec.job, epoch, COORDINATOR, finished=False)
        return [Transmit(address, goodbye) for address in addresses]

    def end_job(self, addresses: Iterable[str], epoch: CoordinatorEpoch | None) -> list[Transmit]:
        """Tell workers that the job is finished."""
        goodbye = Goodbye(self._spec.job, _number(epoch), COORDINATOR, finished=True)
        return [Transmit(address, goodbye) for address in addresses]


def _number(epoch: CoordinatorEpoch | None) -> int:
    return 0 if epoch is None else epoch.number
