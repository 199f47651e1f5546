"""Front logs as the coordinator's process has them: cut short when snapshots no longer need them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.runtime.connectors.front_log import segments, trim

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.protocol.manifest import Manifest


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
            for segment in segments(directory)[-2:]:
                descriptor = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def committed(self, manifest: Manifest) -> None:
        """Remove what neither this snapshot needs nor the one before, which is kept with it.

        Raises:
            OSError: if it cannot be removed.
        """
        before, self._before = self._before, manifest
        if before is None:
            return
        for point in before.fronts:
            if point.front in self._directories:
                trim(self._directories[point.front], point.byte)
