"""The commands of docs/operations.md about ZooKeeper, each of them run in its order."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fsql.tests.command_server import Command, run_command
from fsql.tests.docs.pages import page_text, section
from fsql.tests.zookeeper.worlds import free_ports

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

QUERY = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'count' = '50');
SELECT line FROM lines;
"""
SECRET = "fsql:secret"


def commands() -> list[str]:
    text = section(page_text("docs/operations.md"), "## Coordination by ZooKeeper")
    return re.findall(r"^    fsql (.*)$", text, re.MULTILINE)


def with_free_ports(lines: list[str]) -> list[str]:
    """Put a port that is free in the place of each."""
    ports = sorted(set(re.findall(r"(?<=[ :])\d{4}\b", "\n".join(lines))))
    free = dict(zip(ports, map(str, free_ports(len(ports))), strict=True))
    return [re.sub(r"(?<=[ :])\d{4}\b", lambda port: free[port[0]], line) for line in lines]


class Terminals:
    """Where the commands run; servers go on until the end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = Command(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._stack.callback(process.communicate)
        self._stack.callback(process.send_signal, signal.SIGTERM)
        return process


def told(process: subprocess.Popen[str], event: str) -> dict[str, object]:
    """Return the first event of a kind that a command reports."""
    assert process.stderr is not None
    while True:
        fields: dict[str, object] = json.loads(process.stderr.readline())
        assert fields["event"] != "diagnostics", fields
        if fields["event"] == event:
            return fields


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "credentials").write_text(f"{SECRET}\n")
    (tmp_path / "credentials").chmod(0o600)
    right = run_command(
        ["run", "-q", "query.sql"], capture_output=True, text=True, check=True
    ).stdout
    ran: list[str] = []
    waiting: subprocess.Popen[str] | None = None
    with ExitStack() as stack:
        terminals = Terminals(stack)
        for line in with_free_ports(commands()):
            command, *arguments = shlex.split(line)
            ran.append(command)
            if command == "zookeeper":
                told(terminals.start(command, *arguments, "--json"), "ready")
            elif "--joining" in arguments:
                waiting = terminals.start(command, *arguments, "--json")
            elif command == "worker":
                assert waiting is not None
                place = told(waiting, "waiting")
                address = str(place["address"])
                assert re.fullmatch(arguments[1].replace("ID", "[0-9a-f]{16}"), address)
                worker = terminals.start(command, "--join", address, *arguments[2:])
                assert waiting.communicate()[0] == right
                assert worker.wait() == 0
            else:
                variables = {**os.environ, "FSQL_ZOOKEEPER_CREDENTIALS": SECRET}
                if command == "run":
                    del variables["FSQL_ZOOKEEPER_CREDENTIALS"]
                done = run_command(
                    [command, *arguments],
                    capture_output=True,
                    text=True,
                    check=False,
                    env=variables,
                )
                assert done.returncode == 0, done.stderr
                if command == "run":
                    assert done.stdout == right
    assert ran == [
        *("zookeeper", "run", "run", "worker", "run", "snapshot"),
        *("zookeeper", "zookeeper", "zookeeper", "run"),
    ]
