"""Waiting for descriptors: also for those that select() does not take."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest

from fsql.job.open_files import raise_open_files_limit
from fsql.runtime.drivers.descriptors import wait_readable
from fsql.runtime.drivers.processes.lines import Alive, LineReader, LineWriter
from fsql.runtime.drivers.transport import ZeroMqTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = bytes(32)


@pytest.fixture(params=[0, 2_000], ids=["low", "from 2,000 on"])
def pipe(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe, as descriptors from a number on."""
    raise_open_files_limit()
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, request.param) for end in ends]
    for end in ends:
        os.close(end)
    yield high[0], high[1]
    for end in high:
        os.close(end)


def test_a_descriptor_is_readable_when_something_was_written(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    assert wait_readable([reading], 0) == []
    os.write(writing, b"x")
    assert wait_readable([reading], None) == [reading]


def test_lines_are_read_from_any_descriptor(pipe: tuple[int, int]) -> None:
    reader, writer = LineReader(pipe[0]), LineWriter(pipe[1])
    assert list(reader.lines()) == []
    writer.write(Alive())
    assert list(reader.lines()) == [Alive()]


def test_a_transport_waits_for_any_descriptor(pipe: tuple[int, int]) -> None:
    transport = ZeroMqTransport(KEY)
    try:
        os.write(pipe[1], b"x")
        assert transport.receive(60.0, [pipe[0]]) == []  # at once: the pipe can be read
        assert transport.receive(60.0, [pipe[0]]) == []
    finally:
        transport.close()
