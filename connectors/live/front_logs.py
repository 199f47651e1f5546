"""The front log that a coordinator trims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live import front_log

if TYPE_CHECKING:
    from pathlib import Path


class LocalFrontLog:
    """A `FrontLog` in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def trim(self, byte: int) -> None:
        """Remove segments that are not needed for reading from `byte` on."""
        front_log.trim(self._directory, byte)
