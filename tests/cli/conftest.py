"""Benchmarks whose runs start in a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsql.benchmarks import job_process
from fsql.runtime.drivers.processes.starting import COMMAND
from fsql.tests.command_server import Command

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def forked_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the runs of benchmarks from a process that has imported everything."""

    def start(command: Sequence[str], **settings: Any) -> Command:
        assert tuple(command[: len(COMMAND)]) == COMMAND
        return Command(command[len(COMMAND) :], **settings)

    monkeypatch.setattr(job_process, "Popen", start)
