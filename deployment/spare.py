"""A spare process, which has imported all modules and waits to run a job, as the agent controls it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.runtime.drivers.descriptors import wait_readable

if TYPE_CHECKING:
    from fsql.deployment.directory import JobDirectory

RUNNER: Final = (sys.executable, "-P", "-m", "fsql", "job")

PREPARE: Final = "prepare\n"
"""A line that the agent writes to a spare process whose job must start without delay."""

READY: Final = b"ready\n"
"""The answer when the processes of the job can be forked."""


class SpareProcess:
    """The spare process, as the agent controls it."""

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

    def prepare(self, seconds: float) -> None:
        """Have it start the fork server of a job, and wait until that has imported its modules."""
        assert self.process.stdout is not None
        if self._write(PREPARE):
            wait_readable([self.process.stdout.fileno()], seconds)

    def run(self, job: JobDirectory) -> bool:
        """Have it run a job; return False if it has ended."""
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
