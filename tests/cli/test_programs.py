"""Programs in Python: the same rows from every engine, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsql import Session, program
from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import random

from fsql import program, udf


class Sums:
    def init(self):
        return 0

    def update(self, total, tag, row):
        if tag["kind"] == "read":
            return 0, [(tag["k"], total), (None, row["m"])]
        if row["n"] == 13:
            raise ValueError("no 13")
        return total + row["n"], ()

    def depends(self, tag, other):
        return tag["k"] == other["k"] and "read" in (tag["kind"], other["kind"])


def of_sums(state="BIGINT", columns=("k STRING", "total BIGINT"), key=("k",), **methods):
    tag = "ROW<kind STRING, k STRING>"
    made = type("Made", (Sums,), methods)
    return program(state=state, columns=list(columns), tag=tag, key=list(key))(made)


Keyed = of_sums()
Whole = of_sums(key=())
Drawn = of_sums(update=lambda self, total, tag, row: (random.randrange(10**6), []))
NoPair = of_sums(update=lambda self, total, tag, row: total)
NoRows = of_sums(update=lambda self, total, tag, row: (total, 1))
Texts = of_sums(update=lambda self, total, tag, row: ("x", []))
Unstarted = of_sums(init=lambda self: "x")
Mixed = of_sums(depends=lambda self, tag, other: True)
NoState = of_sums(state="NUMBERS")
NoColumn = of_sums(columns=("k TEXTS",))
NoField = of_sums(key=("page",))
Needs = of_sums(__init__=lambda self, what: None)


@udf(["STRING"], "STRING")
def same(text):
    return text
"""
DECLARED = """
CREATE TABLE a (k STRING, n INT) WITH ('connector' = 'file', 'path' = 'a.jsonl');
CREATE TABLE r (k STRING, m BIGINT) WITH ('connector' = 'file', 'path' = 'r.jsonl');
CREATE PROGRAM keyed AS 'm:Keyed' LANGUAGE PYTHON;
CREATE PROGRAM whole AS 'm:Whole' LANGUAGE PYTHON;
"""
TAG = "TAG => ROW(CASE WHEN n IS NULL THEN 'read' ELSE 'add' END, k)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a module and rows, which is the working directory."""
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "m.py").write_text(MODULE)
    rows = [{"k": "xy"[number % 2], "n": number} for number in range(6)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reads = [{"k": "xyz"[number % 3], "m": number} for number in range(6)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reads))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(query: str, *flags: str) -> tuple[int, str, str]:
    return fsql("run", "-q", "--functions", "functions", *flags, "-e", DECLARED + query)


ENGINES = pytest.mark.parametrize(
    "flags", [(), ("--engine", "model"), on_workers("--workers", "2"), ("--policy", "speculative")]
)


@ENGINES
def test_rows_of_a_program_over_two_tables(flags: tuple[str, ...]) -> None:
    for name, totals in {
        "keyed": [0, 1, 0, 2, 3, 0],
        "whole": [0, 1, 2, 3, 4, 5],
    }.items():
        code, out, err = run(
            f"SELECT s.* FROM RUN({name}, TABLE a, TABLE (SELECT k, m FROM r), {TAG}) AS s", *flags
        )
        assert (code, err) == (0, "")
        # Row n of both tables comes at position n, and that of table a first.
        expected = []
        for number, total in enumerate(totals):
            expected += [{"k": "xyz"[number % 3], "total": total}, {"k": None, "total": number}]
        assert [json.loads(line) for line in out.splitlines()] == expected


def last_error(query: str) -> str:
    """Return the first line of the error, and what it says of its place."""
    code, _, err = run(query)
    assert code, "the query runs"
    label = next((line.partition("^ ")[2] for line in err.splitlines() if "^ " in line), "")
    return f"{err.splitlines()[0]}; {label}".removesuffix("; ")


def of_program(name: str) -> str:
    return last_error(
        f"CREATE PROGRAM p AS 'm:{name}' LANGUAGE PYTHON; SELECT * FROM RUN(p, TABLE a, TAG => ('add', k))"
    )


def test_what_is_wrong_with_a_program() -> None:
    assert {name: of_program(name) for name in NAMES} == NAMES


