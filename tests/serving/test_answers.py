"""Answers of queries over results, by key and by the engine, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.job.results.answers import Limits, answer, describe
from fsql.job.results.job_results import JobResults
from fsql.job.results.key_query import read_key_query
from fsql.tests.serving.written_log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = Limits(rows_read=1000, rows=100, wait_seconds=0.05)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobResults]:
    state = tmp_path_factory.mktemp("state")
    best, other = Log(state, "best"), Log(state, "other")
    best.write(0, [(0, "a", 1), (0, "b", 2), (0, "o'c", 3)])
    best.write(1, [(1, "a", 1), (2, "a", 5)])
    other.write(1, [(0, "a", 10)])
    found = JobResults(state, "bids")
    yield found
    found.close()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM best WHERE k = 'a'", [{"k": "a", "n": 5}]),
        ("select n, k from best where k = 'o''c' limit 1;", [{"n": 3, "k": "o'c"}]),
        ('SELECT n FROM "best" WHERE "k" = \'b\'', [{"n": 2}]),
        ("SELECT * FROM best WHERE k = 'absent'", []),
        ("SELECT * FROM Best WHERE K = 'a'", [{"k": "a", "n": 5}]),
        ("SELECT n * 2 AS twice FROM best WHERE k = 'a'", [{"twice": 10}]),
        ("SELECT * FROM best WHERE k = 'a' AND n = 1", []),
        ("SELECT SUM(n) AS n FROM best", [{"n": 10}]),
        ("SELECT k FROM best ORDER BY n DESC", [{"k": "a"}, {"k": "o'c"}, {"k": "b"}]),
        ("SELECT k FROM best ORDER BY n LIMIT 1", [{"k": "b"}]),
        ("SELECT k FROM best ORDER BY -n, k", [{"k": "a"}, {"k": "o'c"}, {"k": "b"}]),
        (
            "SELECT k, n AS m FROM best ORDER BY m DESC LIMIT 2",
            [{"k": "a", "m": 5}, {"k": "o'c", "m": 3}],
        ),
        ("SELECT MOD(n, 2) AS r FROM best GROUP BY 1 ORDER BY COUNT(*) DESC", [{"r": 1}, {"r": 0}]),
        ("SELECT DISTINCT n FROM best ORDER BY n", [{"n": 2}, {"n": 3}, {"n": 5}]),
        (
            "SELECT n FROM best UNION ALL SELECT n FROM other ORDER BY n",
            [{"n": 2}, {"n": 3}, {"n": 5}, {"n": 10}],
        ),
        (
            "SELECT b.k, b.n + o.n AS n FROM best b JOIN other o ON b.k = o.k",
            [{"k": "a", "n": 15}],
        ),
        ("WITH best AS (SELECT 7 AS n) SELECT n FROM best", [{"n": 7}]),
        ("SELECT 1 AS one", [{"one": 1}]),
    ],
)
def test_a_query_is_answered_as_of_the_position(
    results: JobResults, query: str, rows: list[dict[str, object]]
) -> None:
    found = answer(results, query, LIMITS)
    assert (found.to_pylist(), found.position) == (rows, "2.0")
    assert found.age is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM best WHERE k = 1",
        "SELECT * FROM best WHERE k = NULL",
        "SELECT DISTINCT k FROM best WHERE k = 'a'",
        "SELECT k, k FROM best WHERE k = 'a'",
        "SELECT k FROM best WHERE k = 'a' OR k = 'b'",
        "SELECT k AS limit FROM best WHERE k = 'a'",
        "SELECT k FROM best WHERE k = 'a' -- LIMIT 0",
        "SELECT k FROM best WHERE k = 'a' LIMIT 0",
    ],
)
def test_other_forms_are_not_taken_for_queries_of_a_key(query: str) -> None:
    found = read_key_query(query)
    assert (
        found is None
        or set(found.values) != {"k"}
        or not isinstance(found.values["k"], str)
        or (found.columns is not None and len(set(found.columns)) < len(found.columns))
    )


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM '/etc/passwd'", "E672"),
        ("SELECT * FROM best /*+ OPTIONS('connector' = 'file', 'path' = '/etc/passwd') */", "E672"),
        ("CREATE TABLE f (a STRING) WITH ('connector' = 'stdin'); SELECT * FROM f", "E672"),
        ("INSERT INTO best SELECT 'x', 1", "E672"),
        ("CREATE VIEW v AS SELECT 1 AS one", "E672"),
        ("SELECT 1 AS one; SELECT 2 AS two", "E672"),
        ("EXPLAIN SELECT * FROM best", "E672"),
        ("SHOW TABLES", "E672"),
        ("", "E672"),
        ("SELECT * FROM bst", "E201"),
        ("SELECT x FROM best", "E203"),
        ("SELECT", "E105"),
        ("SELECT 1 / (n - n) AS x FROM best", "E501"),
    ],
)
def test_what_is_no_query_of_results_is_refused(results: JobResults, query: str, code: str) -> None:
    with pytest.raises(FsqlError) as error:
        answer(results, query, LIMITS)
    assert error.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    "query", ["DELETE FROM best", "-- all\nUPDATE best SET n = 1", "INSERT best"]
)
def test_writing_is_refused_without_advice_to_write(results: JobResults, query: str) -> None:
    with pytest.raises(FsqlError) as error:
        answer(results, query, LIMITS)
    [found] = error.value.diagnostics
    assert (found.code, found.message, found.helps) == (
        "E672",
        "a running job is asked by one SELECT; nothing is written or declared",
        ("change what the job does with `fsql deploy`",),
    )


def test_a_table_that_is_no_result_is_told_with_those_that_are(results: JobResults) -> None:
    for query in ("SELECT * FROM nope", "SELECT * FROM best JOIN nope ON TRUE"):
        for ask in (
            lambda query=query: answer(results, query, LIMITS),
            lambda query=query: describe(results, query),
        ):
            with pytest.raises(FsqlError) as error:
                ask()
            [found] = error.value.diagnostics
            assert (found.message, found.notes) == (
                'table "nope" does not exist',
                ("tables: best, other",),
            )
    with pytest.raises(FsqlError) as error:
        answer(results, "SELECT * FROM bst", LIMITS)
    assert error.value.diagnostics[0].helps == ('a table with a similar name exists: "best"',)


def test_limits_hold(results: JobResults) -> None:
    few = Limits(rows_read=2, rows=2)
    for query in ("SELECT n FROM best", "SELECT a.n FROM best a, best b"):
        with pytest.raises(FsqlError) as error:
            answer(results, query, few)
        assert error.value.diagnostics[0].code == "E673"
    few = Limits(rows_read=20, rows=2)
    for query in ("SELECT n FROM best ORDER BY n", "SELECT a.n FROM best a CROSS JOIN best b"):
        with pytest.raises(FsqlError) as error:
            answer(results, query, few)
        assert error.value.diagnostics[0].code == "E673"
    with pytest.raises(FsqlError, match="takes more than 0 s"):
        answer(results, "SELECT SUM(n) AS n FROM best", Limits(seconds=0.0))


def test_a_position_is_waited_for(results: JobResults) -> None:
    assert answer(results, "SELECT 1 AS one", LIMITS, "2.0").position == "2.0"
    with pytest.raises(FsqlError) as error:
        answer(results, "SELECT 1 AS one", LIMITS, "3.0")
    assert error.value.diagnostics[0].code == "E675"
