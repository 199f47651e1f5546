"""Table and aggregate functions in Python: the same rows from every engine, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import itertools
import random

from fsql import udaf, udtf


@udtf(["STRING"], ["word STRING", "length INT"])
def words(text):
    for word in text.split():
        yield word, len(word)


def letters(text):
    return list(text)


@udtf(["INT"], ["n INT"])
def endless(n):
    return itertools.count()


@udtf(["INT"], ["a INT", "b INT"])
def wide(n):
    yield 1, 2, 3


@udaf(["DECIMAL(12, 2)", "INT"], "DECIMAL(10, 2)", state="ROW<total DECIMAL(30, 2), weight BIGINT>")
class Mean:
    def create_accumulator(self):
        return {"total": 0, "weight": 0}

    def accumulate(self, mean, value, weight):
        mean["total"] += value * weight
        mean["weight"] += weight

    def retract(self, mean, value, weight):
        mean["total"] -= value * weight
        mean["weight"] -= weight

    def get_value(self, mean):
        return round(mean["total"] / mean["weight"], 2)


@udaf(["STRING"], "STRING", state="ARRAY<STRING>", strict=False)
class Glue:
    def create_accumulator(self):
        return []

    def accumulate(self, glue, text):
        if text == "boom":
            raise ValueError("no boom")
        glue.append(text)

    def get_value(self, glue):
        return "+".join(str(text) for text in glue)


class Sum:
    def create_accumulator(self):
        return 0

    def accumulate(self, total, n):
        return total + n

    def get_value(self, total):
        return total


def of_sum(**methods):
    return udaf(["INT"], "INT", state="INT")(type("Made", (Sum,), methods))


Drawn = of_sum(accumulate=lambda self, total, n: total + random.randrange(10**6))
Wrong = of_sum(retract=lambda self, total, n: total - n - 1)
Texts = of_sum(get_value=lambda self, total: "x")
Empty = of_sum(create_accumulator=lambda self: "x")
Partial = of_sum(get_value=None)
NoState = udaf(["INT"], "INT", state="TEXTS")(Sum)
"""
ROWS = (
    {"s": "a bb c", "n": 1, "p": "1.50", "k": "x"},
    {"s": "dd", "n": 2, "p": "2.00", "k": "y"},
    {"s": "", "n": 3, "p": "3.50", "k": "x"},
    {"s": None, "n": 4, "p": None, "k": "x"},
    {"s": "q q", "n": 5, "p": "4.00", "k": "y"},
)
DECLARED = """
CREATE TABLE t (s STRING, n INT, p DECIMAL(10, 2), k STRING) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE FUNCTION words AS 'm:words' LANGUAGE PYTHON;
CREATE FUNCTION letters(s STRING) RETURNS TABLE (l STRING) LANGUAGE PYTHON AS 'm:letters';
CREATE AGGREGATE FUNCTION mean(p DECIMAL(12, 2), n INT) RETURNS DECIMAL(10, 2) LANGUAGE PYTHON AS 'm:Mean';
CREATE FUNCTION glue AS 'm:Glue' LANGUAGE PYTHON;
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a module and rows, which is the working directory."""
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "m.py").write_text(MODULE)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(query: str, *flags: str) -> tuple[int, str, str]:
    return fsql("run", "-q", "--functions", "functions", *flags, "-e", DECLARED + query)


def rows(query: str, *flags: str) -> list[list[object]]:
    code, out, err = run(query, *flags)
    assert (code, err) == (0, "")
    return [list(json.loads(line).values()) for line in out.splitlines()]


def last_error(query: str) -> str:
    """Return the first line of the error, and what it says of its place."""
    code, _, err = run(query)
    assert code, "the query runs"
    label = next((line.partition("^ ")[2] for line in err.splitlines() if "^ " in line), "")
    return f"{err.splitlines()[0]}; {label}".removesuffix("; ")


ENGINES = pytest.mark.parametrize(
    "flags", [(), ("--engine", "model"), on_workers("--workers", "2"), ("--policy", "speculative")]
)


@ENGINES
def test_table_functions_in_from(flags: tuple[str, ...]) -> None:
    query = (
        "SELECT n, a, b, l FROM t"
        " LEFT JOIN LATERAL TABLE(words(s)) AS w (a, b) ON TRUE, LATERAL letters(k)"
    )
    assert rows(query, *flags) == [
        [1, "a", 1, "x"],
        [1, "bb", 2, "x"],
        [1, "c", 1, "x"],
        [2, "dd", 2, "y"],
        [3, None, None, "x"],
        [4, None, None, "x"],
        [5, "q", 1, "y"],
        [5, "q", 1, "y"],
    ]
    assert rows("SELECT * FROM TABLE(words('a bc'))", *flags) == [["a", 1], ["bc", 2]]
    inner = "SELECT n, w.c FROM t CROSS JOIN LATERAL (SELECT COUNT(*) AS c FROM words(s)) AS w"
    assert rows(inner, *flags) == [[1, 3], [2, 1], [3, 0], [4, 0], [5, 2]]


@ENGINES
def test_aggregate_functions_of_groups(flags: tuple[str, ...]) -> None:
    query = "SELECT k, mean(p, n) AS m, glue(s) FILTER (WHERE n > 1) AS g FROM t GROUP BY k"
    assert rows(query, *flags) == [
        ["+I", "x", 1.5, None],
        ["+I", "y", 2.0, "dd"],
        ["-U", "x", 1.5, None],
        ["+U", "x", 3.0, ""],
        ["-U", "x", 3.0, ""],
        ["+U", "x", 3.0, "+None"],
        ["-U", "y", 2.0, "dd"],
        ["+U", "y", 3.43, "dd+q q"],
    ]


