"""The front logs as the coordinator uses them: it trims the parts that no snapshot needs any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.hosts.ports import FrontLog


class FrontLogs:
    """The logs of a job, by the numbers of their fronts."""

    def __init__(self, logs: Mapping[int, FrontLog]) -> None:
        self._logs = logs
        self._before: Manifest | None = None

    def on_committed(self, manifest: Manifest) -> None:
        """Remove the part that neither this snapshot nor the one before needs.

        The manifests of older snapshots have been removed.  The newer of the two snapshots may need an
        earlier byte than the older one: if the older one could not be restored, the job has continued from
        one before it.

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
