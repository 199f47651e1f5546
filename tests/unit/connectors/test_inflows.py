"""Inflows: waiting at descriptors of any number, and what is heard of a thread that fails."""

from __future__ import annotations

import errno
import os
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from fsql.connectors.live.inflows import DescriptorInflow, Feed, PipeOutflow, SocketInflow

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import FsqlError

SELECT_MAX = 1024


@pytest.mark.usefixtures("many_open_files")
def test_descriptors_may_be_greater_than_select_takes() -> None:
    failures: list[FsqlError] = []
    inflow = SocketInflow(("127.0.0.1", 0), ends_with_connection=True)
    reading, writing = os.pipe()
    assert min(reading, writing) > SELECT_MAX
    feed = Feed(inflow, PipeOutflow(writing), failures.append)
    with socket.create_connection(inflow.address) as peer:
        peer.sendall(b"1\n2\n")
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"1\n2\n"
    feed.close()
    assert failures == []
    reading, writing = os.pipe()
    os.write(writing, b"3\n")
    assert DescriptorInflow(reading).read(10, 0.0) == b"3\n"
    os.close(reading)
    os.close(writing)


class BrokenInflow:
    """An inflow with a bug."""

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        raise ValueError(f"{bytes_max >= 0} {seconds >= 0}")

    def close(self) -> None:
        pass


def test_a_thread_that_fails_in_any_way_is_heard() -> None:
    failures: list[FsqlError] = []
    on_activity = threading.Event()

    def failed(error: FsqlError) -> None:
        failures.append(error)
        on_activity.set()

    reading, writing = os.pipe()
    feed = Feed(BrokenInflow(), PipeOutflow(writing), failed)
    assert on_activity.wait(60)
    feed.close()
    os.close(reading)
    [diagnostic] = failures[0].diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "I901",
        "internal error while reading input: ValueError: True True",
    )


def read_all(inflow: SocketInflow, wanted: bytes) -> None:
    """Read until the wanted bytes have come, and no others."""
    came = b""
    while came != wanted:
        came += inflow.read(100, 1.0) or b""
        assert wanted.startswith(came)


def test_connections_that_send_nothing_keep_no_other_waiting() -> None:
    inflow = SocketInflow(("127.0.0.1", 0), ends_with_connection=False)
    with ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(inflow.address))

        idle = [connect() for _ in range(8)]
        first = connect()
        first.sendall(b"1\n")
        read_all(inflow, b"1\n")
        second = connect()
        second.sendall(b"3\n")
        for _ in range(100):  # those that are waiting are not closed for them
            idle.append(connect())
            assert inflow.read(100, 1.0) is None
        first.sendall(b"2\n")
        first.close()
        read_all(inflow, b"2\n3\n")
    inflow.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ECONNABORTED])
def test_a_connection_that_cannot_be_accepted_ends_no_input(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept, failures = socket.socket.accept, [OSError(number, os.strerror(number))]

    def fails_once(listener: socket.socket) -> object:
        if failures:
            raise failures.pop()
        return accept(listener)

    inflow = SocketInflow(("127.0.0.1", 0), ends_with_connection=False)
    monkeypatch.setattr(socket.socket, "accept", fails_once)
    with socket.create_connection(inflow.address) as peer:
        peer.sendall(b"1\n")
        read_all(inflow, b"1\n")
    assert not failures
    inflow.close()
