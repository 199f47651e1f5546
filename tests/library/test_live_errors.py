"""What sessions refuse: each error has a class, a code and a remedy, and a refused insert inserts nothing."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Callable

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
TOTALS = "SELECT word, SUM(n) AS s FROM words GROUP BY word"
WORDS = {"word": "STRING", "n": "BIGINT"}


def opened() -> fsql.Session:
    session = fsql.Session()
    session.declare("words", WORDS)
    session.declare("bids", {"price": "BIGINT", "at": "TIMESTAMP"}, event_time="at")
    session.declare("users", {"id": "BIGINT", "name": "STRING"}, key=["id"])
    session.open("SELECT price, at FROM bids")
    session.open("SELECT id, name FROM users")
    return session


MISFITS = {
    "one row": (
        "words",
        {"word": "a"},
        'one row cannot be inserted into table "words"',
        "insert a list of rows, as dictionaries or tuples, an Arrow table, or a pandas or polars data frame",
    ),
    "no rows": (
        "words",
        "ab",
        'what is of type str cannot be inserted into table "words"',
        "insert a list of rows, as dictionaries or tuples, an Arrow table, or a pandas or polars data frame",
    ),
    "not a row": (
        "words",
        [("a", 1), "b"],
        'row 2 for table "words" is of type str',
        "give each row as a dictionary or a tuple",
    ),
    "too many values": (
        "words",
        [("a", 1, 2)],
        'row 1 for table "words" has 3 values, not 2',
        "give a value for each of word, n; None is NULL",
    ),
    "unknown column": (
        "words",
        [{"wrd": "a"}],
        'table "words" has no column "wrd": it has word, n',
        'a column with a similar name exists: "word"',
    ),
    "text as a number": (
        "words",
        [("a", 1), ("b", "1")],
        'column "n" of table "words" is BIGINT, and row 2 of the insert has \'1\', of type str',
        "convert the value before it is inserted; None is NULL",
    ),
    "fraction": (
        "words",
        [("a", 1.5)],
        'column "n" of table "words" is BIGINT, and row 1 of the insert has 1.5, of type float',
        "convert the value before it is inserted; None is NULL",
    ),
    "too large a number": (
        "words",
        [("a", 1), ("b", 2**63)],
        (
            'column "n" of table "words" is BIGINT, and row 2 of the insert has 9223372036854775808, which'
            " does not fit"
        ),
        "convert the value before it is inserted; None is NULL",
    ),
    "truth as a number": (
        "words",
        [("a", True)],
        'column "n" of table "words" is BIGINT, and row 1 of the insert has True, of type bool',
        "convert the value before it is inserted; None is NULL",
    ),
    "Arrow column of another type": (
        "words",
        pa.table({"word": ["a"], "n": ["1"]}),
        'column "n" of table "words" is BIGINT, not STRING',
        "cast the column before it is inserted",
    ),
    "change without a key": (
        "words",
        [fsql.Change("-D", {"word": "a"})],
        'table "words" has no key: it cannot take a change of kind -D',
        'declare it with a key: declare("words", …, key=[…])',
    ),
}
ROWS = {
    "no event time": (
        "bids",
        [(1, NOON), (1, None)],
        "E521",
        'column "at" of table "bids" is NULL in row 2 of the insert',
        "give every row a value of the event time",
    ),
    "no key": (
        "users",
        [{"name": "a"}],
        "E521",
        'column "id" of table "users" is NULL in row 1 of the insert',
        "give every row a value of the key",
    ),
    "unknown change": (
        "users",
        [{"id": 1, "op": "+X"}],
        "E524",
        "row 1 for table \"users\" has the unknown kind of change '+X'",
        "write one of +I, -U, +U, -D; None is +U",
    ),
}


def advance_without_event_time(session: fsql.Session) -> None:
    session.open(TOTALS)
    session.advance("words", NOON)


def open_after_insert(session: fsql.Session) -> None:
    session.insert("bids", [(1, NOON)])
    session.open("SELECT at FROM bids")


def open_after_drain(session: fsql.Session) -> None:
    session.drain("words")
    session.open(TOTALS)


def insert_after_drain(session: fsql.Session) -> None:
    session.drain()
    session.insert("bids", [(1, NOON)])


CALLS: dict[str, tuple[Callable[[fsql.Session], object], str, str]] = {
    "unknown table": (
        lambda session: session.insert("wrds", [("a", 1)]),
        'the session has no table "wrds"',
        'a table with a similar name exists: "words"',
    ),
    "drain of an unknown table": (
        lambda session: session.drain("x"),
        'the session has no table "x"',
        'declare it: declare("x", {"column": "TYPE", …})',
    ),
    "no query": (
        lambda session: session.insert("words", [("a", 1)]),
        'no open query reads table "words", and rows are not kept',
        "open a query first: session.open(query)",
    ),
    "declared twice": (
        lambda session: session.declare("words", WORDS),
        'the session has a table "words" already',
        "choose another name, or use another session",
    ),
    "no event time": (
        advance_without_event_time,
        'table "words" has no event time that could advance',
        'declare it with one: declare("words", …, event_time="…")',
    ),
    "opened too late": (
        open_after_insert,
        'table "bids" cannot be read by a query that is opened now: its rows are not kept',
        "open all queries before the first insert",
    ),
    "opened after drain": (
        open_after_drain,
        'table "words" cannot be read by a query that is opened now: its input has ended',
        "open all queries before the first insert",
    ),
    "insert after drain": (
        insert_after_drain,
        'the input of table "bids" has ended',
        "insert rows before drain",
    ),
    "no end": (
        lambda session: session.open(
            "CREATE TABLE g (n BIGINT) WITH ('connector' = 'datagen'); SELECT n FROM g"
        ),
        'table "g" has no end, or its rows arrive over time',
        "declare it in the session, and insert its rows: session.declare(…)",
    ),
}
AFTER_CLOSE: dict[str, Callable[[fsql.Session], object]] = {
    "declare": lambda session: session.declare("t", WORDS),
    "open": lambda session: session.open("SELECT at FROM bids"),
    "insert": lambda session: session.insert("bids", [(1, NOON)]),
    "advance": lambda session: session.advance("bids", NOON),
    "drain": lambda session: session.drain(),
    "sql": lambda session: session.sql("SELECT 1 AS one"),
    "compile": lambda session: session.compile("SELECT 1 AS one"),
    "run": lambda session: session.run("SELECT 1 AS one"),
}


def first(error: fsql.LibraryError) -> tuple[str, str, str]:
    diagnostic = error.diagnostics[0]
    return diagnostic.code, diagnostic.message, diagnostic.helps[0]


@pytest.mark.parametrize(("table", "rows", "message", "help"), MISFITS.values(), ids=MISFITS)
def test_rows_that_do_not_fit(table: str, rows: Any, message: str, help: str) -> None:
    session = opened()
    totals = session.open(TOTALS)
    with pytest.raises(fsql.ConnectorError) as refused:
        session.insert(table, rows)
    assert first(refused.value) == ("E542", message, help)
    session.insert("words", [("x", 1)])
    assert totals.table().to_pylist() == [{"word": "x", "s": 1}]


@pytest.mark.parametrize(("table", "rows", "code", "message", "help"), ROWS.values(), ids=ROWS)
def test_rows_without_what_is_required(
    table: str, rows: Any, code: str, message: str, help: str
) -> None:
    session = opened()
    with pytest.raises(fsql.DataError) as refused:
        session.insert(table, rows)
    assert first(refused.value) == (code, message, help)


@pytest.mark.parametrize(("call", "message", "help"), CALLS.values(), ids=CALLS)
def test_calls_that_do_not_fit(
    call: Callable[[fsql.Session], object], message: str, help: str
) -> None:
    with pytest.raises(fsql.SessionError) as refused:
        call(opened())
    assert first(refused.value) == ("E545", message, help)


@pytest.mark.parametrize("call", AFTER_CLOSE.values(), ids=AFTER_CLOSE)
def test_a_closed_session_is_not_used(call: Callable[[fsql.Session], object]) -> None:
    session = opened()
    session.close()
    session.close()
    with pytest.raises(fsql.SessionError) as refused:
        call(session)
    expected = ("E545", "the session is closed", "create another one: fsql.Session()")
    assert first(refused.value) == expected


def test_wrong_declarations() -> None:
    session = fsql.Session()
    with pytest.raises(fsql.QueryError) as refused:
        session.declare("t", {"a": "STRIN"})
    assert str(refused.value) == (
        'error[FSQL-E216]: type "STRIN" does not exist\n'
        " --> <script>:3:23\n"
        "  |\n"
        "3 | CREATE TABLE \"t\" (\"a\" STRIN) WITH ('connector' = 'memory', 'growing' = 'yes');\n"
        "  |                       ^^^^^\n"
        "  = help: a type with a similar name exists: STRING"
    )
    with pytest.raises(fsql.ConnectorError) as two:
        session.declare("t", {"a": "INT, b INT"})
    assert two.value.code == "E542"
    session.declare("t", {"a": "INT"})


def test_late_rows_may_raise() -> None:
    session = fsql.Session()
    session.declare("bids", {"at": "TIMESTAMP"}, event_time="at")
    minutes = session.open(
        "SELECT window_end, COUNT(*) AS n FROM TUMBLE(bids, at, INTERVAL '1' MINUTE)"
        " GROUP BY window_start, window_end",
        late="raise",
    )
    hour = NOON + dt.timedelta(hours=1)
    session.insert("bids", [(NOON,), (hour,)])
    with pytest.raises(fsql.DataError) as refused:
        session.insert("bids", [(NOON,), (hour,), (NOON,)])
    assert first(refused.value) == (
        "E525",
        "2 rows were too late for the query, and dropped",
        "allow for such rows: declare(…, delay=…)",
    )
    session.drain()
    assert [change.row["n"] for change in minutes] == [1, 2]
    assert minutes.late_rows == 2


def test_an_exception_in_a_function_ends_its_query_only() -> None:
    session = fsql.Session()
    session.declare("words", WORDS)

    @session.udf
    @fsql.udf(["BIGINT"], "BIGINT")
    def checked(n: int) -> int:
        if n == 3:
            raise ValueError("no three please")
        return n

    failing = session.open("SELECT checked(n) AS n FROM words")
    totals = session.open(TOTALS)
    session.insert("words", [("a", 1)])
    with pytest.raises(fsql.DataError) as failed:
        session.insert("words", [("a", 2), ("a", 3), ("a", 4)])
    assert failed.value.code == "E508"
    assert "^^^^^^^^^^ checked raised ValueError: no three please" in str(failed.value)
    seen: list[int] = []
    with pytest.raises(fsql.DataError, match="no three please"):
        seen.extend(change.row["n"] for change in failing)
    assert failing.ended
    with pytest.raises(fsql.DataError, match="no three please"):
        failing.table()
    assert repr(failing) == "n\n1\n2\n(2 rows after 2 changes)"
    session.insert("words", [("a", 5)])
    assert totals.table().to_pylist() == [{"word": "a", "s": 15}]


def test_a_function_does_not_use_its_session() -> None:
    session = fsql.Session()
    session.declare("words", WORDS)

    @session.udf
    @fsql.udf(["STRING"], "INT")
    def again(text: str) -> int:
        if text == "again":
            session.insert("words", [(text, 1)])
        return 1

    session.open("SELECT again(word) AS n FROM words")
    with pytest.raises(fsql.DataError, match="the session is used by a function"):
        session.insert("words", [("again", 1)])


def test_functions_that_cannot_be_called() -> None:
    session = fsql.Session()
    with pytest.raises(fsql.QueryError) as undeclared:
        session.udf(len)
    assert first(undeclared.value) == (
        "E411",
        'the types of function "len" are not declared',
        "declare them: @fsql.udf, @fsql.udtf([…], […]), @fsql.udaf([…], …) or @fsql.program(…)",
    )

    def size(text: str) -> int:
        return len(text)

    with pytest.raises(fsql.QueryError, match='type "STRIN" does not exist'):
        session.udf(fsql.udf(["STRIN"], "INT")(size))
    session.udf(fsql.udf(["STRING"], "INT")(size))
    script = """
        CREATE TABLE t (n BIGINT) WITH ('connector' = 'datagen', 'count' = '1');
        CREATE TABLE out (n INT) WITH ('connector' = 'blackhole');
        INSERT INTO out SELECT size('a') AS n FROM t
    """
    assert session.run(script).rows_out == 1
    with pytest.raises(fsql.QueryError) as elsewhere:
        session.run(script, processes=1)
    assert first(elsewhere.value) == (
        "E411",
        'function "size" is in the memory of this program, and other processes cannot call it',
        "put it in a module of a folder: Session(functions=[…])",
    )


def test_an_interrupted_query_is_not_continued() -> None:
    session = fsql.Session()
    session.declare("words", WORDS)

    @session.udf
    @fsql.udf(["STRING"], "INT")
    def stops(text: str) -> int:
        if text == "stop":
            raise KeyboardInterrupt
        return 1

    stopped = session.open("SELECT stops(word) AS n FROM words")
    with pytest.raises(KeyboardInterrupt):
        session.insert("words", [("a", 1), ("stop", 1)])
    with pytest.raises(fsql.SessionError) as refused:
        list(stopped)
    assert first(refused.value) == (
        "E545",
        "the query was interrupted",
        "open it in a new session, and insert the rows again",
    )
