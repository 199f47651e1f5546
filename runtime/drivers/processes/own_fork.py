"""The fork server as a fork of this process, which has imported all modules.

This saves importing them again in a new process.  It is possible in a command that has no other thread and
has opened nothing yet; a program that uses fsql as a library may have its own threads and locks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.descriptor_table import take_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STANDARD_ERROR: Final = 2


def can_fork() -> bool:
    """Return whether a fork of this process is as good as a new process."""
    standard = (sys.stdin, sys.stdout, sys.stderr)
    return hasattr(os, "pidfd_open") and None not in standard and threading.active_count() == 1


def _execute_and_exit(execute: Callable[[], None]) -> NoReturn:
    """Execute a function; exit.

    Below are the stack frames of the parent.  They must not handle an exception and continue as the parent.
    """
    try:
        execute()
    except Exception:  # noqa: BLE001 - a process of its own
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
    os._exit(0)


def fork_process(
    execute: Callable[[], None],
    open_descriptors: Callable[[], Sequence[int]],
    numbers: Sequence[int],
) -> int:
    """Return the id of a fork of this process, in its own session.

    It opens its descriptors, and has only these, by the given numbers, which include 0 to 2.  It executes the
    function, and ends without returning from here.  `sys.exit` in it passes through the stack frames of the
    parent: they must have no `finally` around this call.

    Raises:
        OSError: if no memory or no process number is left.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()  # otherwise the child would write the same text again
    # Ctrl-C must reach the parent only, even while the child is still in its session.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        pid = os.fork()
        if not pid:
            os.setsid()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if not pid:

        def execute_with_descriptors() -> None:
            take_descriptors(open_descriptors(), numbers)
            execute()

        _execute_and_exit(execute_with_descriptors)
    return pid


class ChildProcess:
    """A fork of this process that executes a function; see `PipedProcess`."""

    stdin: None = None
    stdout: None = None

    def __init__(self, execute: Callable[[int], None], descriptor: int) -> None:
        """Fork it: a session of its own, which has standard error and one more descriptor.

        It executes the function with this descriptor, and ends without returning from here.

        Raises:
            OSError: if no memory or no process number is left.
        """

        def open_descriptors() -> Sequence[int]:
            nothing = os.open(os.devnull, os.O_RDWR)
            return nothing, nothing, _STANDARD_ERROR, descriptor

        execution = partial(execute, descriptor)
        self.pid = fork_process(execution, open_descriptors, (*range(3), descriptor))
        self._pidfd = os.pidfd_open(self.pid)
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and wait_readable([self._pidfd], 0.0):
            self.wait()
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            if not wait_readable([self._pidfd], timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            _, status = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(status)
            os.close(self._pidfd)
        return self._status

    def kill(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
