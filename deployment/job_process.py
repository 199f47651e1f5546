"""A process that waits to run a job, as the agent controls it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.starting import COMMAND

if TYPE_CHECKING:
    from fsql.deployment.directory import JobDirectory
    from fsql.runtime.drivers.processes.starting import StartProcess

PREPARE: Final = "prepare\n"
"""A line that the agent writes to a process whose job must start without delay."""

READY: Final = b"ready\n"
"""The answer when the processes of the job can be forked."""


class JobProcess:
    """A process that waits to run a job, as the agent controls it."""

    def __init__(self, start_process: StartProcess) -> None:
        self.process = start_process([*COMMAND, "job"])
        self.is_handed_over = False

    def is_running(self) -> bool:
        """Return whether the process runs."""
        return self.process.poll() is None

    def prepare(self, seconds: float) -> None:
        """Have it start the fork server of a job, and wait until that can fork processes."""
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
