"""The library: tables in, changes and tables out, errors with their place."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import fsql

WORDS = [{"word": "a", "n": 1}, {"word": "b", "n": 2}, {"word": "a", "n": 3}]
TOTALS = "SELECT word, COUNT(*) AS c, SUM(n) AS s FROM words GROUP BY word"
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def test_changes_are_yielded_in_order() -> None:
    assert list(fsql.sql(TOTALS, tables={"words": WORDS})) == [
        ("+I", {"word": "a", "c": 1, "s": 1}),
        ("+I", {"word": "b", "c": 1, "s": 2}),
        ("-U", {"word": "a", "c": 1, "s": 1}),
        ("+U", {"word": "a", "c": 2, "s": 4}),
    ]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("policy", ["speculative", "ordered"])
def test_no_option_shows_in_the_result(workers: int, policy: Any) -> None:
    session = fsql.Session(workers=workers, policy=policy)
    rows = [{"word": f"w{number % 7}", "n": number} for number in range(500)]
    assert list(session.sql(TOTALS, tables={"words": rows})) == list(
        fsql.sql(TOTALS, tables={"words": rows})
    )


def test_the_table_has_the_rows_that_are_left() -> None:
    changes = fsql.sql(TOTALS, tables={"words": WORDS})
    rows = [{"word": "b", "c": 1, "s": 2}, {"word": "a", "c": 2, "s": 4}]
    assert changes.columns == ["word", "c", "s"]
    assert changes.table().to_pylist() == rows
    assert pa.table(changes).to_pylist() == rows
    assert pl.DataFrame(changes).to_dicts() == rows
    assert changes.to_polars().to_dicts() == rows


SCORES = [
    {"k": k, "n": n, "x": x}
    for k, n, x in (
        ("a", 1, 2.0),
        ("b", 3, float("nan")),
        ("c", None, 1.0),
        ("d", 5, None),
        ("e", -(2**63), 0.5),
        ("f", 3, 7.0),
    )
]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        # Not by n, which is not in the table.
        ("SELECT k FROM t ORDER BY n DESC NULLS LAST LIMIT 4", "abdf"),
        ("SELECT k, n FROM t ORDER BY ABS(x - 2), k LIMIT 3", "ace"),
        ("SELECT k, SUM(n) + 1 AS n FROM t GROUP BY k ORDER BY SUM(n) + 1 LIMIT 4", "eabf"),
        ("SELECT k, SUM(n) + 1 AS n FROM t GROUP BY k ORDER BY n LIMIT 4", "eabf"),
        ("SELECT k, n FROM t ORDER BY n LIMIT 6", "eabfdc"),
        ("SELECT k, n FROM t ORDER BY n DESC LIMIT 6", "cdbfae"),
        ("SELECT k, n FROM t ORDER BY n DESC NULLS LAST LIMIT 3", "dbf"),
        ("SELECT n, k FROM t ORDER BY 1 NULLS FIRST, 2 DESC LIMIT 5", "ceafb"),
        ("SELECT k, x AS y FROM t ORDER BY x DESC LIMIT 4", "dbfa"),
        ("SELECT k FROM t ORDER BY k DESC LIMIT 2", "fe"),
        ("SELECT DISTINCT k, n FROM t ORDER BY n DESC, k DESC LIMIT 4", "cdfb"),
        (
            "SELECT k, n FROM (SELECT k, n FROM t ORDER BY n LIMIT 4) ORDER BY k DESC LIMIT 9",
            "feba",
        ),
        ("SELECT k, n FROM t UNION ALL SELECT 'z', 4 ORDER BY n DESC NULLS LAST LIMIT 2", "dz"),
        # The rows that are equal in n stay in the order of their addition.
        ("SELECT k, n FROM t WHERE n = 3 ORDER BY n, x DESC LIMIT 2", "bf"),
    ],
)
def test_the_table_is_in_the_order_of_the_query(query: str, rows: str) -> None:
    changes = fsql.sql(query, tables={"t": SCORES})
    assert "".join(changes.table()["k"].to_pylist()) == rows
    at = changes.columns.index("k")
    assert "".join(line.split()[at] for line in repr(changes).splitlines()[1:-1]) == rows
    with fsql.Session() as session:
        session.declare("t", {"k": "STRING", "n": "BIGINT", "x": "DOUBLE"})
        live = session.open(query, keep="table")
        for row in SCORES:
            session.insert("t", [row])
        assert "".join(live.table()["k"].to_pylist()) == rows


def test_the_changelog_has_all_changes() -> None:
    assert fsql.sql(TOTALS, tables={"words": WORDS}).changelog().to_pydict() == {
        "op": ["+I", "+I", "-U", "+U"],
        "word": ["a", "b", "a", "a"],
        "c": [1, 1, 1, 2],
        "s": [1, 2, 1, 4],
    }


def test_equal_rows_are_left_as_often_as_they_were_added() -> None:
    query = "SELECT c FROM (SELECT word, COUNT(*) AS c FROM words GROUP BY word)"
    rows = [{"word": word} for word in "abcabd"]
    left = fsql.sql(query, tables={"words": rows}).table()
    assert left.to_pydict() == {"c": [1, 2, 2, 1]}


def test_a_result_without_rows_has_its_columns() -> None:
    changes = fsql.sql("SELECT n + 1 AS m FROM words WHERE n > 9", tables={"words": WORDS})
    assert changes.table() == pa.table({"m": pa.array([], pa.int64())})


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"n": [1, 2]}),
        pa.table({"n": [1, 2]}).to_reader(),
        pl.DataFrame({"n": [1, 2]}),
        [{"n": 1}, {"n": 2}],
    ],
    ids=["table", "reader", "polars", "dictionaries"],
)
def test_tables_come_from_many_libraries(rows: Any) -> None:
    changes = fsql.sql("SELECT SUM(n) AS s FROM t", tables={"t": rows})
    assert changes.table().to_pydict() == {"s": [3]}
    assert changes.changelog().to_pydict() == {"op": ["+I", "-U", "+U"], "s": [1, 1, 3]}


def test_bytes() -> None:
    rows = {"b": [b"\xff", b"a", b"\xff"], "l": [[b"\0"], None, []]}
    changes = fsql.sql(
        "SELECT b, COUNT(*) AS n, MAX(l[1]) AS l FROM t GROUP BY b", tables={"t": pa.table(rows)}
    )
    assert changes.table().to_pydict() == {"b": [b"a", b"\xff"], "n": [1, 2], "l": [None, b"\0"]}
    assert changes.table().schema.field("b").type == pa.binary()


def test_maps() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    rows = pa.table({"m": pa.array([[("b", 1), ("a", 2)], None, [("a", 2), ("b", 1)]], kind)})
    changes = fsql.sql("SELECT m, m['a'] AS a, COUNT(*) AS n FROM t GROUP BY m", tables={"t": rows})
    made = changes.table()
    assert made.to_pydict() == {
        "m": [None, [("a", 2), ("b", 1)]],
        "a": [None, 2],
        "n": [1, 2],
    }
    assert made.schema.field("m").type == kind


def test_fields_of_rows_have_their_names() -> None:
    kind = pa.struct([("x", pa.int64()), ("ys", pa.list_(pa.struct([("y", pa.binary())])))])
    rows = [{"x": 1, "ys": [{"y": b"a"}, None]}, None, {"x": None, "ys": None}]
    maps = pa.map_(pa.string(), pa.struct([("z", pa.date32())]))
    given = pa.table(
        {
            "one": pa.array(rows, kind),
            "many": pa.array([rows, [], None], pa.list_(kind)),
            "mapped": pa.array([[("k", {"z": dt.date(2026, 1, 1)})], [], None], maps),
        }
    )
    changes = fsql.sql("SELECT *, ROW(one.x, many[2]) AS made FROM t", tables={"t": given})
    left = changes.table()
    assert left.drop_columns("made") == given
    assert left["made"].to_pylist() == [
        {"f1": 1, "f2": None},
        {"f1": None, "f2": None},
        {"f1": None, "f2": None},
    ]
    assert [change.row for change in changes] == left.to_pylist()


def test_a_map_with_a_key_twice_is_refused() -> None:
    rows = pa.table({"m": pa.array([[("b", 1), ("b", 2)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(fsql.ConnectorError) as refused:
        fsql.sql("SELECT m FROM t", tables={"t": rows})
    assert str(refused.value).endswith(
        'column "m" of table "t" does not fit MAP<STRING, BIGINT>: a map has a key that is NULL or'
        " occurs twice"
    )


def test_net_rows_of_small_numbers() -> None:
    rows = {"f": pa.array([1.5, 0.1, 1.5], pa.float32()), "k": pa.array([1, 2, 1], pa.int8())}
    changes = fsql.sql(
        "SELECT k, f, COUNT(*) AS n FROM t GROUP BY k, f", tables={"t": pa.table(rows)}
    )
    expected = {"k": [2, 1], "f": [0.10000000149011612, 1.5], "n": [1, 2]}
    assert changes.table().to_pydict() == expected
    assert changes.table().schema.field("f").type == pa.float32()


def test_types_of_columns() -> None:
    given = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "wide": pa.array([2**64 - 1, 0], pa.uint64()),
            "port": pa.array([65_535, None], pa.uint16()),
            "wides": pa.array([[2**64 - 1, None], None], pa.list_(pa.uint64())),
            "real": pa.array([1.5, float("nan")], pa.float32()),
            "text": pa.array(["x", "x"]).dictionary_encode(),
            "day": pa.array([dt.date(2026, 1, 1), None]),
            "clock": pa.array([1, None], pa.time32("s")),
            "at": pa.array([1_000_000_001, 0], pa.timestamp("us")),
            "list": pa.array([[1, None], None], pa.large_list(pa.int64())),
        }
    )
    changes = fsql.sql("SELECT * FROM t", tables={"t": given}).table()
    assert [str(kind) for kind in changes.schema.types] == [
        "int8",
        "uint64",
        "uint16",
        "list<item: uint64>",
        "float",
        "string",
        "date32[day]",
        "time64[us]",
        "timestamp[us, tz=UTC]",
        "list<item: int64>",
    ]
    assert changes.slice(0, 1).to_pylist() == [
        {
            "small": 1,
            "wide": 2**64 - 1,
            "port": 65_535,
            "wides": [2**64 - 1, None],
            "real": 1.5,
            "text": "x",
            "day": dt.date(2026, 1, 1),
            "clock": dt.time(0, 0, 1),
            "at": dt.datetime(1970, 1, 1, 0, 16, 40, 1, tzinfo=dt.UTC),
            "list": [1, None],
        }
    ]


def test_windows_follow_the_event_time() -> None:
    seconds = [0, 2, 1, 70, 3]
    bids = pl.DataFrame(
        {"price": [1, 2, 3, 4, 5], "at": [NOON + dt.timedelta(seconds=s) for s in seconds]}
    )
    query = """
        SELECT window_end, COUNT(*) AS bids, MAX(price) AS best
        FROM TUMBLE(bids, at, INTERVAL '1' MINUTE) GROUP BY window_start, window_end
    """
    table = fsql.Table(bids, event_time="at", delay=dt.timedelta(seconds=1, microseconds=500))
    assert fsql.sql(query, tables={"bids": table}).table().to_pylist() == [
        {"window_end": NOON + dt.timedelta(minutes=1), "bids": 3, "best": 3},
        {"window_end": NOON + dt.timedelta(minutes=2), "bids": 1, "best": 4},
    ]


def test_names_may_be_anything() -> None:
    rows = [{'a "b"': 1, "select": 2}]
    changes = fsql.sql(
        'SELECT "a ""b""" + "select" AS n FROM "my table"', tables={"my table": rows}
    )
    assert changes.table().to_pydict() == {"n": [3]}


