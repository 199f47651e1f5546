"""The TCP consumer among bad peers, on either end: whatever they send, rows are stored once or not at all."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.connectors.stream_stores import NullStore
from fsql.connectors.tcp.frames import (
    VERSION,
    BadFrameError,
    FrameReader,
    Have,
    Head,
    Hello,
    Part,
    Refusal,
    Sync,
    Synced,
    Welcome,
)
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.connectors.tcp.remote_sink import TcpSink
from fsql.runtime.batch import END, START, Root
from fsql.runtime.sink import SinkLostError
from fsql.tests.conformance import sinks
from fsql.tests.conformance.scripted import Scripted, answering, await_frame, data
from fsql.tests.conformance.test_sinks import TcpSubject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_PAIR = (START.time, START.origin)


def hello(epoch: int = 1, job: str = "test", version: int = VERSION) -> bytes:
    return data(Hello(version, job, "out", epoch, "exactly-once", START_PAIR))


def part(follows: Root, ends: Root, number: int = 0) -> bytes:
    return data(Part((*follows,), (*ends,), number, last=True, rows=1), b"{}\n")


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[TcpSubject]:
    made = TcpSubject(tmp_path)
    yield made
    made.close()


def answers(port: int, sent: bytes) -> list[Head]:
    """Send bytes as a stranger does; return what is answered until the connection is closed."""
    reader = FrameReader()
    heads: list[Head] = []
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while received := peer.recv(4096):
                heads += [frame.head for frame in reader.feed(received)]
    return heads


GARBAGE = {
    "bytes": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 9,
    "half a frame": hello()[:30],
    "nothing": b"",
    "a huge frame": b"\xff\xff\xff\xff" + b"x" * 100,
    "a wrong hash": hello()[:-3] + b"xyz",
    "no head": b"\x00\x00\x00\x01",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_ends_its_own_connection_and_nothing_else(
    subject: TcpSubject, garbage: bytes
) -> None:
    consumer = subject.restarted()
    consumer.open(sinks.opening(1))
    consumer.deliver(sinks.bundle(0, 6))
    assert answers(subject.port, garbage) == []
    sinks.wait_for(consumer, Root(2, 0))
    consumer.deliver(sinks.bundle(6, 12))
    sinks.wait_for(consumer, Root(4, 0))
    consumer.close()
    assert subject.stored() == sinks.expected(0, 12)


def test_garbage_behind_a_hello_stores_nothing(subject: TcpSubject) -> None:
    [welcome] = answers(subject.port, hello() + GARBAGE["a huge frame"])
    assert isinstance(welcome, Welcome)
    assert subject.stored() == b""


@pytest.mark.parametrize(
    ("sent", "lasting"),
    [
        (part(START, END), False),
        (data(Have(START_PAIR)), False),
        (hello(version=VERSION + 1), True),
        (data(Hello(VERSION, "test", "out", 1, "sometimes", START_PAIR)), True),
        (data(Hello(VERSION, "test", "out", 1, "exactly-once", (5, 5))), True),
    ],
)
def test_a_first_frame_that_cannot_be_is_refused(
    subject: TcpSubject, sent: bytes, *, lasting: bool
) -> None:
    [refusal] = answers(subject.port, sent)
    assert isinstance(refusal, Refusal)
    assert refusal.lasting is lasting


def test_another_output_and_an_older_epoch_are_refused(subject: TcpSubject) -> None:
    assert isinstance(answers(subject.port, hello(epoch=3))[0], Welcome)
    assert answers(subject.port, hello(epoch=2)) == [Refusal("epoch 3 has begun")]
    reason = "this consumer belongs to another output"
    assert answers(subject.port, hello(job="other")) == [Refusal(reason, lasting=True)]


def test_who_waits_for_a_job_takes_no_other() -> None:
    server = ConsumerServer(("127.0.0.1", 0), NullStore(), job="jöb")
    said = []
    for job in ("test", "jób", "jöb"):
        with socket.create_connection(server.address) as peer:
            peer.sendall(hello(job=job))
            while not select.select([peer], [], [], 0)[0]:
                server.serve(0.01)
            [frame] = FrameReader().feed(peer.recv(4096))
            said.append(type(frame.head))
    server.close()
    assert said == [Refusal, Refusal, Welcome]


def test_an_older_epoch_is_refused_also_after_a_restart(subject: TcpSubject) -> None:
    assert isinstance(answers(subject.port, hello(epoch=3))[0], Welcome)
    subject.end()
    subject.start()
    [refusal] = answers(subject.port, hello(epoch=2))
    assert refusal == Refusal("epoch 3 has begun, and this is 2")


def test_of_two_the_later_epoch_stays(subject: TcpSubject) -> None:
    older, later = subject.restarted(), subject.restarted()
    older.open(sinks.opening(1))
    older.deliver(sinks.bundle(0, 6))
    sinks.wait_for(older, Root(2, 0))
    assert later.open(sinks.opening(2)).position == Root(2, 0)
    with pytest.raises(SinkLostError, match="epoch 2 has begun"):
        sinks.deliver_and_wait(older, sinks.bundle(6, 9))
    sinks.deliver_and_wait(later, sinks.bundle(6, 9))
    older.close()
    later.close()
    assert subject.stored() == sinks.expected(0, 9)


def test_many_strangers_keep_nobody_out(subject: TcpSubject) -> None:
    strangers = [socket.create_connection(("127.0.0.1", subject.port)) for _ in range(60)]
    sinks.run_to_end(consumer := subject.restarted(), 1)
    consumer.close()
    for stranger in strangers:
        stranger.close()
    assert subject.stored() == sinks.expected()


class Cutting:
    """A proxy that cuts its first connections after numbers of bytes drawn at random."""

    def __init__(self, port: int, random: Random) -> None:
        self._port = port
        self._random = random
        self._rooms = [random.choice([50, 300, 1000, 2000]) for _ in range(8)]
        """The bytes of the first connections; they do not depend on how many pieces the bytes come in."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.02)
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(TimeoutError):
                peer, _ = self._listener.accept()
                with peer, contextlib.suppress(OSError):
                    self._copy_lines(peer)
                self.cuts += 1

    def _copy_lines(self, peer: socket.socket) -> None:
        room = self._rooms[self.cuts] if self.cuts < len(self._rooms) else 1 << 30
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            other = {peer: server, server: peer}
            while room > 0 and not self._stopped.is_set():
                for ready in select.select([peer, server], [], [], 0.02)[0]:
                    received = ready.recv(min(room, self._random.randrange(1, 900)))
                    if not received:
                        return
                    other[ready].sendall(received)
                    room -= len(received)


