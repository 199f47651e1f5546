"""Front logs as the coordinator's process has them: cut short when snapshots no longer need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.front_log import sync, trim

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.cluster.manifest import Manifest


class FrontLogs:
    """The logs of a job, each by the number of the front that reads it."""

    def __init__(self, directories: Mapping[int, Path]) -> None:
        self._directories = directories
        self._before: Manifest | None = None

    def sync(self) -> None:
        """Return when all that was read of the logs survives the loss of power.

        Raises:
            OSError: if the disk fails.
        """
        for directory in self._directories.values():
            sync(directory)

    def committed(self, manifest: Manifest) -> None:
        """Remove what neither this snapshot needs nor the one before, which is kept with it.

        Either may be the one that needs more: where the one before could not be restored, this one goes on
        from another, which may lie before it.

        Raises:
            OSError: if it cannot be removed.
        """
        before, self._before = self._before, manifest
        if before is None:
            return
        needed = {point.front: point.byte for point in manifest.fronts}
        for point in before.fronts:
            if point.front in self._directories:
                byte = min(point.byte, needed.get(point.front, 0))
                trim(self._directories[point.front], byte)
