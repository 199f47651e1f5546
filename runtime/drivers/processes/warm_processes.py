"""Processes that have imported all modules, and wait to become the coordinator or a worker of a run.

To start Python and import takes seconds on a busy machine.  A job keeps a spare process, and a job that is to
continue soon with other processes starts them before it stops.  A process gets its arguments, its working
directory and its descriptors through a socket.  Its standard input and output are pipes to the launcher from
the beginning.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.starting import COMMAND, start_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

_READY: Final = b"."
_MESSAGE_BYTES_MAX: Final = 1 << 20
_DESCRIPTORS_MAX: Final = 64
_STANDARD_ERROR: Final = 2


class Orders(msgspec.Struct, frozen=True):
    """What a process becomes: its arguments, its working directory, and the numbers of its descriptors."""

    arguments: tuple[str, ...]
    directory: str
    descriptors: tuple[int, ...]


class WarmProcess:
    """A process that imports all modules, and then waits for what to become."""

    def __init__(self, role: str) -> None:
        """Start it; `role` is for those who list processes.

        Raises:
            OSError: if it cannot be started.
        """
        self.role = role
        self._connection, theirs = socket.socketpair()
        try:
            number = theirs.fileno()
            self.process = start_process([*COMMAND, "warm", role, str(number)], [number])
        except OSError:
            self._connection.close()
            raise
        finally:
            theirs.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until it has imported its modules, or ended, or the time is over."""
        wait_readable([self._connection.fileno()], seconds)

    def become(self, command: Sequence[str], inherits: Sequence[int]) -> bool:
        """Let it execute a command with the given descriptors; if it cannot, end it and return False."""
        numbers = (_STANDARD_ERROR, *inherits)
        with suppress(OSError):
            orders = Orders(tuple(command[len(COMMAND) :]), str(Path.cwd()), numbers)
            socket.send_fds(self._connection, [msgspec.json.encode(orders)], numbers)
            if self.process.poll() is None:
                self._connection.close()
                return True
        self.end()
        return False

    def end(self) -> None:
        """End it, and release what belongs to it."""
        self._connection.close()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


class WarmProcesses:
    """Processes that wait, each with its role; the launcher takes them in the place of new ones."""

    def __init__(self) -> None:
        self._waiting: list[WarmProcess] = []

    def start(self, roles: Sequence[str]) -> None:
        """Start a process for each role, which is the name of a command."""
        self._waiting.extend(map(WarmProcess, roles))

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until all have imported their modules, or ended, or the time is over."""
        until = time.monotonic() + seconds
        for each in self._waiting:
            each.wait_until_ready(max(0.0, until - time.monotonic()))

    def take(self, command: Sequence[str], inherits: Sequence[int]) -> subprocess.Popen[bytes]:
        """Return a process that executes a command: one that waits, or a new one if there is none."""
        role = command[len(COMMAND)]
        for each in [each for each in self._waiting if each.role == role]:
            self._waiting.remove(each)
            if each.become(command, inherits):
                return each.process
        return start_process(command, inherits)

    def close(self) -> None:
        """End the processes that were not taken."""
        while self._waiting:
            self._waiting.pop().end()


def wait_for_orders(descriptor: int) -> Sequence[str] | None:
    """Wait, as a warm process, for what to become; return the arguments, None if nobody needs the process.

    The working directory and the descriptors are then those of the orders.
    """
    try:
        with socket.socket(fileno=descriptor) as connection:
            with suppress(
                OSError
            ):  # the orders may have come already, and the other end may be closed
                connection.sendall(_READY)
            data, received, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES_MAX, _DESCRIPTORS_MAX)
        if not data:
            return None  # the launcher has ended
        orders = msgspec.json.decode(data, type=Orders)
        if not _give_numbers(received, orders.descriptors):
            return None
        os.chdir(orders.directory)
    except OSError:
        return None  # the launcher starts a new process
    return orders.arguments


def _give_numbers(received: Sequence[int], numbers: Sequence[int]) -> bool:
    """Give descriptors the numbers that they have in the launcher; return False if one is in use."""
    above = max(*received, *numbers) + 1
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, above) for each in received]
    for each in received:
        os.close(each)
    for each, number in zip(moved, numbers, strict=True):
        if number > _STANDARD_ERROR and _is_open(number):
            return False
        os.dup2(each, number)
        os.close(each)
    return True


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
