"""Commands that start in a moment: forked from a process that has imported everything already.

    python -P -m fsql.tests.command_server DESCRIPTOR

is that process.  A `Command` is a `subprocess.Popen` whose process it forks: `fsql` from its first line on,
with its arguments, directory, environment and descriptors.  Tests of how Python starts do not use it.

Cannot catch: what depends on what was imported first.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from setproctitle import setproctitle

from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.descriptor_table import STANDARD, take_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FSQL: Final = (sys.executable, "-m", "fsql")
"""Starts `fsql` as a new process."""

_REQUEST_BYTES: Final = 1 << 20
_DESCRIPTORS_MAX: Final = 64
_MODULES: Final = (
    "fsql.cli",
    "fsql.console.check",
    "fsql.console.consume",
    "fsql.console.deploy",
    "fsql.console.process_run",
    "fsql.console.run",
    "fsql.console.snapshots",
    "fsql.console.ticks",
    "fsql.deployment.runner",
    "fsql.formats.csv.decoder",
    "fsql.formats.json.decoder",
    "fsql.job.entry_points",
)
"""What commands import late."""


class Request(msgspec.Struct, frozen=True):
    """A command to execute, and the numbers of its descriptors."""

    arguments: tuple[str, ...]
    directory: str
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    session: bool


class _Server:
    """The process that forks, and the socket to it."""

    def __init__(self) -> None:
        self.socket, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _REQUEST_BYTES)
        number = str(remote.fileno())
        command = [sys.executable, "-P", "-m", "fsql.tests.command_server", number]
        self._process = subprocess.Popen(command, pass_fds=[remote.fileno()])
        remote.close()
        atexit.register(self._end)

    def _end(self) -> None:
        self.socket.close()
        self._process.wait()


_servers: dict[int, _Server] = {}
"""That of this process, if it has started one."""
_asking = threading.Lock()
"""Held from a request to its answer: threads may start commands at the same time."""


def _server() -> _Server:
    if os.getpid() not in _servers:
        _servers[os.getpid()] = _Server()
    return _servers[os.getpid()]


class Command(subprocess.Popen[Any]):
    """A process that executes `fsql` with arguments."""

    _status: int
    _waitpid_lock: threading.Lock  # that of `subprocess`

    def _execute_child(self, args: Sequence[Any], *settings: Any) -> None:
        _, _, _, passed, cwd, env, _, _, _, *pipes = settings[:15]
        session = settings[20]
        pass_fds: tuple[int, ...] = tuple(sorted(passed))
        request = Request(
            tuple(map(str, args)),
            str(Path.cwd() if cwd is None else cwd),
            dict(os.environ if env is None else env),
            (*STANDARD, *pass_fds),
            session,
        )
        given = zip((pipes[0], pipes[3], pipes[5]), STANDARD, strict=True)
        standard: list[int] = [number if each == -1 else each for each, number in given]
        self._status, told = os.pipe()
        with _asking:
            connection = _server().socket
            data, descriptors = msgspec.json.encode(request), [told, *standard, *pass_fds]
            socket.send_fds(connection, [data], descriptors)
            self.pid = int.from_bytes(connection.recv(8), "big")
        os.close(told)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, **_: Any) -> int | None:
        # Another thread that waits has the lock, and reads the status.
        if not self._child_created or not self._waitpid_lock.acquire(blocking=False):
            return self.returncode
        try:
            if self.returncode is None and wait_readable([self._status], 0.0):
                self._handle_exitstatus(self._read_status())  # type: ignore[attr-defined]
        finally:
            self._waitpid_lock.release()
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        timeout = 0.0 if wait_flags & os.WNOHANG else None
        if wait_readable([self._status], timeout):
            return self.pid, self._read_status()
        return 0, 0

    def _read_status(self) -> int:
        """Return how the process has ended, as `os.waitpid` does."""
        status = os.read(self._status, 4)
        os.close(self._status)
        return int.from_bytes(status, "big")


def command_process(
    arguments: Sequence[str], *, prefix: Sequence[str], **settings: Any
) -> subprocess.Popen[Any]:
    """Start `fsql`; behind a prefix, such as `ip netns exec NAME`, as a new process."""
    if prefix:
        return subprocess.Popen([*prefix, *FSQL, *arguments], **settings)
    return Command(arguments, **settings)


def run_command(
    arguments: Iterable[str],
    *,
    check: bool,
    input: Any = None,
    timeout: float | None = None,
    **settings: Any,
) -> subprocess.CompletedProcess[Any]:
    """Execute `fsql` as `subprocess.run` executes commands."""
    if settings.pop("capture_output", False):
        settings.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if input is not None:
        settings["stdin"] = subprocess.PIPE
    command = [*arguments]
    with Command(command, **settings) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _serve(connection: socket.socket) -> Sequence[str] | None:
    """Fork a process for each request, and return its arguments there; None when nobody can ask any more."""
    descriptor, children = connection.fileno(), dict[int, tuple[int, int]]()
    while True:
        ready = wait_readable([descriptor, *children], None)
        for pidfd in children.keys() & set(ready):
            pid, told = children.pop(pidfd)
            status = os.waitpid(pid, 0)[1]
            os.close(pidfd)
            with suppress(BrokenPipeError):
                os.write(told, status.to_bytes(4, "big"))
            os.close(told)
        if descriptor not in ready:
            continue
        data, passed, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, _DESCRIPTORS_MAX)
        if not data:
            return None
        told, *received = passed
        pid = os.fork()
        if not pid:
            connection.detach()
            request = msgspec.json.decode(data, type=Request)
            _set_up(request, received)
            return request.arguments
        for each in received:
            os.close(each)
        children[os.pidfd_open(pid)] = pid, told
        connection.send(pid.to_bytes(8, "big"))


def _set_up(request: Request, received: Sequence[int]) -> None:
    """Give a process what a new one would have."""
    if request.session:
        os.setsid()
    take_descriptors(received, request.descriptors)
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    setproctitle(" ".join(("fsql", *request.arguments)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = ["fsql", *request.arguments]
    sys.stdin, sys.stdout, sys.stderr = map(_standard_stream, STANDARD)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _standard_stream(number: int) -> io.TextIOWrapper:
    """Return a stream as Python opens it."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED")) and number > 0
    raw: Any = open(  # noqa: SIM115 - it stays open
        number, "rb" if number == 0 else "wb", buffering=0 if unbuffered else -1
    )
    return io.TextIOWrapper(
        raw,
        encoding=sys.stdin.encoding,
        errors="backslashreplace" if number == STANDARD[-1] else sys.stdin.errors,
        newline=None if number == 0 else "\n",
        line_buffering=number == STANDARD[-1] or raw.isatty(),
        write_through=unbuffered,
    )


def _main(descriptor: int) -> None:
    from fsql.runtime.hidden_pandas import hide_pandas, show_pandas

    setproctitle(
        "fsql commands of tests"
    )  # its first call must come before any change of the environment
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the tests
    # In a fork an interrupt waits until the command begins.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    hide_pandas()
    for name in _MODULES:
        importlib.import_module(name)
    show_pandas()
    gc.freeze()
    if _serve(socket.socket(fileno=descriptor)) is not None:
        from fsql.__main__ import INTERRUPTED, main

        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        main()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