@pytest.mark.parametrize("seed", range(8))
def test_a_connection_that_breaks_anywhere_loses_nothing(subject: TcpSubject, seed: int) -> None:
    proxy = Cutting(subject.port, Random(seed))
    consumer = TcpSink(("127.0.0.1", proxy.port), "out", sinks.lines(), timeout=60)
    try:
        sinks.run_to_end(consumer, 1, seed=seed)
        consumer.sync()
    finally:
        consumer.close()
        proxy.close()
    assert proxy.cuts > 8
    assert subject.stored() == sinks.expected()


def test_a_consumer_that_is_started_again_is_gone_on_with(subject: TcpSubject) -> None:
    consumer = subject.restarted()
    consumer.open(sinks.opening(1))
    for start in range(0, 60, 6):
        consumer.deliver(sinks.bundle(start, start + 6))
        if start % 18 == 0:
            subject.end()
            subject.start()
    sinks.wait_for(consumer, Root(20, 0))
    consumer.close()
    assert subject.stored() == sinks.expected(0, 60)


WELCOME = Welcome(VERSION, START_PAIR, 4)


def test_an_answer_to_an_earlier_sync_is_none_to_a_later_one() -> None:
    def script(peer: socket.socket) -> None:
        """Answer the first of two at last, when the second has come."""
        reader = FrameReader()
        syncs = 0
        with contextlib.suppress(ConnectionResetError):
            while received := peer.recv(4096):
                for frame in reader.feed(received):
                    if isinstance(frame.head, Hello):
                        peer.sendall(data(WELCOME))
                    syncs += isinstance(frame.head, Sync)
                    if syncs == 2:
                        peer.sendall(data(Synced()))

    server = Scripted(script)
    consumer = TcpSink(("127.0.0.1", server.port), "out", sinks.lines())
    consumer.open(sinks.opening(1))
    consumer._timeout = 0.3
    for _ in range(2):
        with pytest.raises(SinkLostError):
            consumer.sync()
    consumer.close()
    server.join()


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ([WELCOME, Have((9, 9))], "where no bundle ends"),
        ([WELCOME, Have((2, 1))], "where no bundle ends"),
        ([WELCOME, Refusal("go away", lasting=True)], "go away"),
        ([Welcome(VERSION + 1, START_PAIR, 4)], "uses version 3"),
    ],
)
def test_a_consumer_that_lies_ends_the_job(heads: list[Head], reason: str) -> None:
    server = Scripted(answering(*heads))
    consumer = TcpSink(("127.0.0.1", server.port), "out", sinks.lines())
    with pytest.raises(FsqlError, match="E537") as caught:
        open_and_deliver(consumer)
    assert reason in str(caught.value)
    server.join()


