"""How processes of fsql are started: the command, and the pipes to a process."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND: Final = (sys.executable, "-P", "-m", "fsql")
"""Starts fsql.  -P: modules are not imported from the working directory."""


class StartProcess(Protocol):
    """Starts a process with pipes as standard input and output."""

    def __call__(self, command: Sequence[str], inherits: Sequence[int]) -> subprocess.Popen[bytes]:
        """Return a process that executes a command, and inherits descriptors."""


def start_process(command: Sequence[str], inherits: Sequence[int]) -> subprocess.Popen[bytes]:
    """See `StartProcess`."""
    return subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=inherits,
    )
