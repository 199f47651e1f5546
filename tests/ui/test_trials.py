"""Results that the page computes: what they show, and that they write nothing, whatever the script says."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.text.source import SourceText
from fsql.console.web.trial import trial_text
from fsql.tests.cluster.twin import HANGS_AFTER_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.ui.served_page import Answer, ServedPage

SCRIPT = """\
CREATE TABLE words (word STRING, n BIGINT) WITH (
  'connector' = 'file', 'path' = 'words.jsonl', 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'
);
CREATE TABLE kept WITH ('connector' = 'file', 'path' = 'kept.jsonl') AS SELECT word FROM words;
CREATE TABLE totals (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED)
WITH ('connector' = 'file', 'path' = 'totals.jsonl', 'changes' = 'upsert');
INSERT INTO totals SELECT word, SUM(n) AS n FROM words GROUP BY word;
"""
ROWS = '{"word":"a","n":1}\n{"word":"b","n":2}\n{broken\n{"word":"a","n":4}\n'


def post(page: ServedPage, path: str, fields: dict[str, Any]) -> Answer:
    return page.ask(path, method="POST", body=json.dumps(fields).encode())


def messages(page: ServedPage, fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a trial tells, until it ends."""
    found = []
    with closing(http.client.HTTPConnection(*page.address, HANGS_AFTER_SECONDS)) as connection:
        connection.request("POST", "/api/run", json.dumps(fields), headers=page.own_headers)
        answer = connection.getresponse()
        assert answer.status == 200
        while line := answer.readline():
            found.append(json.loads(line))
            if "ended" in found[-1] or "error" in found[-1]:
                return found
    return found


@pytest.fixture
def folder(stopped_job: Path) -> Path:
    """The directory of the scripts of the page, with input, and outputs that exist."""
    folder = stopped_job.parent
    (folder / "words.jsonl").write_text(ROWS)
    for name in ("kept.jsonl", "totals.jsonl", "rejects.jsonl"):
        (folder / name).write_text("as it was\n")
    return folder


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.*") if path.is_file()}


def test_a_result_is_shown_and_nothing_is_written(page: ServedPage, folder: Path) -> None:
    before = files_of(folder)
    view = {"y": "n", "by": "word", "kind": "bar"}
    told = messages(page, {"text": SCRIPT, "view": view})
    assert list(told[0]) == ["trial"]
    assert told[1]["operation"] == "op"
    shown = [each for each in told if "rows" in each][-1]
    assert shown["rows"] == [{"word": "a", "n": 5}, {"word": "b", "n": 2}]
    assert (shown["released"], shown["rows_in"], shown["rows_rejected"]) == (4, 4, 1)
    plots = [each["plot"] for each in told if "plot" in each]
    assert plots[-1] == {"kind": "bar", "bars": [["a", 5.0], ["b", 2.0]], "more": 0}
    assert told[-1] == {"ended": "the input has ended"}
    first = messages(page, {"text": SCRIPT, "result": 0})
    assert [row["word"] for each in first for row in each.get("changes", ())] == ["a", "b", "a"]
    assert files_of(folder) == before


def test_statements_that_write_are_left_out(page: ServedPage, folder: Path) -> None:
    before = files_of(folder)
    sets = "EXECUTE STATEMENT SET BEGIN INSERT INTO totals SELECT word, n FROM words; END;"
    told = messages(
        page, {"text": f"{SCRIPT}INSERT INTO totals SELECT 'c', 1;\n{sets}\nSELECT 1 AS one;"}
    )
    assert [each["rows"] for each in told if "rows" in each][-1] == [{"one": 1}]
    assert told[-1] == {"ended": "the input has ended"}
    assert files_of(folder) == before


