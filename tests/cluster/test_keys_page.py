"""The commands of docs/operations.md about keys and two machines, each of them run in its order.

`tests/deployment/test_three_machines_page.py` runs those for three.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.machines import connected_machines
from fsql.tests.command_server import command_process
from fsql.tests.deployment.cluster import TestCluster
from fsql.tests.docs.pages import page_text, section

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

QUERY = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'count' = '50');
SELECT line FROM lines;
"""
COPY = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'words', 'count' = '50');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'copies.jsonl');
INSERT INTO copies SELECT line FROM lines;
"""


def commands() -> list[str]:
    """Return the commands of the section, without those for three machines."""
    text = section(page_text("docs/operations.md"), "## Keys and machines")
    text = text.replace(section(text, "### Three machines"), "")
    return re.findall(r"^    fsql (.*)$", text, re.MULTILINE)


def done(*arguments: str, prefix: tuple[str, ...] = ()) -> str:
    """Run a command; return its standard output."""
    process = command_process(arguments, prefix=prefix, stdout=subprocess.PIPE, text=True)
    out: str = process.communicate()[0]
    assert process.returncode == 0
    return out


def check_copies(directory: Path, right: str) -> None:
    """Check that the job has written what one process writes, with a worker of the other machine."""
    cluster = TestCluster(directory / ".fsql")
    cluster.wait_for_state("copy", "finished")
    assert (directory / "copies.jsonl").read_text() == right
    log = (directory / ".fsql/machines/machine2/log").read_text()
    assert re.search(r"^joining the run at tcp://", log, re.MULTILINE)
    assert "refused" not in log


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSQL_DIR", raising=False)
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "copy.sql").write_text(COPY)
    right = done("run", "-q", "query.sql")
    ran: list[str] = []
    known: dict[str, str] = {}
    with connected_machines(2) as (first, second):
        known["ADDRESS1"] = first.address
        for line in commands():
            filled = re.sub(r"\b[A-Z]+[12]\b", lambda name: known[name[0]], line)
            command, *arguments = shlex.split(filled)
            ran.append(" ".join((command, *arguments[: 1 if command == "keys" else 0])))
            if command == "run":
                run = command_process(
                    [command, *arguments, "--json"],
                    prefix=first.prefix,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            elif command == "worker":
                assert run.stderr is not None
                said = json.loads(run.stderr.readline())
                assert said["event"] == "waiting", said
                assert re.fullmatch(
                    arguments[1].replace("FINGERPRINT", "[0-9a-f]{32}"), said["address"]
                )
                joined = (command, "--join", said["address"], *arguments[2:])
                done(*joined, prefix=second.prefix)
                out, errors = run.communicate()
                assert (run.returncode, out) == (0, right), errors
            else:
                machine = second if "--machine" in arguments else first
                prefix = () if command == "keys" else machine.prefix
                out = done(command, *arguments, prefix=prefix)
                if command == "deploy":
                    check_copies(tmp_path, right)
                if command == "keys" and arguments[0] in {"init", "rotate"}:
                    new = "NEW" if arguments[0] == "rotate" else ""
                    known[f"{new}KEY{arguments[1][-1]}"] = out.strip()
    assert ran == [
        *("keys init", "keys init", "keys authorize", "keys authorize", "keys show"),
        *("run", "worker", "up", "up", "deploy", "ps", "down", "down"),
        *("keys rotate", "keys authorize"),
    ]
    listed = [
        line.split()[1] for line in (tmp_path / "keys1/authorized").read_text().split("\n")[1:-1]
    ]
    assert listed == [known["KEY2"], known["NEWKEY2"]]
