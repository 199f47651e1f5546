"""How processes of fsql are started: the command, and the pipes to a process."""

from __future__ import annotations

import subprocess
import sys
from typing import IO, TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND: Final = (sys.executable, "-P", "-m", "fsql")
"""Starts fsql.  -P: modules are not imported from the working directory."""


class PipedProcess(Protocol):
    """A process with pipes as standard input and output: the part of `subprocess.Popen` that is used."""

    @property
    def pid(self) -> int:
        """Return the process ID."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Return the pipe to its standard input."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Return the pipe from its standard output."""

    def poll(self) -> int | None:
        """Return its status as `Popen.poll` does, None if it still runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, and return its status.

        Raises:
            subprocess.TimeoutExpired: if it has not ended in time.
        """

    def kill(self) -> None:
        """Send it SIGKILL."""


class StartProcess(Protocol):
    """Starts a process in its own session."""

    def __call__(
        self, command: Sequence[str], inherits: Sequence[int] = (), *, piped: bool = True
    ) -> PipedProcess:
        """Return a process that executes a command, and inherits descriptors and standard error.

        It has pipes as standard input and output; without `piped`, it has no input, and inherits the output.
        """


def start_process(
    command: Sequence[str], inherits: Sequence[int] = (), *, piped: bool = True
) -> subprocess.Popen[bytes]:
    """See `StartProcess`."""
    return subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
        stdout=subprocess.PIPE if piped else None,
        start_new_session=True,
        pass_fds=inherits,
    )
