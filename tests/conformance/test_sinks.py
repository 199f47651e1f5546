"""The consumers that come with fsql, checked by the rules of `sinks`, and killed wherever one can be."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.file.file_layer import FileLayer
from fsql.connectors.file.journal import Journal
from fsql.connectors.file.store import FileEntry, FileStore
from fsql.connectors.stream_stores import NullStore, StreamStore
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.connectors.tcp.remote_sink import TcpSink
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import LocalSink, SinkLostError
from fsql.tests.conformance import sinks
from fsql.tests.conformance.failing_files import CountedFiles, FullDisk, KilledError, Unsynced
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.runtime.sink import Sink
    from fsql.tests.conformance.sinks import Subject


class FileSubject:
    durable = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "out.jsonl"
        self.journal = folder / "positions" / "0"
        self.journal.parent.mkdir()

    def restarted(self, files: FileLayer | None = None) -> Sink:
        return LocalSink(FileStore(self.path, self.journal, files), sinks.lines())

    def stored(self) -> bytes:
        return self.path.read_bytes()

    def close(self) -> None:
        """Do nothing."""


class StreamSubject:
    durable = False

    def __init__(self, folder: Path) -> None:
        del folder
        self._stream = io.BytesIO()

    def restarted(self) -> Sink:
        self._stream = io.BytesIO()
        return LocalSink(StreamStore(self._stream, "test"), sinks.lines())

    def stored(self) -> bytes:
        return self._stream.getvalue()

    def close(self) -> None:
        """Do nothing."""


class TcpSubject:
    """A server in a thread; only the job's process is started again, except where a test says so."""

    durable = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "out.jsonl"
        self.journal = folder / "positions" / "0"
        self.journal.parent.mkdir()
        self._kept = KeptPort()
        self.port = self._kept.number
        self.start()

    def start(self) -> None:
        self.server = ConsumerServer(("127.0.0.1", self.port), FileStore(self.path, self.journal))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stopped.is_set():
            self.server.serve(0.01)
        self.server.close()

    def end(self) -> None:
        """End the server; its port is kept."""
        self._stopped.set()
        self._thread.join()

    def close(self) -> None:
        self.end()
        self._kept.close()

    def restarted(self) -> Sink:
        return TcpSink(("127.0.0.1", self.port), "out", sinks.lines())

    def stored(self) -> bytes:
        return self.path.read_bytes()


SUBJECTS = (FileSubject, StreamSubject, TcpSubject)


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    subject = request.param(tmp_path)
    yield subject
    subject.close()


