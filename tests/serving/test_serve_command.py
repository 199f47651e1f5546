"""`fsql serve` and `fsql query` as a user calls them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fsql
from fsql.console.serve_command import token_of
from fsql.tests.cli.commands import fsql as command
from fsql.tests.serving.written_log import Log

if TYPE_CHECKING:
    from pathlib import Path


def test_a_server_beyond_this_machine_needs_tls(tmp_path: Path) -> None:
    said = command("serve", "--state", tmp_path, "--host", "0.0.0.0")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        "error[FSQL-E674]: a server that listens on 0.0.0.0 needs TLS\n"
        "  = help: give a certificate and its key: --tls-cert FILE --tls-key FILE\n"
    )


def test_a_token_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "serve.token"
    token = token_of(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert token_of(path) == token
    path.chmod(0o644)
    said = command("serve", "--state", tmp_path)
    assert said.err.startswith("error[FSQL-E674]: others may read the token file")


def test_a_job_is_asked_by_its_state_directory(tmp_path: Path) -> None:
    log = Log(tmp_path, "best")
    log.write(0, [(0, "a", 1), (0, "b", 2)])
    said = command("query", "--state", tmp_path, "SELECT k, n FROM best ORDER BY n DESC")
    assert (said.code, said.out, said.err) == (0, "k  n\nb  2\na  1\n", "position 1.0\n")
    said = command("query", "--state", tmp_path, "SELECT * FROM best WHERE k = 'a'", "--json")
    assert json.loads(said.out) == {
        "position": "1.0",
        "columns": [{"name": "k", "type": "STRING"}, {"name": "n", "type": "BIGINT"}],
        "rows": [{"k": "a", "n": 1}],
    }
    said = command("query", "--state", tmp_path)
    assert said.out == "result  rows  key\nbest    2     k\n"
    log.write(3, [(3, "a", 1)])
    said = command(
        "query", "--state", tmp_path, "--changes", "best", "--after", "1.0", "--until-current"
    )
    assert [json.loads(line) for line in said.out.splitlines()] == [
        {"position": "4.0", "snapshot": False, "changes": [{"op": "-D", "row": {"k": "a", "n": 1}}]}
    ]
    assert command("query", "--state", tmp_path, "a", "b").code == 2
    assert command("query", "--state", tmp_path, "--after", "1.0").code == 2


def test_the_library_attaches_to_a_job(tmp_path: Path) -> None:
    log = Log(tmp_path, "best")
    log.write(0, [(0, "a", 1)])
    with fsql.attach(state=tmp_path) as job:
        assert (job.results, job.position) == (["best"], "1.0")
        assert job.query("SELECT n FROM best").to_pylist() == [{"n": 1}]
        [first] = job.changes("best", seconds=0.0)
        assert (first.snapshot, [tuple(each) for each in first.changes]) == (
            True,
            [("+I", {"k": "a", "n": 1})],
        )
        log.write(1, [(0, "b", 1)])
        [second] = job.changes("best", after=first.position, seconds=0.0)
        assert [each.row["k"] for each in second.changes] == ["b"]