# --- Errors ---


def test_a_wrong_query_is_shown_with_its_place() -> None:
    with pytest.raises(fsql.QueryError) as raised:
        fsql.sql("SELECT word,\n  m FROM words", tables={"words": WORDS})
    assert raised.value.code == "E203"
    assert str(raised.value) == (
        'error[FSQL-E203]: column "m" does not exist\n'
        " --> <script>:2:3\n"
        "  |\n"
        "2 |   m FROM words\n"
        "  |   ^ not a column of words\n"
        "  = note: words has word, n"
    )


def test_a_row_that_fails_ends_the_changes_before_it() -> None:
    changes = fsql.sql("SELECT 6 / (n - 2) AS q FROM words", tables={"words": WORDS})
    seen: list[Any] = []
    with pytest.raises(fsql.DataError) as raised:
        seen.extend(changes)
    assert raised.value.code == "E501"
    assert "1 row was released before the job stopped" in str(raised.value)
    assert seen == [("+I", {"q": -6})]


def test_a_row_that_fails_beside_its_time_is_shown_with_the_place() -> None:
    times = [{"at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "n": "x"}]
    table = fsql.Table(times, event_time="at")
    changes = fsql.sql(
        "SELECT NOW() AS now, CAST(n AS INT) AS n FROM times", tables={"times": table}
    )
    with pytest.raises(fsql.DataError) as raised:
        changes.table()
    assert str(raised.value).splitlines()[:5] == [
        'error[FSQL-E503]: value cannot be cast, caused by a row of table "times"',
        " --> <script>:1:22",
        "  |",
        "1 | SELECT NOW() AS now, CAST(n AS INT) AS n FROM times",
        '  |                      ^^^^^^^^^^^^^^ cannot read "x" as INT',
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], 'table "t" has no columns'),
        (pa.table({}), 'table "t" has no columns'),
        ([{"a": 1}, ("a",)], 'table "t" cannot be read: row 2 is of type tuple'),
        (
            [{"a": dt.timedelta(1)}],
            'column "a" of table "t" has no SQL type: it is duration[us]',
        ),
        (
            pa.table({"a": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))}),
            (
                'column "a" of table "t" does not fit MAP<STRING, BIGINT>:'
                " a map has a key that is NULL or occurs twice"
            ),
        ),
        (
            pa.table({"a": pa.array([-(2**40)], pa.timestamp("s"))}),
            'column "a" of table "t" has times outside of the years 1 to 9999',
        ),
    ],
    ids=["no rows", "no columns", "tuple", "type", "value", "time"],
)
def test_a_table_that_does_not_fit_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(fsql.ConnectorError) as raised:
        fsql.sql("SELECT a FROM t", tables={"t": rows})
    assert [(each.code, each.message) for each in raised.value.diagnostics] == [("E542", message)]