def open_and_deliver(consumer: TcpSink) -> None:
    consumer.open(sinks.opening(1))
    sinks.deliver_and_wait(consumer, sinks.bundle(0, 6))


def test_a_consumer_that_forgets_what_it_acknowledged_ends_the_job() -> None:
    def first(peer: socket.socket) -> None:
        await_frame(peer)
        peer.sendall(data(WELCOME))
        await_frame(peer)
        peer.sendall(data(Have((2, 0))))

    server = Scripted(first, answering(WELCOME))
    consumer = TcpSink(("127.0.0.1", server.port), "out", sinks.lines())
    open_and_deliver(consumer)
    with pytest.raises(FsqlError, match="it lacks rows that it had"):
        sinks.deliver_and_wait(consumer, sinks.bundle(6, 9))
    server.join()


def test_a_consumer_that_sends_garbage_is_tried_again_and_then_lost() -> None:
    came = 0

    def garbage(peer: socket.socket) -> None:
        nonlocal came
        await_frame(peer)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        came += 1

    def clock() -> float:
        """Return the time: it is long after the third attempt as soon as that was made."""
        return time.monotonic() + (1000.0 if came == 3 else 0.0)

    server = Scripted(garbage, garbage, garbage)
    address = "127.0.0.1", server.port
    consumer = TcpSink(address, "out", sinks.lines(), timeout=60, clock=clock)
    with pytest.raises(SinkLostError, match="has not answered"):
        consumer.open(sinks.opening(1))
    assert came == 3
    server.join()


def test_a_consumer_that_reads_slowly_is_not_waited_for() -> None:
    hung = threading.Event()

    def slow(peer: socket.socket) -> None:
        await_frame(peer)
        peer.sendall(data(WELCOME))
        hung.wait()

    server = Scripted(slow)
    consumer = TcpSink(("127.0.0.1", server.port), "out", sinks.lines())
    consumer.open(sinks.opening(1))
    for start in range(0, 3_000_000, 300_000):
        consumer.deliver(sinks.bundle(start, start + 300_000))
    assert consumer.take_acknowledged() == []
    hung.set()
    consumer.close()
    server.join()


@pytest.mark.parametrize("seed", range(20))
def test_frames_come_out_as_they_went_in_however_they_are_cut(seed: int) -> None:
    random = Random(seed)
    sent = [
        (Part((1, n), (2, n), n, last=False, rows=n), random.randbytes(n * 7)) for n in range(9)
    ]
    stream = b"".join(data(head, payload) for head, payload in sent)
    reader = FrameReader()
    received = []
    while stream:
        size = random.randrange(1, 90)
        received += [(frame.head, bytes(frame.payload)) for frame in reader.feed(stream[:size])]
        stream = stream[size:]
    assert received == sent


def test_a_flipped_bit_is_no_frame() -> None:
    stream = bytearray(part(START, Root(2, 0)))
    for bit in range(8 * len(stream)):
        flipped = bytearray(stream)
        flipped[bit // 8] ^= 1 << bit % 8
        reader = FrameReader(len(stream))
        try:
            assert list(reader.feed(bytes(flipped))) == []
        except BadFrameError:
            continue
