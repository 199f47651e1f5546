"""Job and TCP consumer prove to each other that they have the same key, before anything else is said."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.stream_stores import NullStore
from fsql.connectors.tcp.frames import (
    VERSION,
    Challenge,
    FrameReader,
    Head,
    Hello,
    Proof,
    Refusal,
    Response,
    Welcome,
)
from fsql.connectors.tcp.proofs import CONSUMER, JOB, proof_of
from fsql.connectors.tcp.reference import ConsumerServer, StoredRows
from fsql.connectors.tcp.remote_sink import TcpSink
from fsql.runtime.batch import START
from fsql.runtime.sink import SinkMissingError
from fsql.tests.conformance import sinks
from fsql.tests.conformance.scripted import Scripted, data

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY, ANOTHER = b"k" * 32, b"a" * 32
HELLO = Hello(VERSION, "test", "out", 1, "exactly-once", (START.time, START.origin))
MISSING = Refusal("a proof of the key is expected")


@contextmanager
def serving(stored: list[StoredRows]) -> Iterator[int]:
    """Serve with the key in a thread; give the port."""
    server = ConsumerServer(("127.0.0.1", 0), NullStore(), stored.append, key=KEY)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            server.serve(0.01)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.address[1]
    finally:
        over.set()
        thread.join()
        server.close()


class Peer:
    """A connection of a test's own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.reader = FrameReader()

    def ask(self, *heads: Head) -> Head:
        """Send frames and return the answer."""
        self.socket.sendall(b"".join(map(data, heads)))
        while True:
            for frame in self.reader.feed(self.socket.recv(4096)):
                return frame.head

    def challenged(self) -> tuple[str, str]:
        """Have the consumer prove that it has the key; return both challenges."""
        response = self.ask(Challenge("mine"))
        assert isinstance(response, Response)
        challenges = "mine", response.challenge
        assert response.proof == proof_of(KEY, CONSUMER, challenges, self.port)
        return challenges


def test_a_job_with_the_key_is_listened_to() -> None:
    stored: list[StoredRows] = []
    with serving(stored) as port:
        consumer = TcpSink(("127.0.0.1", port), "out", sinks.lines(), key=KEY)
        consumer.open(sinks.opening(1))
        sinks.deliver_and_wait(consumer, sinks.bundle(0, 6))
        consumer.close()
    assert [each.rows for each in stored] == [6]


def test_a_job_without_the_key_finds_no_consumer() -> None:
    stored: list[StoredRows] = []
    with serving(stored) as port:
        consumer = TcpSink(("127.0.0.1", port), "out", sinks.lines(), key=ANOTHER)
        with pytest.raises(SinkMissingError, match="does not have the key"):
            consumer.open(sinks.opening(1))
    assert stored == []


@pytest.mark.parametrize("first", [(), (Challenge("mine"),)])
def test_a_hello_without_a_proof_is_refused(first: tuple[Head, ...]) -> None:
    with serving([]) as port:
        peer = Peer(port)
        for head in first:
            assert isinstance(peer.ask(head), Response)
        assert peer.ask(HELLO) == MISSING
        peer.socket.close()


@pytest.mark.parametrize("way", ["key", "side", "port", "challenge"])
def test_a_wrong_proof_is_refused(way: str) -> None:
    with serving([]) as port:
        peer = Peer(port)
        challenges = peer.challenged()
        proof = proof_of(
            ANOTHER if way == "key" else KEY,
            CONSUMER if way == "side" else JOB,
            ("mine", "old") if way == "challenge" else challenges,
            port + 1 if way == "port" else port,
        )
        assert peer.ask(Proof(proof), HELLO) == Refusal("the job does not have the key")
        peer.socket.close()


def test_a_right_proof_is_welcome() -> None:
    with serving([]) as port:
        peer = Peer(port)
        proof = proof_of(KEY, JOB, peer.challenged(), port)
        assert isinstance(peer.ask(Proof(proof), HELLO), Welcome)
        peer.socket.close()


ANSWERS: dict[str, Head] = {
    "welcome": Welcome(VERSION, (START.time, START.origin), 4),
    "refusal": Refusal("go away", lasting=True),
    "wrong proof": Response("theirs", proof_of(ANOTHER, CONSUMER, ("mine", "theirs"), 1)),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_who_listens_without_the_key_is_told_nothing(answer: Head) -> None:
    """It hears a challenge only: no name of a job, and no row."""
    heard: list[type[Head]] = []

    def impostor(peer: socket.socket) -> None:
        reader = FrameReader()
        while received := peer.recv(4096):
            heard.extend(type(frame.head) for frame in reader.feed(received))
            peer.sendall(data(answer))

    server = Scripted(impostor)
    consumer = TcpSink(("127.0.0.1", server.port), "out", sinks.lines(), key=KEY)
    with pytest.raises(SinkMissingError, match="does not have the key"):
        consumer.open(sinks.opening(1))
    server.join()
    assert heard == [Challenge]