def test_dictionaries_may_lack_keys() -> None:
    rows: list[dict[str, Any]] = [{"a": 1}, {"c": "x", "a": None}, {}, {"b": [2]}]
    assert fsql.sql("SELECT * FROM t", tables={"t": rows}).table().to_pydict() == {
        "a": [1, None, None, None],
        "c": [None, "x", None, None],
        "b": [None, None, None, [2]],
    }


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(fsql.ConnectorError) as raised:
        fsql.sql("SELECT a FROM t", tables={"t": 7})  # type: ignore[dict-item]
    assert raised.value.code == "E542"
    assert raised.value.diagnostics[0].message.startswith('table "t" cannot be read: ')


def test_a_script_that_writes_tables_is_run() -> None:
    script = """
        CREATE TABLE gone (word STRING) WITH ('connector' = 'blackhole');
        INSERT INTO gone SELECT word FROM words
    """
    with pytest.raises(fsql.QueryError) as raised:
        fsql.sql(script, tables={"words": WORDS})
    assert raised.value.diagnostics[0].message == (
        "a script that writes tables has no result to return"
    )
    assert fsql.run(script, tables={"words": WORDS}).rows_out == 3


def test_a_plan_shows_every_stage() -> None:
    plan = fsql.compile("SELECT word FROM words", tables={"words": WORDS})
    assert plan.warnings == ()
    assert plan.explain("graph", "text").startswith("Source ") or plan.explain("graph")
    for stage in ("syntax", "bound", "logical", "graph", "tick"):
        assert "words" in plan.explain(stage)


def test_scripts_have_files_and_parameters(tmp_path: Any) -> None:
    (tmp_path / "in.jsonl").write_text('{"n":1}\n{"n":5}\n')
    session = fsql.Session(base_directory=tmp_path, parameters={"least": "2"})
    script = """
        CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'in.jsonl');
        SELECT n FROM numbers WHERE n >= ${least}
    """
    assert session.sql(script).table().to_pydict() == {"n": [5]}


def test_what_is_not_a_declaration() -> None:
    session = fsql.Session()
    with pytest.raises(fsql.ConnectorError) as refused:
        session.declare("t", {})
    [diagnostic] = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E542", 'table "t" has no columns')
    assert diagnostic.helps == ('give the type of each column: {"word": "STRING"}',)
    columns: Any = ["a"]
    with pytest.raises(TypeError, match="columns are"):
        session.declare("t", columns)
    function: Any = "INT"
    with pytest.raises(TypeError, match="takes a function"):
        session.udf(function)
