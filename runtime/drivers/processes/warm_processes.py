"""Processes that have imported all modules, and wait to become the coordinator or a worker of a run.

To start Python and import takes seconds on a busy machine.  A job that is to continue soon with other
processes starts them before it stops.  A process gets its arguments, its working directory and its
descriptors through a socket; standard input and output are those of the launcher from the beginning.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.launcher import COMMAND, start_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

_READY: Final = b"."
_MESSAGE_BYTES_MAX: Final = 1 << 20
_DESCRIPTORS_MAX: Final = 64
_DESCRIPTORS_FROM: Final = 256
"""Descriptors that arrive are moved here before they get the numbers that they have in the launcher."""


class Orders(msgspec.Struct, frozen=True):
    """What a process becomes: its arguments, its working directory, and the numbers of its descriptors."""

    arguments: tuple[str, ...]
    directory: str
    descriptors: tuple[int, ...]


class WarmProcesses:
    """Processes that wait, each with its role; the launcher takes them in the place of new ones."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, subprocess.Popen[bytes], socket.socket]] = []

    def start(self, roles: Sequence[str]) -> None:
        """Start a process for each role, which is the name of a command."""
        for role in roles:
            ours, theirs = socket.socketpair()
            with theirs:
                number = theirs.fileno()
                process = start_process([*COMMAND, "warm", role, str(number)], [number])
            self._waiting.append((role, process, ours))

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until all have imported their modules, or ended, or the time is over."""
        until = time.monotonic() + seconds
        for _, _, connection in self._waiting:
            wait_readable([connection.fileno()], max(0.0, until - time.monotonic()))

    def take(self, command: Sequence[str], inherits: Sequence[int]) -> subprocess.Popen[bytes]:
        """Return a process that executes a command: one that waits, or a new one if there is none."""
        arguments = tuple(command[len(COMMAND) :])
        numbers = (sys.stderr.fileno(), *inherits)
        orders = msgspec.json.encode(Orders(arguments, str(Path.cwd()), numbers))
        for each in [each for each in self._waiting if each[0] == arguments[0]]:
            self._waiting.remove(each)
            _, process, connection = each
            with connection, suppress(OSError):
                socket.send_fds(connection, [orders], numbers)
                if process.poll() is None:
                    return process
            _end(process)
        return start_process(command, inherits)

    def close(self) -> None:
        """End the processes that were not taken."""
        while self._waiting:
            _, process, connection = self._waiting.pop()
            connection.close()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def wait_for_orders(descriptor: int) -> Sequence[str] | None:
    """Wait, as a warm process, for what to become; return the arguments, None if nobody needs the process.

    The working directory and the descriptors are then those of the orders.
    """
    with socket.socket(fileno=descriptor) as connection, suppress(OSError):
        connection.sendall(_READY)
        data, received, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES_MAX, _DESCRIPTORS_MAX)
        if not data:
            return None
        orders = msgspec.json.decode(data, type=Orders)
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _DESCRIPTORS_FROM) for each in received]
    for each in received:
        os.close(each)
    for each, number in zip(moved, orders.descriptors, strict=True):
        if number > sys.stderr.fileno() and _is_open(number):
            return None  # another file of this process has the number
        os.dup2(each, number)
        os.close(each)
    os.chdir(orders.directory)
    return orders.arguments


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
