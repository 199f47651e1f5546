"""A TCP consumer that stops reading, and a source that has no end: what processes take is bounded."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from fsql.connectors.stream_stores import NullStore
from fsql.connectors.tcp.proofs import consumer_key
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.tests.cluster.twin import wait_until
from fsql.tests.command_server import FSQL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.batch import Root

pytestmark = pytest.mark.cluster

READ_AHEAD: Final = 20_000
LINE_BYTES: Final = 200
"""About what a line of twenty words takes."""
PROCESS_BYTES: Final = 250 << 20
"""What a process takes that does nothing: the interpreter, Arrow, RocksDB."""
BYTES_MAX: Final = PROCESS_BYTES + 20 * READ_AHEAD * LINE_BYTES
"""Rows of the read-ahead may exist in several forms: as read, encoded, in frames, in bundles, in transit."""
SECONDS: Final = 8.0


class Deaf(NullStore):
    """Stores one bundle, and is busy with it forever."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = threading.Event()
        self.over = threading.Event()

    def commit(self, position: Root) -> None:
        del position
        self.busy.set()
        self.over.wait()


@pytest.fixture
def deaf() -> Iterator[tuple[Deaf, int]]:
    store = Deaf()
    server = ConsumerServer(("127.0.0.1", 0), store, key=consumer_key(None))

    def serve() -> None:
        while not store.over.is_set():
            server.serve(0.05)

    thread = threading.Thread(target=serve)
    thread.start()
    yield store, server.address[1]
    store.over.set()
    thread.join()
    server.close()


def resident_bytes(pid: int) -> int:
    [line] = [
        each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in each
    ]
    return int(line.split()[1]) << 10


def test_what_processes_take_is_bounded(deaf: tuple[Deaf, int], tmp_path: Path) -> None:
    store, port = deaf
    script = f"""
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'words_per_line' = '20');
CREATE TABLE copies (line STRING) WITH ('connector' = 'tcp', 'address' = '127.0.0.1:{port}');
INSERT INTO copies SELECT line FROM lines;
"""
    (tmp_path / "job.sql").write_text(script)
    flags = ["--workers", "2", "--read-ahead", str(READ_AHEAD), "--state", str(tmp_path / "state")]
    run = subprocess.Popen([*FSQL, "run", "--quiet", *flags, str(tmp_path / "job.sql")])
    try:
        wait_until(store.busy.is_set, "a bundle")
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            processes = processes_below(run.pid)
            assert len(processes) <= 4  # a fork server, a coordinator and two workers
            taken = {pid: resident_bytes(pid) for pid in processes}
            assert max(taken.values()) < BYTES_MAX, taken
            time.sleep(0.25)
    finally:
        run.send_signal(signal.SIGINT)
        assert run.wait() == 130
