"""A process that has imported all modules, and forks the processes of a run.

Starting Python and importing modules takes half a second of processor time, and seconds on a busy machine.  A
fork takes milliseconds, and shares the memory of modules.  So a run has one process that has imported them,
and all others are forked from it, including replacements.  The fork server has a single Python thread, opens
no files and runs no queries, so a forked process has the same state as a new one.

It receives the arguments, the working directory and the descriptors of each process through a socket, and
answers with its pidfd.  The launcher watches and ends a process by its pidfd, even when the fork server
itself has ended.  In that case, the next process is started without it, and a new fork server is started.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

import msgspec
from setproctitle import setproctitle

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.descriptor_table import STANDARD, take_descriptors
from fsql.runtime.drivers.processes.own_fork import ChildProcess, can_fork
from fsql.runtime.drivers.processes.process_role import FORK_SERVER, set_role
from fsql.runtime.drivers.processes.starting import COMMAND, PipedProcess, start_process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

START_SECONDS_MAX: Final = 120.0
"""Seconds until the first answer: the fork server imports many modules, and the machine may be busy."""

ANSWER_SECONDS_MAX: Final = 10.0
"""Seconds until a later answer; after that, the fork server is considered hung, and is replaced."""

LOST_MAX: Final = 8
"""How many fork servers may end before the run does; after that, processes are started without one."""

UNKNOWN_STATUS: Final = 255
"""The status of a process whose fork server, which would know it, has ended."""

_STATUS_SECONDS_MAX: Final = 1.0
_MESSAGE_BYTES_MAX: Final = 1 << 20
_DESCRIPTORS_MAX: Final = 64


class ForkServerReady(msgspec.Struct, frozen=True, tag=True):
    """The fork server has imported its modules."""


class ForkRequest(msgspec.Struct, frozen=True):
    """A process to fork: its arguments, its working directory, and the numbers of its descriptors.

    If the directory is "", the process gets that of the fork server.
    """

    arguments: tuple[str, ...]
    directory: str
    descriptors: tuple[int, ...]


class Forked(msgspec.Struct, frozen=True, tag=True):
    """A process was forked; its pidfd is sent with the message."""

    pid: int


class Exited(msgspec.Struct, frozen=True, tag=True):
    """A process has ended; `status` is that of `subprocess.Popen.returncode`."""

    pid: int
    status: int


class _LostError(Exception):
    """The fork server has ended, or does not answer."""


class ForkServer:
    """The fork server of a run or an agent; its launcher may use it in several threads."""

    def __init__(self, serve_here: Callable[[int], None] | None = None) -> None:
        """Start it; it imports its modules while the run is prepared.

        Args:
            serve_here: is given a descriptor, calls `serve`, and executes what that returns.  With it, the
                fork server is a fork of this process if that is possible: this process has imported all
                modules, and has no thread, socket or file yet.
        """
        self._lost = 0
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._begin(serve_here if can_fork() else None)

    def __enter__(self) -> Self:
        """Return it; it ends with the context."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the fork server; the processes that it has forked continue."""
        self.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Wait up to `seconds` until it has imported its modules or ended."""
        if self._server is not None:
            with suppress(_LostError):
                self._server.wait_until_ready(seconds)

    def start(
        self, command: Sequence[str], inherits: Sequence[int] = (), *, piped: bool = True
    ) -> PipedProcess:
        """Fork a process that executes a command; start a new one if that is not possible.

        See `StartProcess`.
        """
        with self._lock:
            if self._server is not None:
                try:
                    return self._server.fork(command, inherits, piped=piped)
                except (_LostError, OSError):
                    self.close()
                    self._lost += 1
                    self._begin()
        return start_process(command, inherits, piped=piped)

    def close(self) -> None:
        """End the fork server."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def _begin(self, serve_here: Callable[[int], None] | None = None) -> None:
        if self._lost < LOST_MAX and hasattr(os, "pidfd_open"):
            with suppress(OSError):  # no memory or no process number is left
                self._server = _Server(serve_here)