WRONG_TYPE = 'error[FSQL-E509]: Python function returned another type, caused by a row of table "a"'
NAMES = {
    "Drawn": "error[FSQL-E402]: function Drawn is not deterministic",
    "NoPair": f"{WRONG_TYPE}; NoPair.update returned a value of type int, not (state, rows)",
    "NoRows": f"{WRONG_TYPE}; NoRows.update returned a value of type int, not rows",
    "Texts": f"{WRONG_TYPE}; Texts.update returned a value of type str, not BIGINT",
    "Unstarted": (
        'error[FSQL-E411]: "m:Unstarted" has no first state: init returned a value of type str, not BIGINT'
    ),
    "Mixed": "error[FSQL-E411]: program Mixed depends on events of other keys",
    "NoState": (
        'error[FSQL-E411]: state type "state" of program "m:NoState" is no SQL type:'
        ' type "NUMBERS" does not exist'
    ),
    "NoColumn": 'error[FSQL-E411]: columns of program "m:NoColumn": type "TEXTS" does not exist',
    "NoField": (
        'error[FSQL-E411]: key of program "m:NoField" has "page", which is no field of its tag'
    ),
    "Needs": (
        'error[FSQL-E411]: "m:Needs": Made cannot be created:'
        " <lambda>() missing 1 required positional argument: 'what'"
    ),
    "Missing": 'error[FSQL-E411]: module "m" has no function "Missing"',
    "same": 'error[FSQL-E411]: "m:same" is not a program',
}


def test_an_event_that_raises_stops_the_job_at_its_row(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"k": "x", "n": 1}\n{"k": "x", "n": 13}\n')
    code, out, err = run(f"SELECT * FROM RUN(keyed, TABLE a, TABLE r, {TAG})")
    assert (code, out.splitlines()[0]) == (3, '{"k":"x","total":1}')
    assert "Keyed.update raised ValueError: no 13" in err


def test_what_is_wrong_with_run() -> None:
    def of(arguments: str) -> str:
        return last_error(f"SELECT * FROM RUN({arguments})")

    assert of("nothing, TABLE a, TAG => k") == (
        'error[FSQL-E202]: program "nothing" does not exist'
    )
    assert of("keyed, TABLE a") == ("error[FSQL-E307]: invalid arguments of RUN: it has no TAG")
    assert of("keyed, TAG => 1") == "error[FSQL-E307]: invalid arguments of RUN: it has no table"
    assert of("TABLE a, TAG => k") == (
        "error[FSQL-E307]: invalid arguments of RUN: its arguments are a program, tables and a tag"
    )
    assert of("keyed, TABLE a PARTITION BY k, TAG => k") == (
        "error[FSQL-E307]: PARTITION BY of a table of RUN"
    )
    assert of("keyed, TABLE a, TAG => k") == (
        "error[FSQL-E401]: the tag is STRING, and that of program Keyed ROW<kind STRING, k STRING>"
    )
    assert of("keyed, TABLE a, TAG => missing").startswith("error[FSQL-E203]")
    assert of("keyed, TABLE a, TABLE (SELECT TRUE AS n), TAG => ('add', k)") == (
        'error[FSQL-E206]: column "n" is INT and BOOLEAN'
    )
    assert of("keyed, TABLE (SELECT k, COUNT(*) AS n FROM a GROUP BY k), TAG => ('add', k)") == (
        "error[FSQL-E301]: not implemented yet: programs over rows that can be retracted"
    )
    used = "error[FSQL-E321]: KEYED is a program, not a function"
    assert last_error("SELECT keyed(k) FROM a") == used
    assert last_error("SELECT * FROM keyed(1)") == used
    assert last_error("CREATE FUNCTION f AS 'm:Keyed' LANGUAGE PYTHON; SELECT 1").startswith(
        'error[FSQL-E411]: "m:Keyed" is a program'
    )


def test_check_and_explain_show_the_program(folder: Path) -> None:
    (folder / "q.sql").write_text(
        f"{DECLARED}SELECT total FROM RUN(keyed, TABLE a, TABLE r, {TAG});"
    )
    code, out, err = fsql("check", "--functions", "functions", "q.sql")
    assert (code, err) == (0, "")
    assert out == (
        "q.sql: 1 INSERT\n  into stdout: append\n    state of Over: one row per partition, unbounded\n"
        "  functions in Python: m:Keyed\n"
    )
    code, out, err = fsql("explain", "--functions", "functions", "q.sql")
    assert (code, err) == (0, "")
    assert "Over partition by k; compute Keyed(ROW(" in out


def test_a_session_runs_its_own_program() -> None:
    @program(state="BIGINT", columns=["total BIGINT"], tag="STRING")
    class Running:
        def init(self) -> int:
            return 0

        def update(self, total: int, tag: str, row: Any) -> Any:
            del tag
            return total + row["n"], [total + row["n"]]

        def depends(self, tag: str, other: str) -> bool:
            return bool(tag or other)

    session = Session()
    session.udf(Running, name="running")
    rows = session.sql(
        "SELECT total FROM RUN(running, TABLE t, TAG => 'x')", tables={"t": [{"n": 1}, {"n": 2}]}
    )
    assert rows.table().to_pylist() == [{"total": 1}, {"total": 3}]
