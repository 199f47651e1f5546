"""A cluster directory with an agent of its own, and jobs that last as long as a test needs."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsql.deployment.directory import ClusterDirectory
from fsql.job.graph_tick import newest_manifest
from fsql.tests.cli.commands import CommandResult, fsql
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS
from fsql.tests.command_server import run_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TestCluster:
    """Commands on one cluster directory."""

    __test__ = False
    path: Path

    @property
    def directory(self) -> ClusterDirectory:
        return ClusterDirectory(self.path)

    def call(self, *arguments: str | Path) -> CommandResult:
        """Call a command, which must succeed."""
        said = self.say(*arguments)
        assert said.code == 0, said.err
        return said

    def say(self, *arguments: str | Path) -> CommandResult:
        """Call a command; `up` is a process of its own, so that it can fork the agent."""
        if arguments[0] != "up":
            return fsql(*arguments, "--dir", self.path)
        command = [*map(str, arguments), "--dir", str(self.path)]
        done = run_command(command, check=False, capture_output=True, text=True)
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.call("status", name, "--json").out)
        return found

    def wait(self, name: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the status of a job is as expected, and return it."""
        until = time.monotonic() + HANGS_AFTER_SECONDS
        while time.monotonic() < until:
            status = self.status(name)
            if reached(status):
                return status
            if status["state"] == "failed":
                break
            time.sleep(0.05)
        raise AssertionError((self.status(name), self.call("logs", name).out))

    def wait_for_state(self, name: str, state: str) -> dict[str, Any]:
        return self.wait(name, lambda status: status["state"] == state)

    def wait_for_rows(self, name: str, rows: int) -> dict[str, Any]:
        return self.wait(name, lambda status: status["counters"].get("rows_out", 0) >= rows)

    def wait_for_snapshot(self, name: str) -> dict[str, Any]:
        return self.wait(name, lambda status: status["snapshot_age_seconds"] is not None)

    def drain(self, name: str) -> int:
        """Drain a job that reads `words`; return its position, which is a number of lines."""
        self.call("stop", name, "--drain")
        return self.position(name)

    def drain_later(self, name: str, output: Path) -> int:
        """Drain an endless job when it has written more to a file; return the number of lines.

        A job with an end could reach it before the commands that change it, on a busy machine.
        """
        size = size_of(output)
        self.wait(name, lambda _: size_of(output) > size)
        return self.drain(name)

    def position(self, name: str) -> int:
        """Return the time of the position of the newest snapshot: in `words`, a number of lines."""
        job, _ = self.directory.find_job(name)
        manifest = newest_manifest(job.state)
        assert manifest is not None
        return manifest.position[0]

    def processes(self, role: str) -> list[int]:
        """Return the processes of jobs that have a role."""
        found = json.loads(self.call("ps", "--json").out)["processes"]
        return [each["pid"] for each in found if each["role"] == role]

    def kill_agent(self) -> None:
        agent = self.directory.agent()
        assert agent
        kill(agent)
        self.wait_until(lambda: self.directory.agent() is None)

    def kill_job(self, name: str) -> None:
        job, _ = self.directory.find_job(name)
        runner = job.runner()
        assert runner
        kill(runner)
        self.wait_until(lambda: job.runner() != runner)

    def wait_until(self, reached: Callable[[], bool]) -> None:
        until = time.monotonic() + HANGS_AFTER_SECONDS
        while not reached():
            assert time.monotonic() < until
            time.sleep(0.05)

    def close(self) -> None:
        """End all that was started."""
        if self.directory.agent() is not None:
            fsql("down", "--dir", self.path)
        for job in self.directory.jobs():
            runner = job.runner()
            if runner:
                kill(runner)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
