"""A ZooKeeper server in its own process, run from the jars that PySpark contains.

It listens on the loopback only: the traffic is not encrypted, and clients are not authenticated until they
are asked to.  The administration server and the four-letter commands are off.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.records import dataclass
from fsql.runtime.drivers.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.runtime.drivers.java import Java

HOST: Final = "127.0.0.1"
LOG: Final = "zookeeper.log"
"""The server's log, in its directory."""

_STANDALONE: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_OF_ENSEMBLE: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_JARS: Final = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "netty-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
)
"""The jars that the server needs of PySpark's 250, which take seconds to open."""

_CONFIGURATION_FILE: Final = "zoo.cfg"
_DATA: Final = "data"
_LOGGING_FILE: Final = "log4j2.properties"
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02
_LINES_SHOWN: Final = 3

_CONNECT: Final = struct.pack(">iiqiqi16sB", 45, 0, 0, 1000, 0, 16, b"", 0)
_CLOSE: Final = struct.pack(">iii", 8, 1, -11)
"""The requests that open a session and close it."""

_LOGGING: Final = """\
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %m%n
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 4MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The configuration of a server.

    Args:
        directory: the directory of all its files; it is created if it does not exist.
        port: where clients connect; 0 for any free port.
        number: the number of the server in its ensemble, from 1; None for a standalone server.
        ensemble: the two ports of each server of the ensemble by which they reach each other.
        tick_ms: ZooKeeper's unit of time; a session timeout is at least two of them.
    """

    directory: Path
    port: int = 0
    number: int | None = None
    ensemble: Sequence[tuple[int, int]] = ()
    tick_ms: int = 1000


class ZooKeeperServer:
    """A server; `start` and `stop` may be called repeatedly."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = options.port
        """Where clients connect; a port that was chosen stays the same."""

    @property
    def address(self) -> str:
        """Return where clients connect, HOST:PORT."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """Return the process ID of the server."""
        assert self._process is not None
        return self._process.pid

    def start(self, check: Callable[[], None] = lambda: None) -> None:
        """Start the server, and wait until it answers; a server of an ensemble, until it listens.

        While it waits, `check` is called often, and may raise to give up.

        Raises:
            FsqlError: E644, if there is no Java; E645, if the server does not start.
        """
        java = find_java()
        with _kept_port(self.port) as self.port:
            self._start(java, check)

    def _start(self, java: Java, check: Callable[[], None]) -> None:
        try:
            command = [str(java.command), *self._arguments()]
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise _server_error(
                f'its directory "{self._options.directory}" cannot be used: {reason}'
            ) from None
        with (self._options.directory / LOG).open("ab") as log:  # what Java prints before it logs
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                cwd=self._options.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        try:
            self._await_port(check)
        except BaseException:
            self.kill()
            raise

    def _await_port(self, check: Callable[[], None]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(self.port, standalone=self._options.number is None):
            check()
            self.check()
            if time.monotonic() > deadline:
                reason = f"it does not listen after {_START_SECONDS:.0f} s"
                raise _server_error(reason, *self._last_lines())
            time.sleep(_POLL_SECONDS)

    def runs(self) -> bool:
        """Return whether the process of the server runs."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Check that the server runs.

        Raises:
            FsqlError: E645, if it has ended by itself.
        """
        if not self.runs():
            raise _server_error("it has ended", *self._last_lines())

    def stop(self) -> None:
        """Stop the server; all writes that were acknowledged to clients are on disk."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _arguments(self) -> list[str]:
        """Write the configuration, and return the arguments of `java`."""
        options = self._options
        directory = options.directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = directory / _DATA
        data.mkdir(exist_ok=True)
        # Paths in the files are relative to the directory, so that none has to be quoted.
        (directory / _LOGGING_FILE).write_text(_LOGGING.format(log=LOG), encoding="utf-8")
        (directory / _CONFIGURATION_FILE).write_text(self._configuration(), encoding="utf-8")
        if options.number is not None:
            (data / "myid").write_text(f"{options.number}\n", encoding="utf-8")
        return [
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dlog4j2.configurationFile={_LOGGING_FILE}",
            "-Dlog4j2.disable.jmx=true",
            "-Dzookeeper.jmx.log4j.disable=true",
            "-cp",
            os.pathsep.join(_jars()),
            _STANDALONE if options.number is None else _OF_ENSEMBLE,
            f"./{_CONFIGURATION_FILE}",
        ]

    def _configuration(self) -> str:
        tick_ms = self._options.tick_ms
        lines = [
            f"dataDir=./{_DATA}",
            f"clientPort={self.port}",
            f"clientPortAddress={HOST}",
            f"tickTime={tick_ms}",
            f"minSessionTimeout={2 * tick_ms}",
            "maxSessionTimeout=60000",
            "maxClientCnxns=0",
            "initLimit=10",
            "syncLimit=5",
            "preAllocSize=1024",
            "autopurge.snapRetainCount=3",
            "autopurge.purgeInterval=1",
            "admin.enableServer=false",
            "4lw.commands.whitelist=",
            "reconfigEnabled=false",
        ]
        for number, (peer, election) in enumerate(self._options.ensemble, 1):
            lines.append(f"server.{number}={HOST}:{peer}:{election}")
        return "\n".join(lines) + "\n"

    def _last_lines(self) -> list[str]:
        try:
            text = (self._options.directory / LOG).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        lines = text.splitlines()
        return ([line for line in lines if " ERROR " in line] or lines)[-_LINES_SHOWN:]


def _jars() -> list[str]:
    """Return the jars that the server needs.

    Raises:
        FsqlError: E645, if PySpark has none.
    """
    spec = importlib.util.find_spec("pyspark")  # importing it would take a second
    if spec is None or spec.origin is None:
        raise _server_error("the package pyspark, which has its jars, is not installed")
    directory = Path(spec.origin).parent / "jars"
    found = [sorted(str(path) for path in directory.glob(pattern)) for pattern in _JARS]
    if not all(found):
        missing = ", ".join(p for p, each in zip(_JARS, found, strict=True) if not each)
        raise _server_error(f'"{directory}" has no {missing}')
    return [path for each in found for path in each]


@contextmanager
def _kept_port(wanted: int) -> Iterator[int]:
    """Yield a port that is free: the wanted one, or any if that is 0.

    Java takes seconds to start.  On Linux, the system gives the port to no other socket meanwhile: a socket
    is bound to it.  The server may listen there nevertheless, because both share addresses.

    Raises:
        FsqlError: E645, if the port is in use.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            kept.bind((HOST, wanted))
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise _server_error(f"cannot listen on port {wanted}: {reason}") from None
        port: int = kept.getsockname()[1]
        if sys.platform != "linux":
            kept.close()
        yield port


def _answers(port: int, *, standalone: bool) -> bool:
    """Return whether a standalone server answers clients, or a server of an ensemble listens for them."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as connection:
            connection.sendall(_CONNECT + _CLOSE)
            return not standalone or bool(connection.recv(1))
    except OSError:
        return False


def _end_with_parent() -> None:
    """Have the kernel end this process when the one that has started it is killed."""
    import ctypes

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def _server_error(reason: str, *notes: str) -> FsqlError:
    message = f"the ZooKeeper server does not run: {reason}"
    return FsqlError([Diagnostic("E645", message, notes=notes, helps=(CODES["E645"].fix,))])