@pytest.mark.parametrize("check", sinks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("made", SUBJECTS, indirect=True)
def test_every_consumer_keeps_the_rules(check: Callable[[Subject], None], made: Subject) -> None:
    check(made)


@pytest.mark.parametrize("check", sinks.DURABLE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("made", [FileSubject, TcpSubject], indirect=True)
def test_what_lasts_notices_what_was_lost(check: Callable[[Subject], None], made: Subject) -> None:
    check(made)


def deliver_until_killed(consumer: Sink, epoch: int, seed: int, have: Root = START) -> Root:
    """Deliver everything to a consumer that has `have`; return what it has acknowledged by then."""
    try:
        opened = consumer.open(sinks.opening(epoch))
        assert opened.position >= have
        have = opened.position
        made = sinks.delivery(opened, START, seed)
        start = 0
        for bound in sinks.bounds(seed):
            have = max(have, sinks.run(consumer, made, start, sinks.ROWS, [bound]))
            start = sinks.ROWS if bound == END else (bound.time + (bound.origin > 0)) * 3
            start = min(start, sinks.ROWS)
            consumer.sync()
    except KilledError:
        pass
    finally:
        consumer.close()
    return have


def test_whenever_the_process_is_killed_rows_and_position_agree(tmp_path: Path) -> None:
    random = Random(1)
    counted = CountedFiles(0, random)
    (tmp_path / "all").mkdir()
    deliver_until_killed(FileSubject(tmp_path / "all").restarted(counted), 1, seed=3)
    assert counted.operations > 60
    for moment in range(1, counted.operations + 1):
        folder = tmp_path / str(moment)
        folder.mkdir()
        subject = FileSubject(folder)
        files = CountedFiles(moment, random)
        have = deliver_until_killed(subject.restarted(files), 1, seed=3)
        assert files.failed
        before = subject.stored() if subject.path.exists() else b""
        again = CountedFiles(random.randrange(1, random.choice([10, 40])), random)
        have = deliver_until_killed(subject.restarted(again), 2, random.randrange(9), have)
        assert sinks.expected().startswith(subject.stored())
        assert subject.stored().startswith(before), "a reader saw bytes that went away"
        assert sinks.position_of(subject, sinks.opening(3)) >= have
        with closing(subject.restarted()) as last:
            sinks.run_to_end(last, 4)
        assert subject.stored() == sinks.expected()


@pytest.mark.parametrize("seed", range(60))
def test_a_loss_of_power_takes_nothing_that_was_synced(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    files = Unsynced()
    subject = FileSubject(tmp_path)
    synced = START
    for epoch in range(4):
        consumer = subject.restarted(files)
        opened = consumer.open(sinks.opening(epoch, synced))
        assert opened.position >= synced
        made = sinks.delivery(opened, synced, seed)
        start = 0 if synced == START else synced.time * 3
        bounds = [Root(time, 0) for time in range(1, sinks.ROWS // 3)]
        bounds = sorted(random.sample([b for b in bounds if b > opened.position] or [END], 1))
        for bound in bounds:
            have = sinks.run(consumer, made, start, sinks.ROWS, [bound])
            if random.random() < 0.5 and have != END:
                consumer.sync()
                synced = have
        consumer.close()
        files.lose_power(tmp_path, random)
    with closing(subject.restarted()) as last:
        sinks.run_to_end(last, 9, synced)
    assert subject.stored() == sinks.expected()


@pytest.mark.parametrize("moment", [1, 2, 3, 5, 8, 13, 21, 30])
def test_a_full_disk_loses_nothing(tmp_path: Path, moment: int) -> None:
    subject = FileSubject(tmp_path)
    files = FullDisk(moment, Random(moment))
    consumer = subject.restarted(files)
    with pytest.raises(SinkLostError, match="No space left"):
        sinks.run_to_end(consumer, 1)
    with pytest.raises(SinkLostError):
        consumer.deliver(sinks.bundle(0, 3))
    files.full = False
    sinks.run_to_end(consumer, 2)
    assert subject.stored() == sinks.expected()


def test_a_full_disk_is_the_one_that_is_named(tmp_path: Path) -> None:
    """The journal may lie on another disk than the file."""
    files = FullDisk(1_000, Random(1))
    files.full = True
    journal = Journal(tmp_path / "insert-0", files, FileEntry)
    with pytest.raises(OSError, match="No space left") as raised:
        journal.begin(FileEntry(7, (0, 0), 0, 0, "", ""))
    assert raised.value.filename == str(tmp_path / "insert-0.7.journal")


def test_a_file_that_somebody_cut_is_noticed(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    consumer = subject.restarted()
    sinks.run_to_end(consumer, 1)
    consumer.sync()
    consumer.close()
    subject.path.write_bytes(sinks.expected()[:1])
    with pytest.raises(FsqlError, match="E537"):
        sinks.position_of(subject, sinks.opening(2, Root(3, 0)))


def test_what_does_not_come_again_is_cut_off(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    consumer = subject.restarted()
    consumer.open(sinks.opening(1))
    consumer.deliver(sinks.bundle(0, 6))
    consumer.close()
    again = sinks.expected(6, 9)
    subject.path.write_bytes(sinks.expected(0, 6) + again + b"other bytes\n" * 10_000)
    with closing(subject.restarted()) as last:
        sinks.run_to_end(last, 2)
    assert subject.stored() == sinks.expected()


def test_a_file_of_another_is_not_taken(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    sinks.position_of(subject, sinks.opening(1))
    with pytest.raises(FsqlError, match="E537"):
        sinks.position_of(subject, sinks.opening(2)._replace(owner="another"))


def test_a_file_is_emptied_by_the_first_epoch_of_a_job_only(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    subject.path.write_bytes(b"of an earlier job\n")
    sinks.position_of(subject, sinks.opening(1))
    assert subject.stored() == b""


def test_a_zombie_of_an_older_epoch_changes_nothing(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    zombie = subject.restarted()
    zombie.open(sinks.opening(1))
    zombie.deliver(sinks.bundle(0, 6))
    later = subject.restarted()
    sinks.run_to_end(later, 2)
    later.sync()
    zombie.deliver(sinks.bundle(6, 12))
    zombie.sync()
    later.close()
    assert subject.stored() == sinks.expected()
    assert sinks.position_of(subject, sinks.opening(3)) == END


@pytest.mark.parametrize(
    "option", [each for each in DeliveryOption if each is not sinks.EXACTLY_ONCE]
)
def test_a_zombie_whose_rows_need_not_be_those_of_the_newest_epoch_is_not_heard(
    tmp_path: Path, option: DeliveryOption
) -> None:
    subject = FileSubject(tmp_path)
    zombie, later = subject.restarted(), subject.restarted()
    zombie.open(sinks.opening(1, option=option))
    zombie.deliver(sinks.bundle(0, 6))
    later.open(sinks.opening(2, Root(2, 0), option))
    later.deliver(sinks.bundle(6, 9))
    stored = subject.stored()
    with pytest.raises(SinkLostError, match="later epoch"):
        zombie.deliver(sinks.bundle(6, 12))
    assert subject.stored() == stored == sinks.expected(0, 9)


def test_who_begins_an_older_epoch_too_late_takes_no_later_journal_away(tmp_path: Path) -> None:
    """It had looked before the later one began."""
    subject = FileSubject(tmp_path)
    for epoch, stored in ((1, sinks.bundle(0, 6)), (3, sinks.bundle(6, 12))):
        consumer = subject.restarted()
        consumer.open(sinks.opening(epoch))
        sinks.deliver_and_wait(consumer, stored)
        consumer.close()
    zombie = Journal(subject.journal, FileLayer(), FileEntry)
    assert not zombie.begin(FileEntry(2, (2, 0), len(sinks.expected(0, 6)), 0, "", "test"))
    zombie.close()
    assert sinks.position_of(subject, sinks.opening(4)) == Root(4, 0)
    assert [path.name for path in subject.journal.parent.iterdir()] == ["0.4.journal"]


def test_the_journal_begins_anew_before_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsql.connectors.file.store.JOURNAL_BYTES_MAX", 1000)
    subject = FileSubject(tmp_path)
    with closing(subject.restarted()) as last:
        sinks.run_to_end(last, 1)
    [journal] = subject.journal.parent.iterdir()
    assert journal.stat().st_size < 1500
    assert sinks.position_of(subject, sinks.opening(2)) == END


def test_nowhere_keeps_no_bytes_but_a_position() -> None:
    consumer = LocalSink(NullStore(), sinks.lines())
    sinks.run_to_end(consumer, 1)
    assert consumer.open(sinks.opening(2)).position == END


FORKING = """
import os
import signal
import sys
from pathlib import Path
from fsql.tests.conformance import sinks
from fsql.tests.conformance.test_sinks import FileSubject
folder = Path(sys.argv[1])
subject = FileSubject.__new__(FileSubject)
subject.path, subject.journal = folder / "out.jsonl", folder / "positions" / "0"
for line in sys.stdin:
    epoch = int(line)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("killed", flush=True)
        continue
    consumer = subject.restarted()
    consumer.open(sinks.opening(epoch))
    print(os.getpid(), flush=True)
    sinks.run_to_end(consumer, epoch, seed=epoch)
    while True:
        signal.pause()
"""
"""Forks a process that writes for each epoch, in place of starting Python each time."""


@pytest.mark.cluster
def test_real_kills(tmp_path: Path) -> None:
    subject = FileSubject(tmp_path)
    random = Random(5)
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as forking:
        assert forking.stdout is not None
        assert forking.stdin is not None
        for epoch in range(6):
            forking.stdin.write(f"{epoch}\n".encode())
            forking.stdin.flush()
            opened = int(forking.stdout.readline())
            select.select([], [], [], random.random() * 0.02)
            os.kill(opened, signal.SIGKILL)
            assert forking.stdout.readline() == b"killed\n"
            assert sinks.expected().startswith(subject.stored())
        forking.stdin.close()
    assert forking.returncode == 0
    with closing(subject.restarted()) as last:
        sinks.run_to_end(last, 99)
    assert subject.stored() == sinks.expected()