class _Server:
    """One process that forks others, and the socket to it."""

    def __init__(self, serve_here: Callable[[int], None] | None) -> None:
        """Start it.

        Raises:
            OSError: if it cannot be started.
        """
        self._connection, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._is_ready = False
        self._lock = threading.Lock()
        self._statuses: dict[int, int] = {}
        try:
            number = remote.fileno()
            self.process: PipedProcess = (
                start_process([*COMMAND, FORK_SERVER, str(number)], [number])
                if serve_here is None
                else ChildProcess(partial(self._serve, serve_here, remote), number)
            )
        except OSError:
            self._connection.close()
            raise
        finally:
            remote.close()

    def _serve(
        self, serve_here: Callable[[int], None], remote: socket.socket, descriptor: int
    ) -> None:
        """Execute the fork server in a fork of this process; the descriptor is that of `remote`."""
        self._connection.detach()  # is closed; its number may be that of another descriptor
        remote.detach()
        serve_here(descriptor)

    def wait_until_ready(self, seconds: float) -> None:
        """Wait up to `seconds` until it has imported its modules.

        Raises:
            _LostError: if it has ended.
        """
        if not self._is_ready and wait_readable([self._connection.fileno()], seconds):
            self._receive()
            self._is_ready = True

    def fork(
        self, command: Sequence[str], inherits: Sequence[int], *, piped: bool
    ) -> ForkedProcess:
        """Return a process that executes a command.

        Raises:
            _LostError: if the fork server has ended, or does not answer.
            OSError: if there are no descriptors left.
        """
        self.wait_until_ready(START_SECONDS_MAX)
        arguments = tuple(command[len(COMMAND) :])
        request = ForkRequest(arguments, _working_directory(), (*STANDARD, *inherits))
        with ExitStack() as of_child, ExitStack() as ours:
            pipes: list[IO[bytes]] = []
            standard = STANDARD
            if piped:
                child_in, parent_in = os.pipe()
                of_child.callback(os.close, child_in)
                pipes.append(ours.enter_context(os.fdopen(parent_in, "wb")))
                parent_out, child_out = os.pipe()
                of_child.callback(os.close, child_out)
                pipes.append(ours.enter_context(os.fdopen(parent_out, "rb")))
                standard = child_in, child_out, STANDARD[2]
            else:
                nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                of_child.callback(os.close, nothing)
                standard = nothing, *STANDARD[1:]
            with self._lock:
                pid, pidfd = self._request(request, (*standard, *inherits))
            ours.pop_all()
        return ForkedProcess(self, pid, pidfd, *(pipes or (None, None)))

    def _request(self, request: ForkRequest, descriptors: Sequence[int]) -> tuple[int, int]:
        """Return the number and the pidfd of a new process."""
        try:
            socket.send_fds(self._connection, [msgspec.json.encode(request)], descriptors)
        except OSError as error:
            raise _LostError from error
        until = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            if not wait_readable([self._connection.fileno()], max(0.0, until - time.monotonic())):
                raise _LostError
            answer, received = self._receive()
            if isinstance(answer, Forked):
                return answer.pid, received[0]

    def status_of(self, pid: int) -> int:
        """Return the status of a process that has ended."""
        until = time.monotonic() + _STATUS_SECONDS_MAX
        with self._lock, suppress(_LostError):
            while pid not in self._statuses and self._connection.fileno() >= 0:
                left = max(0.0, until - time.monotonic())
                if not wait_readable([self._connection.fileno()], left):
                    break
                self._receive()
        return self._statuses.pop(pid, UNKNOWN_STATUS)

    def _receive(self) -> tuple[ForkServerReady | Forked | Exited, Sequence[int]]:
        """Return the next message, which has arrived, and the descriptors that it carries."""
        try:
            data, received, _, _ = socket.recv_fds(
                self._connection, _MESSAGE_BYTES_MAX, _DESCRIPTORS_MAX
            )
        except OSError as error:
            raise _LostError from error
        if not data:
            raise _LostError
        message = msgspec.json.decode(data, type=ForkServerReady | Forked | Exited)
        if isinstance(message, Exited):
            self._statuses[message.pid] = message.status
        return message, received

    def end(self) -> None:
        """End it, and release what belongs to it."""
        self._connection.close()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class ForkedProcess:
    """A process that was forked; see `PipedProcess`."""

    def __init__(
        self,
        server: _Server,
        pid: int,
        pidfd: int,
        stdin: IO[bytes] | None,
        stdout: IO[bytes] | None,
    ) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._server = server
        self._pidfd = pidfd
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and wait_readable([self._pidfd], 0.0):
            self._end()
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            if not wait_readable([self._pidfd], timeout):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            self._end()
        assert self._status is not None
        return self._status

    def kill(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _end(self) -> None:
        self._status = self._server.status_of(self.pid)
        os.close(self._pidfd)


def _working_directory() -> str:
    """Return the working directory, "" if it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def serve(descriptor: int) -> Sequence[str] | None:
    """Fork the processes requested through a socket, until the launcher ends; then return None.

    In each process that was forked, return its arguments: it executes them, and has its own working directory
    and descriptors.
    """
    setproctitle(f"fsql {FORK_SERVER}")
    set_role(FORK_SERVER)
    gc.collect()
    gc.freeze()  # then the collector does not write to objects from before the fork: their pages stay shared
    children: dict[int, int] = {}
    with socket.socket(fileno=descriptor) as connection, suppress(ConnectionError):
        connection.send(msgspec.json.encode(ForkServerReady()))
        while True:
            ready = wait_readable([descriptor, *children], None)
            for pidfd in children.keys() & set(ready):
                pid, status = os.waitpid(children.pop(pidfd), 0)
                os.close(pidfd)
                connection.send(msgspec.json.encode(Exited(pid, os.waitstatus_to_exitcode(status))))
            if descriptor not in ready:
                continue
            data, received, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES_MAX, _DESCRIPTORS_MAX)
            if not data:
                break
            request = msgspec.json.decode(data, type=ForkRequest)
            pid = os.fork()
            if not pid:
                connection.detach()
                _set_up_child(request, received)
                return request.arguments
            for each in received:
                os.close(each)
            pidfd = os.pidfd_open(pid)
            children[pidfd] = pid
            socket.send_fds(connection, [msgspec.json.encode(Forked(pid))], [pidfd])
    return None


def _set_up_child(request: ForkRequest, received: Sequence[int]) -> None:
    """Give a forked process its own session, name, directory and descriptors; close all others."""
    os.setsid()
    setproctitle(" ".join(("fsql", *request.arguments)))
    set_role(request.arguments[0])
    take_descriptors(received, request.descriptors)
    if request.directory:
        os.chdir(request.directory)
