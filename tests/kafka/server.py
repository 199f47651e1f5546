"""An Apache Kafka server of one process: broker and controller, in a folder of its own, on the loopback."""

from __future__ import annotations

import fcntl
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyspark
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from fsql.runtime.drivers.java import find_java
from fsql.tests.kafka.broker import silent_logger

ARTIFACT: Final = ("org.apache.kafka", "kafka_2.13", "4.1.0")
JARS: Final = Path(__file__).parents[2] / ".servers" / "kafka"
"""Where the jars are kept for later runs of the tests."""

_CLUSTER: Final = "4L6g3nShT-eMCtK--X86sw"
_CONFIGURATION: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
auto.create.topics.enable=false
"""
_START_SECONDS: Final = 120.0


class MissingServerError(Exception):
    """Apache Kafka cannot be started here."""


class KafkaServer:
    """A server that starts, is killed, and starts again with what it has stored."""

    def __init__(self, folder: Path) -> None:
        """Configure a server with a folder of its own.

        Raises:
            MissingServerError: if its jars are not here and cannot be fetched.
        """
        java = str(find_java().command)
        jars = _jars(java)
        broker, controller = _free_ports(2)
        self.servers = f"127.0.0.1:{broker}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration = folder / "server.properties"
        text = _CONFIGURATION.format(broker=broker, controller=controller, folder=folder)
        self._configuration.write_text(text)
        options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        self._java = [java, *options, "-cp", f"{jars}/*"]
        self._run(
            "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._configuration)
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._configuration)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + _START_SECONDS
        client = AdminClient({"bootstrap.servers": self.servers}, logger=silent_logger())
        while True:
            try:
                client.list_topics(timeout=1)
            except KafkaException:
                assert self._process.poll() is None, f"it has ended: {self._folder}/server.log"
                assert time.monotonic() < until, f"it does not answer: {self._folder}/server.log"
            else:
                return

    def kill(self) -> None:
        """Kill it; what it has acknowledged is in its folder."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop it without ending it, as a long pause does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _run(self, *command: str) -> None:
        subprocess.run([*self._java, *command], check=True, capture_output=True)


def _jars(java: str) -> Path:
    """Return the folder of the jars; fetch them the first time, by Ivy, which PySpark contains.

    Raises:
        MissingServerError: if they cannot be fetched.
    """
    JARS.parent.mkdir(exist_ok=True)
    with (JARS.parent / "kafka.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes run the tests
        if JARS.exists():
            return JARS
        (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
        fetched = JARS.with_name("kafka.part")
        command = [java, f"-Divy.cache.dir={JARS.parent / 'ivy'}", "-jar", str(ivy)]
        what = ["-dependency", *ARTIFACT, "-confs", "default", "-types", "jar", "bundle"]
        where = ["-retrieve", f"{fetched}/[artifact]-[revision].[ext]"]
        result = subprocess.run(
            [*command, *what, *where],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            message = f"Apache Kafka cannot be fetched from Maven Central: {result.stdout[-500:]}"
            raise MissingServerError(message)
        fetched.rename(JARS)
        return JARS


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [each.getsockname()[1] for each in sockets]