@ENGINES
def test_rows_leave_with_and_without_retract(flags: tuple[str, ...]) -> None:
    updating = (
        "SELECT mean(c, 1) AS m, glue(k || CAST(c AS STRING)) AS g FROM"
        " (SELECT k, CAST(COUNT(*) AS INT) AS c FROM t GROUP BY k)"
    )
    assert rows(updating, *flags)[-1] == ["+U", 2.5, "x3+y2"]
    frames = "SELECT n, mean(n, 1) OVER (ROWS 1 PRECEDING) AS m, glue(k) OVER (ROWS 2 PRECEDING) AS g FROM t"
    assert rows(frames, *flags) == [
        [1, 1.0, "x"],
        [2, 1.5, "x+y"],
        [3, 2.5, "x+x+y"],
        [4, 3.5, "x+x+y"],
        [5, 4.5, "x+x+y"],
    ]


@pytest.mark.slow
def test_a_run_that_continues_has_the_accumulators(folder: Path) -> None:
    script = folder / "script.sql"
    script.write_text(
        f"{DECLARED.replace('t.jsonl', 'in')}"
        "CREATE TABLE out (k STRING, m DECIMAL(10, 2), g STRING)"
        " WITH ('connector' = 'file', 'path' = 'out.jsonl');\n"
        "INSERT INTO out SELECT k, mean(p, n), glue(s) FROM t GROUP BY k;\n"
    )
    (folder / "in").mkdir()
    flags = ("-q", "--functions", "functions", "--state", "state", "--workers", "2")
    (folder / "in" / "t.jsonl").write_text((folder / "t.jsonl").read_text())
    assert fsql("run", script, *flags).code == 0
    first = (folder / "out.jsonl").read_text()
    assert '{"op":"+U","k":"y","m":3.43,"g":"dd+q q"}' in first
    assert fsql("run", script, *flags).code == 0
    assert (folder / "out.jsonl").read_text() == first


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT words(s) FROM t", "E321]: table function WORDS is not allowed in an expression"),
        ("SELECT * FROM glue('a')", "E321]: function GLUE returns no rows"),
        (
            "SELECT glue(DISTINCT s) FROM t",
            "E301]: not implemented yet: DISTINCT of GLUE, which is a function in Python",
        ),
        ("SELECT glue(s, k) FROM t", "E401]: function GLUE does not take (STRING, STRING)"),
        (
            "SELECT glue(CASE WHEN n = 3 THEN 'boom' ELSE s END) AS g FROM t",
            (
                'E508]: Python function raised an exception, caused by a row of table "t";'
                " Glue.accumulate raised ValueError: no boom"
            ),
        ),
    ],
)
def test_what_a_query_cannot_do_is_refused(query: str, said: str) -> None:
    assert last_error(query) == f"error[FSQL-{said}"


MALFORMED = 'E509]: Python function returned another type, caused by a row of table "t"'


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Drawn", "E402]: function Drawn is not deterministic"),
        ("Wrong", "E402]: function Wrong does not retract what it accumulates"),
        ("Texts", MALFORMED),
        ("Empty", 'E411]: "m:Empty" has no empty accumulator: a value of type str, not INT'),
        ("Partial", 'E411]: aggregate function "m:Partial" has no method get_value'),
        ("NoState", 'E411]: @fsql.udaf of "m:NoState": type "TEXTS" does not exist'),
        ("letters", 'E411]: function "m:letters" has no types'),
    ],
)
def test_aggregates_that_cannot_be_used_are_refused(name: str, said: str) -> None:
    query = f"CREATE AGGREGATE FUNCTION f AS 'm:{name}' LANGUAGE PYTHON; SELECT f(n) AS x FROM t"
    assert last_error(query) == f"error[FSQL-{said}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("endless", "endless returned more than 100,000 rows"),
        ("wide", "wide returned a row of 3 values, not of 2"),
    ],
)
def test_a_call_that_returns_other_rows_fails(name: str, said: str) -> None:
    query = f"CREATE FUNCTION f AS 'm:{name}' LANGUAGE PYTHON; SELECT 1 AS x FROM t, LATERAL f(n)"
    assert last_error(query) == f"error[FSQL-{MALFORMED}; {said}"


def test_a_function_that_is_no_aggregate_is_none() -> None:
    query = "CREATE AGGREGATE FUNCTION f(s STRING) RETURNS STRING LANGUAGE PYTHON AS 'm:letters'; SELECT 1"
    assert (
        last_error(query) == 'error[FSQL-E411]: function "m:letters" is not an aggregate function'
    )


def test_check_tells_what_is_kept(folder: Path) -> None:
    script = folder / "script.sql"
    updating = "(SELECT k, CAST(COUNT(*) AS INT) AS c FROM t GROUP BY k)"
    script.write_text(f"{DECLARED}SELECT mean(c, 1) AS m, glue(k) AS g FROM {updating};")
    code, out, _ = fsql("check", "--functions", "functions", script)
    assert (code, out.splitlines()[2:]) == (
        0,
        [
            "    state of Aggregate: one row per group, unbounded",
            "    state of Aggregate: one row with its values, unbounded",
            "  functions in Python: m:Glue, m:Mean",
        ],
    )
