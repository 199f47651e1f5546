"""Inflows: waiting at descriptors of any number, and what is heard of a thread that fails."""

from __future__ import annotations

import os
import socket
import threading
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
