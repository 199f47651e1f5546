"""The commands of docs/operations.md about deployed jobs, each of them run in its order."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql
from fsql.tests.deployment.cluster import TestCluster
from fsql.tests.docs.pages import page_text, section

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

ORDERS = """
CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'vocabulary' = '20', 'words_per_line' = '1', 'rate' = '200');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines GROUP BY line;
"""
CHANGED = (
    ORDERS
    + """
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'copies.jsonl');
INSERT INTO copies SELECT line FROM lines;
"""
)
SECOND = (
    ORDERS[: ORDERS.index("CREATE TABLE counts")]
    + """
CREATE TABLE long_lines (line STRING) WITH ('connector' = 'file', 'path' = 'long_lines.jsonl');
INSERT INTO long_lines SELECT line FROM lines WHERE LENGTH(line) > 9;
"""
)


def commands() -> list[list[str]]:
    text = section(page_text("docs/operations.md"), "## Deploy jobs")
    return [shlex.split(line) for line in re.findall(r"^    fsql (.*)$", text, re.MULTILINE)]


def test_the_commands_do_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSQL_DIR", raising=False)
    (tmp_path / "orders.sql").write_text(ORDERS)
    (tmp_path / "changed.sql").write_text(CHANGED)
    (tmp_path / "second.sql").write_text(SECOND)
    cluster = TestCluster(tmp_path / ".fsql")
    ran = []
    try:
        for arguments in commands():
            said = fsql(*arguments)
            assert said.code == 0, (arguments, said)
            ran.append(arguments[0])
            if arguments[0] in {"deploy", "restart"} and "--dry-run" not in arguments:
                [(_, deployment)] = cluster.directory.by_name().values()
                cluster.wait_for_state(deployment.name, "running")
                cluster.wait_for_rows(deployment.name, 1)
                cluster.wait_for_snapshot(deployment.name)
    finally:
        cluster.close()
    assert ran == [
        *("up", "compile", "deploy", "list", "status", "logs", "top", "ps", "doctor"),
        *("stop", "restart", "rename", "stop", "restart", "deploy", "deploy"),
        *("deploy", "deploy", "script", "deploy"),
        *("snapshot", "snapshot", "stop", "snapshot", "restart", "drop", "down"),
    ]
    assert cluster.directory.agent() is None
    assert list(cluster.directory.jobs()) == []
