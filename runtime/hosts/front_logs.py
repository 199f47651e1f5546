"""Front logs on the side of the coordinator, which trims them when snapshots no longer need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.cluster.manifest import Manifest
    from fsql.runtime.hosts.ports import FrontLog


class FrontLogs:
    """The logs of a job, by the numbers of their fronts."""

    def __init__(self, logs: Mapping[int, FrontLog]) -> None:
        self._logs = logs
        self._before: Manifest | None = None

    def on_committed(self, manifest: Manifest) -> None:
        """Remove the part that neither this snapshot needs nor the one before, which is kept with it.

        The manifests of older ones have been removed.  Either may need more: if the one before could not
        be restored, this one continues from another, which may lie before it.

        Raises:
            OSError: if it cannot be removed.
        """
        before, self._before = self._before, manifest
        if before is None:
            return
        needed = {point.front: point.byte for point in manifest.fronts}
        for point in before.fronts:
            if point.front in self._logs:
                byte = min(point.byte, needed.get(point.front, 0))
                self._logs[point.front].trim(byte)
