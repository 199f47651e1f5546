"""How long a worker that was started by hand waits for its run, and what it says when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.console.reporter import print_message
from fsql.runtime.wire.seal import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOLD_AFTER_SECONDS: Final = 5.0
"""How long nothing comes before that is told."""

JOIN_DEADLINE_SECONDS: Final = 60.0
"""How long nothing comes before the worker ends, unless it is told otherwise."""


class JoinDeadline:
    """One worker's, with the run at `leader`."""

    def __init__(
        self, leader: str, key: Path, seconds: float, other_versions: Mapping[str, int]
    ) -> None:
        """Take the run's address and key, and who turns out to speak another version, by address."""
        self._leader = leader
        self._key = key
        self._seconds = seconds
        self._other_versions = other_versions
        self._told = False

    def wait(self, silent_seconds: float) -> None:
        """Wait, after so long a silence; say so once.

        Raises:
            FsqlError: E604, if that was long enough; E605, if the run is of another version.
        """
        if self._leader in self._other_versions:
            raise _another_version(self._leader, self._other_versions[self._leader])
        if silent_seconds > self._seconds:
            message = f"nothing has been heard from {self._leader} for {self._seconds:g} s"
            raise FsqlError([Diagnostic("E604", message, helps=(CODES["E604"].fix,))])
        told, self._told = self._told, silent_seconds > TOLD_AFTER_SECONDS
        if self._told and not told:
            print_message(
                f"nothing is heard from {self._leader}: is a run there, and is {self._key} its key?\n"
            )


def _another_version(leader: str, theirs: int) -> FsqlError:
    message = f"the run at {leader} is of another version: its wire format is {theirs}"
    notes = (f"this worker's wire format is {VERSION}",)
    return FsqlError([Diagnostic("E605", message, notes=notes, helps=(CODES["E605"].fix,))])