def test_places_in_declarations_stay() -> None:
    text = trial_text(SourceText("script", SCRIPT), None)
    lines, given = text.splitlines(), SCRIPT.splitlines()
    assert lines[0] == given[0]
    assert "rejects_path" not in text
    assert [line.rstrip() for line in lines[2:6]] == [given[2], "", given[4], given[5]]
    assert text.endswith("SELECT word, SUM(n) AS n FROM words GROUP BY word;\n")


def test_errors_have_their_codes(page: ServedPage) -> None:
    told = messages(page, {"text": "SELECT a FROM b"})
    assert [each["code"] for each in told[-1]["diagnostics"]] == ["FSQL-E201"]
    told = messages(page, {"text": "CREATE TABLE a (b INT) WITH ('connector' = 'blackhole')"})
    assert told[-1] == {
        "error": "the script has no result: end it with a SELECT, or INSERT INTO a table"
    }


def test_a_text_is_checked(page: ServedPage, folder: Path) -> None:
    found = post(page, "/api/check", {"text": SCRIPT}).fields
    assert (found["ok"], found["results"]) == (True, ["kept", "totals"])
    assert found["tables"][0] == {"name": "words", "columns": ["word", "n"]}
    found = post(page, "/api/check", {"text": "SELECT FROM"}).fields
    assert (found["ok"], found["results"]) == (False, [])
    assert found["diagnostics"][0]["code"] == "FSQL-E106"
    found = post(page, "/api/check", {"text": f"{SCRIPT}SELECT wor FROM"}).fields
    assert [table["name"] for table in found["tables"]] == ["words", "totals"]
    assert folder.exists()


@pytest.mark.parametrize(
    "name",
    [
        "../a.sql",
        "/tmp/a.sql",
        "a/b.sql",
        "..sql",
        "a.txt",
        ".sql",
        "a\n.sql",
        "a\x00.sql",
        "",
        "-a.sql",
    ],
)
def test_scripts_out_of_the_folder(page: ServedPage, name: str) -> None:
    assert post(page, "/api/save", {"name": name, "text": "x"}).status == 409
    fields = {"script": name, "job": "j"}
    assert post(page, "/api/deploy", fields).status == 409


def test_links_and_changed_files_are_not_replaced(page: ServedPage, folder: Path) -> None:
    (folder / "link.sql").symlink_to(folder / "words.jsonl")
    assert post(page, "/api/save", {"name": "link.sql", "text": "x"}).status == 409
    assert (folder / "words.jsonl").read_text() == ROWS
    saved = post(page, "/api/save", {"name": "one.sql", "text": "SELECT 1"}).fields
    opened = page.ask("/api/script?name=one.sql").fields
    assert opened == {"name": "one.sql", "text": "SELECT 1", "digest": saved["digest"]}
    (folder / "one.sql").write_text("SELECT 2")
    changed = {"name": "one.sql", "text": "SELECT 3", "before": saved["digest"]}
    answer = post(page, "/api/save", changed)
    assert answer.status == 409
    assert answer.fields["error"] == "one.sql has changed since it was opened: open it again"
    assert (folder / "one.sql").read_text() == "SELECT 2"
    assert "one.sql" in page.ask("/api/scripts").fields["scripts"]


@pytest.mark.parametrize("job", ["--help", "../x", "a b", "", "a" * 65])
def test_names_of_jobs_that_are_flags_or_paths(page: ServedPage, folder: Path, job: str) -> None:
    (folder / "two.sql").write_text("SELECT 1")
    assert post(page, "/api/deploy", {"script": "two.sql", "job": job}).status == 409


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"text": 1}', b'{"text": "", "more": 1}', b"\xff"]
)
@pytest.mark.parametrize(
    "path", ["/api/check", "/api/run", "/api/save", "/api/deploy", "/api/view"]
)
def test_malformed_requests(page: ServedPage, path: str, body: bytes) -> None:
    assert page.ask(path, method="POST", body=body).status == 400


def test_too_many_trials(page: ServedPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsql.console.web.trials.TRIALS_MAX", 0)
    assert post(page, "/api/run", {"text": "SELECT 1"}).status == 503
