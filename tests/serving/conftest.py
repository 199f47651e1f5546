"""One server for the tests of this folder, over two results that the tests write themselves."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from fsql.job.results.answers import Limits
from fsql.serving.jobs import ServedJobs
from fsql.serving.server import Listening, Server
from fsql.tests.serving.written_log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a token of twenty-four.."


class Served:
    """A server in a thread, and the logs of its job `bids`."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.best, self.other = Log(state, "best"), Log(state, "other")
        for at in range(100):
            self.best.write(at, [(0, f"k{at}", at)])
        self.other.reach(100)
        self.at = 100
        ready = threading.Event()
        self.lines: list[str] = []
        jobs = ServedJobs(lambda: {"bids": state}, self.lines.append)
        self.server = Server(
            jobs,
            Listening(http=0, postgres=0),
            TOKEN,
            Limits(rows=150, wait_seconds=0.2),
            on_ready=lambda _: ready.set(),
            log=self.lines.append,
        )
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        assert ready.wait(60)

    def insert(self, key: str, value: int) -> str:
        """Add a row to `best`; return the position from which on it is there."""
        self.best.write(self.at, [(0, key, value)])
        self.at += 1
        self.other.reach(self.at)
        return f"{self.at}.0"

    def close(self) -> None:
        self.server.stop()
        self.thread.join()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("served"))
    yield found
    found.close()
