"""Worker processes that start in a moment: forked from a process that has imported everything already.

What runs in them is `fsql worker` from its first line on, supervised by pipes as the launcher's are.  So a
test can kill them by the dozen; what they write to standard error is theirs to be read when one fails.
The script of the workers is compiled once, before they are forked.

    python -m fsql.tests.cluster.nursery DESCRIPTOR

is that process; `Nursery` starts it and asks it for workers by the socket that it inherits.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.console.forked_commands import import_all
from fsql.job import description as job_description
from fsql.job.compilation import compile_job
from fsql.job.description import parse_description
from fsql.job.entry_points import run_worker
from fsql.job.node_network import NodeNetwork
from fsql.job.script_file import script_of_text
from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.node_address import ANY_PORT
from fsql.runtime.drivers.processes.lines import LineReader, WorkerAddress
from fsql.runtime.drivers.transport import TransportSettings, ZeroMqTransport

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from fsql.job.compilation import Compiled
    from fsql.job.description import JobDescription
    from fsql.job.script import Script

_REQUEST_BYTES = 1 << 18


@dataclass
class NurseryWorker:
    """A worker process, its address, and the pipes by which it is supervised."""

    pid: int
    address: str
    supervising: int
    reader: LineReader
    log: Path
    forgotten: bool = False

    def kill(self) -> None:
        """Kill it, and return when it is gone."""
        self.signal(signal.SIGKILL)
        self.forget()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def alive(self) -> bool:
        """Say whether it has not ended yet."""
        for _ in self.reader.lines():
            pass
        return not self.reader.ended

    def end_supervision(self) -> None:
        """End its supervision, whereupon it ends."""
        os.close(self.supervising)
        self.supervising = -1
        self.forget()

    def forget(self) -> None:
        """Wait for its end and close the pipes."""
        self.forgotten = True
        while self.alive():
            wait_readable([self.reader.descriptor], 1.0)
        os.close(self.reader.descriptor)
        if self.supervising >= 0:
            os.close(self.supervising)


class Nursery:
    """Starts workers."""

    def __enter__(self) -> Self:
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "fsql.tests.cluster.nursery", str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self._socket = own
        self._workers: list[NurseryWorker] = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            if not worker.forgotten:  # its test has failed
                worker.kill()
        self._socket.close()
        self._process.wait()

    def compile(self, description: JobDescription) -> None:
        """Compile the script of a job, for the workers that are started from now on."""
        self._socket.send(msgspec.json.encode(description))
        self._socket.recv(8)

    def worker(
        self, leader: str, key: Path, log: Path, address: str = ANY_PORT, announced: str = ""
    ) -> NurseryWorker:
        """Start a worker of the coordinator at `leader`; return when it says where it is reached.

        It listens at `address`, and announces another one if it stands behind a proxy.
        """
        reading, supervising = os.pipe()
        told, telling = os.pipe()
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        request = msgspec.json.encode((leader, str(key), address, announced))
        socket.send_fds(self._socket, [request], [reading, telling, errors])
        for descriptor in (reading, telling, errors):
            os.close(descriptor)
        pid = int.from_bytes(self._socket.recv(8), "big")
        reader = LineReader(told)
        while True:
            wait_readable([told], None)
            for line in reader.lines():
                assert isinstance(line, WorkerAddress)
                worker = NurseryWorker(pid, line.address, supervising, reader, log)
                self._workers.append(worker)
                return worker
            assert not reader.ended, log.read_text()


def _serve(requests: socket.socket) -> None:
    """Fork a worker for each request, until nobody can ask any more."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 3)
        if not request:
            break
        if not descriptors:
            _compile(parse_description(request).script())
            requests.send(bytes(8))
            continue
        pid = os.fork()
        if pid == 0:
            requests.close()
            _be_a_worker(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(pid.to_bytes(8, "big"))
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _compile(script: Script) -> None:
    """Have the processes that are forked from this one take what the script is compiled to.

    Modules with functions are loaded by the processes that call them.
    """
    compiled: Compiled | None = None
    if not script.functions:
        with suppress(FsqlError):  # a worker raises it
            compiled = compile_job(script)

    def compile_other(other: Script) -> Compiled:
        return compile_job(other) if compiled is None or other != script else compiled

    assert hasattr(job_description, "compile_job")
    setattr(job_description, "compile_job", compile_other)  # noqa: B010 - mypy allows no assignment


def _be_a_worker(request: bytes, descriptors: list[int]) -> None:
    code = 1
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        leader, key, listen, announced = msgspec.json.decode(
            request, type=tuple[str, str, str, str]
        )
        network = _ProxiedNetwork(listen=listen, announced=announced)
        run_worker(leader, Path(key), supervised=True, network=network)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        raise
    finally:
        os._exit(code)


@dataclass(frozen=True, slots=True)
class _ProxiedNetwork(NodeNetwork):
    """The network of a node that other nodes reach by another address than its own: that of a proxy."""

    announced: str = ""

    def open_transport(self, key: bytes, leader: str) -> ZeroMqTransport:
        del leader  # it is reached by the address at which the test listens
        settings = TransportSettings(announced=self.announced)
        return ZeroMqTransport(key, self.listen or ANY_PORT, settings=settings)


if __name__ == "__main__":
    import_all()
    # What every worker does first is done once, and what is there now is never copied by a collection.
    compile_job(
        script_of_text(
            "CREATE TABLE t (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM t;", {}
        )
    )
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
