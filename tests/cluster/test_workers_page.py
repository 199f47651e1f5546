"""The commands of docs/operations.md about workers and state, each of them run in its order."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from fsql.tests.command_server import Command
from fsql.tests.docs.pages import page_text, section
from fsql.tests.zookeeper.worlds import free_ports

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

QUERY = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'count' = '50');
SELECT line FROM lines;
"""


def commands() -> list[list[str]]:
    page = page_text("docs/operations.md")
    text = section(page, "## Run on several processes") + section(page, "## Keep state")
    [port] = free_ports(1)
    lines = re.findall(r"^    fsql (.*)$", text, re.MULTILINE)
    return [shlex.split(line.replace("7400", str(port))) for line in lines]


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.sql").write_text(QUERY)
    said: list[tuple[str, str]] = []
    waiting: subprocess.Popen[str] | None = None
    for arguments in commands():
        process = Command(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "--joining" in arguments:
            assert process.stderr is not None
            while not (tmp_path / "state" / "cluster.key").exists():
                assert process.poll() is None, process.stderr.read()
            waiting = process
            continue
        out, errors = process.communicate()
        assert process.returncode == 0, (arguments, errors)
        said.append((arguments[0], out))
        if arguments[0] == "worker":
            assert waiting is not None
            out, errors = waiting.communicate()
            assert waiting.returncode == 0, errors
            said.append(("run", out))
    assert [command for command, _ in said] == [
        *("run", "worker", "run", "run", "snapshot", "snapshot"),
    ]
    assert len(said[0][1].splitlines()) == 50
    assert said[2][1] == said[0][1]
