"""Tokens and passwords are neither in the list of processes, nor in messages, logs or readable files."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from fsql.compiler.diagnostics.secrets import shown_arguments, without_secrets
from fsql.runtime.drivers.processes.process_role import processes_below
from fsql.runtime.drivers.spark.errors import spark_error
from fsql.tests.cli.commands import COMMAND, fsql
from fsql.tests.cluster.twin import command_of, wait_until

SECRET = "Zq81token"
MASTER = f"sc://127.0.0.1:1/;use_ssl=true;token={SECRET}"
SHOWN = "sc://127.0.0.1:1/;use_ssl=true;token=***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (MASTER, SHOWN),
        (f'at "{MASTER}", or', f'at "{SHOWN}", or'),
        ("sc://h:1/;token=a;user_id=b", "sc://h:1/;token=***;user_id=b"),
        ("https://h/p?api_key=a&x=1", "https://h/p?api_key=***&x=1"),
        ("jdbc://me:pass@host/db", "jdbc://me:***@host/db"),
        ("sc://host:15002", "sc://host:15002"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
        ("a token=x of SQL", "a token=x of SQL"),
    ],
)
def test_texts_are_shown_without_secrets(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_arguments_are_shown_without_secrets() -> None:
    given = ["run", "-D", "db_password=a b", "-Dtoken=c", "-D", "day=2020", "--master", MASTER]
    shown = ["run", "-D", "db_password=*** b", "-Dtoken=***", "-D", "day=2020", "--master", SHOWN]
    assert shown_arguments(given) == shown


def test_an_error_of_spark_has_no_token() -> None:
    [diagnostic] = spark_error(ConnectionError(f"no channel to {MASTER}"), "see").diagnostics
    assert diagnostic.notes == (f"no channel to {SHOWN}",)


@pytest.mark.slow
def test_the_command_line_of_a_run_is_shown_without_secrets() -> None:
    script = "CREATE TABLE s (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM s WHERE '${token}' <> '';"
    command = [*COMMAND, "run", "-q", "-D", f"token={SECRET}", "-e", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write(b'{"n":1}\n')
        run.stdin.flush()
        assert run.stdout.readline() == b'{"n":1}\n'
        [shown, *_] = command_of(run.pid)
        run.send_signal(signal.SIGINT)
    assert SECRET not in shown
    assert "token=***" in shown


@pytest.mark.cluster
@pytest.mark.slow
def test_a_token_is_neither_shown_nor_logged(tmp_path: Path) -> None:
    """The server does not exist, so its service says why it ends."""
    cluster = tmp_path / "cluster"
    arguments = ("up", "--json", "--dir", str(cluster), "--stats", "spark")
    up = fsql(*arguments, "--stats-master", MASTER)
    try:
        assert (up.code, SECRET in up.err, SHOWN in up.err) == (0, False, True)
        log = cluster / "statistics.log"
        wait_until(lambda: log.exists() and "E661" in log.read_text(), "the end of the service")
        pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        ours = [pid for pid in pids if str(cluster) in " ".join(command_of(pid))]
        below = [pid for top in ours for pid in processes_below(top)]
        assert ours
        assert [pid for pid in {*ours, *below} if SECRET in " ".join(command_of(pid))] == []
        private = {"statistics.json"}
        for path in cluster.rglob("*"):
            if path.is_file() and SECRET.encode() in path.read_bytes():
                assert (path.name in private, path.stat().st_mode & 0o077) == (True, 0)
        assert SHOWN in log.read_text()
    finally:
        assert fsql("down", "--dir", str(cluster)).code == 0
