"""Followed files: each line comes once, in the order of its file, whatever happens to files and job."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.formats.text.decoder import TextDecoder
from fsql.tests.unit.connectors.follow_jobs import LARGE, append, job_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.tests.unit.connectors.follow_jobs import Job


@pytest.fixture(autouse=True)
def no_power_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)


class Writers:
    """Files that are written, renamed and removed at random, and the lines that each has got."""

    def __init__(self, job: Job, random: Random) -> None:
        self.job = job
        self.random = random
        self.written: dict[str, list[str]] = {}
        self.names: dict[str, set[str]] = {}
        """The names that each file has had."""
        self._places: dict[str, Path] = {}
        self._unfinished: dict[str, str] = {}

    def begin(self, name: str) -> None:
        self._places[name] = self.job.path.with_name(f"{self.random.choice('abc')}{name}.log")
        self.written[name] = []
        self.names[name] = {self._places[name].name}

    def write(self, step: int) -> None:
        name = self._any()
        lines = [f"{name} {step}.{n}" for n in range(self.random.randrange(4))]
        data = self._unfinished.pop(name, "") + "".join(line + "\n" for line in lines)
        if lines and self.random.random() < 0.3:
            data, self._unfinished[name] = data[:-3], data[-3:]
        append(self._places[name], data)
        self.written[name] += lines

    def rename(self, step: int) -> None:
        name = self._any()
        old = self._places[name]
        if old.exists():
            self.job.drain()
            self._places[name] = old.rename(old.with_name(f"{old.name}.{step}"))
            self.names[name].add(self._places[name].name)
            self.job.drain()

    def remove(self) -> None:
        name = self._any()
        self._finish(name)
        self.job.drain()
        self._places.pop(name).unlink(missing_ok=True)
        self.job.drain()

    def finish(self) -> None:
        for name in sorted(self._places):
            self._finish(name)

    def _finish(self, name: str) -> None:
        append(self._places[name], self._unfinished.pop(name, ""))

    def _any(self) -> str:
        if not self._places:
            self.begin(f"g{len(self.written)}")
        return self.random.choice(sorted(self._places))


@pytest.mark.parametrize("seed", range(40))
def test_each_line_comes_once_and_in_order_whatever_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("fsql.connectors.file.following.follower._RENAMED_MAX", 100)
    random = Random(seed)
    job = job_of(tmp_path)
    writers = Writers(job, random)
    seen: list[str] = []

    def be_killed() -> None:
        job.step_in_part(random.randrange(1000))
        job.start()

    def look() -> None:
        job.log.flush()
        lines = job.lines()
        assert lines[: len(seen)] == seen
        seen[:] = lines

    for step in range(120):
        if step % 12 == 0:
            writers.begin(f"f{step}")
        acts: list[Callable[[], object]] = [
            *[lambda: writers.write(step)] * 5,  # noqa: B023 - called in this step
            lambda: writers.rename(step),  # noqa: B023
            writers.remove,
            *[lambda: job.step(random.choice([1, 7, LARGE]))] * 2,
            be_killed,
            look,
        ]
        random.choice(acts)()
    writers.finish()
    job.drain()
    look()
    assert sorted(seen) == sorted(line for each in writers.written.values() for line in each)
    for name, expected in writers.written.items():
        assert [line for line in seen if line.split()[0] == name] == expected
    job.decoder = lambda: TextDecoder(0)  # which accepts no line
    places = job.places()
    assert [text for _, _, _, text in places] == seen
    for file, line, byte, text in places:
        name = text.split()[0]
        before = writers.written[name][: line - 1]
        assert (text, byte) == (
            writers.written[name][line - 1],
            sum(len(each) + 1 for each in before),
        )
        assert file in writers.names[name]
    job.close()
