"""A process of the agent that has imported all modules, and waits to run a job."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.runtime.drivers.descriptors import wait_readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.deployment.directory import JobDirectory

RUNNER: Final = (sys.executable, "-P", "-m", "fsql", "job")

ROLES: Final = "roles "
"""With this begins a line that the agent writes to a spare process; the names of roles follow."""

READY: Final = b"ready\n"
"""The answer, when a process for each role waits."""


class SpareProcess:
    """The process, as the agent sees it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [*RUNNER, "--spare"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.is_handed_over = False

    def is_running(self) -> bool:
        """Return whether the process runs."""
        return self.process.poll() is None

    def warm(self, roles: Sequence[str], seconds: float) -> None:
        """Let it start a process for each role, and wait until they have imported their modules."""
        assert self.process.stdout is not None
        if self._write(f"{ROLES}{' '.join(roles)}\n"):
            wait_readable([self.process.stdout.fileno()], seconds)

    def run(self, job: JobDirectory) -> bool:
        """Let it run a job; return False if it has ended."""
        self._write(f"{job.path}\n")
        self._close()
        self.is_handed_over = True
        return self.is_running()

    def end(self) -> None:
        """End it and wait until it has ended."""
        self._close()
        self.process.wait()

    def _write(self, line: str) -> bool:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
            return True
        return False

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
