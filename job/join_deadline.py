"""How long a worker that was started by hand waits for messages from its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.runtime.cluster.members.failure_detector import FailureDetector
from fsql.runtime.wire.seal import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOTICE_AFTER_SECONDS: Final = 5.0
"""Seconds of silence after which the user is notified."""

JOIN_DEADLINE_SECONDS: Final = 60.0
"""By default, the seconds of silence after which the worker ends."""


class JoinDeadline:
    """Ends a worker that receives no messages from the run at `leader`."""

    def __init__(
        self,
        leader: str,
        key: Path,
        seconds: float,
        other_versions: Mapping[str, int],
        notify: Callable[[str], None],
    ) -> None:
        """`leader` and `key` are the address and the key of the run.

        `other_versions` has the wire formats of nodes with another version, by address; `notify` is called
        with messages for the user.
        """
        self._leader = self._address = leader
        self._key = key
        self._detector: FailureDetector[str] = FailureDetector(seconds)
        self._other_versions = other_versions
        self._notify = notify
        self._notified = False

    def start(self, now: float) -> None:
        """Begin to wait for messages."""
        self._detector.watch([self._leader], now)

    def on_leader(self, address: str) -> None:
        """Record the address of the coordinator, if `leader` is only the place where that is registered."""
        self._address = address

    def on_message(self, now: float) -> None:
        """Record a message from the run."""
        self._detector.on_heartbeat(self._leader, now)

    def check(self, now: float) -> None:
        """Notify the user once of each long silence.

        Raises:
            FsqlError: E604, if the deadline has passed; E605, if the run has another version.
        """
        if self._address in self._other_versions:
            raise _another_version(self._address, self._other_versions[self._address])
        if self._detector.has_failed(self._leader, now):
            seconds = self._detector.timeout
            message = f"no message from {self._leader} for {seconds:g} s"
            raise FsqlError([Diagnostic("E604", message, helps=(CODES["E604"].fix,))])
        silence = self._detector.silence(self._leader, now)
        notified, self._notified = self._notified, silence > NOTICE_AFTER_SECONDS
        if self._notified and not notified:
            self._notify(
                f"no message from {self._leader}: is a run there, and is {self._key} its key?\n"
            )


def _another_version(leader: str, theirs: int) -> FsqlError:
    message = f"the run at {leader} is of another version: its wire format is {theirs}"
    notes = (f"this worker's wire format is {VERSION}",)
    return FsqlError([Diagnostic("E605", message, notes=notes, helps=(CODES["E605"].fix,))])
