"""The commands of docs/operations.md about keys and machines, each of them run in its order."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fsql.tests.cluster.machines import two_machines
from fsql.tests.cluster.twin import FSQL
from fsql.tests.deployment.cluster import TestCluster
from fsql.tests.docs.pages import page_text, section

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
    text = section(page_text("docs/operations.md"), "## Keys and machines")
    return re.findall(r"^    fsql (.*)$", text, re.MULTILINE)


def done(*command: str) -> str:
    """Run a command; return its standard output."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wait_for_command(directory: Path) -> tuple[str, str]:
    """Return the address and the key, from the directory on, of the command that a deployed job logs."""
    cluster = TestCluster(directory / ".fsql")

    def events() -> list[dict[str, str]]:
        lines = cluster.call("logs", "copy", "--json").out.splitlines()
        return [each for each in map(json.loads, lines) if each["event"] == "waiting"]

    cluster.wait_until(lambda: bool(events()))
    command = shlex.split(events()[0]["command"])
    assert command[:3] + command[4:5] == ["fsql", "worker", "--join", "--key"]
    return command[3], str(Path(command[5]).relative_to(directory))


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSQL_DIR", raising=False)
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "copy.sql").write_text(COPY)
    right = done(*FSQL, "run", "-q", "query.sql")
    ran: list[str] = []
    known: dict[str, str] = {}
    with two_machines() as (first, second):
        known["ADDRESS1"] = first.address
        for line in commands():
            filled = re.sub(r"\b[A-Z]+[12]\b", lambda name: known[name[0]], line)
            command, *arguments = shlex.split(filled)
            ran.append(" ".join((command, *arguments[: 1 if command == "keys" else 0])))
            if command == "run":
                run = subprocess.Popen(
                    [*first.prefix, *FSQL, command, *arguments, "--json"],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            elif command == "worker" and ".fsql" in line:
                address, key = wait_for_command(tmp_path)
                assert re.fullmatch(arguments[1].replace("FINGERPRINT", "[0-9a-f]{32}"), address)
                assert re.fullmatch(arguments[3].replace("ID", "[0-9a-f]{16}"), key)
                flags = ("--join", address, "--key", key, *arguments[4:])
                done(*second.prefix, *FSQL, command, *flags)
                copied = (tmp_path / "copies.jsonl").read_text()
                assert copied == right
            elif command == "worker":
                assert run.stderr is not None
                said = json.loads(run.stderr.readline())
                assert said["event"] == "waiting", said
                assert re.fullmatch(
                    arguments[1].replace("FINGERPRINT", "[0-9a-f]{32}"), said["address"]
                )
                done(*second.prefix, *FSQL, command, "--join", said["address"], *arguments[2:])
                out, errors = run.communicate()
                assert (run.returncode, out) == (0, right), errors
            else:
                prefix = () if command == "keys" else first.prefix
                out = done(*prefix, *FSQL, command, *arguments)
                if command == "keys" and arguments[0] in {"init", "rotate"}:
                    new = "NEW" if arguments[0] == "rotate" else ""
                    known[f"{new}KEY{arguments[1][-1]}"] = out.strip()
    assert ran == [
        *("keys init", "keys init", "keys authorize", "keys authorize", "keys show"),
        *("run", "worker", "up", "deploy", "logs", "worker", "down"),
        *("keys rotate", "keys authorize"),
    ]
    listed = [
        line.split()[1] for line in (tmp_path / "keys1/authorized").read_text().split("\n")[1:-1]
    ]
    assert listed == [known["KEY2"], known["NEWKEY2"]]
