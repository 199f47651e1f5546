"""Sessions whose queries stay open: changes come as rows are inserted, as the total order gives them."""

from __future__ import annotations

import datetime as dt
import json
import random
import threading
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
TOTALS = "SELECT word, COUNT(*) AS c, SUM(n) AS s FROM words GROUP BY word"
BIDS = {"item": "BIGINT", "price": "BIGINT", "at": "TIMESTAMP"}
MINUTES = """
    SELECT window_end, COUNT(*) AS n, MAX(price) AS best
    FROM TUMBLE(bids, at, INTERVAL '1' MINUTE) GROUP BY window_start, window_end
"""
QUERIES = {
    "filter": "SELECT item, price FROM bids WHERE price > 50",
    "updating": "SELECT item, COUNT(*) AS n, MIN(price) AS least FROM bids GROUP BY item",
    "windows": MINUTES,
    "join": "SELECT b.item, b.price, a.price AS asked FROM bids b JOIN asks a ON a.item = b.item",
    "union": "SELECT item, at FROM bids UNION ALL SELECT item, at FROM asks",
}


@pytest.fixture
def session() -> Iterator[fsql.Session]:
    with fsql.Session() as opened:
        opened.declare("words", {"word": "STRING", "n": "BIGINT"})
        yield opened


def at(seconds: int) -> dt.datetime:
    return NOON + dt.timedelta(seconds=seconds)


def test_changes_come_with_each_insert(session: fsql.Session) -> None:
    totals = session.open(TOTALS)
    session.insert("words", [{"word": "a", "n": 1}])
    assert list(totals) == [("+I", {"word": "a", "c": 1, "s": 1})]
    session.insert("words", [("b", 2), ("a", 3)])
    assert next(iter(totals)) == ("+I", {"word": "b", "c": 1, "s": 2})
    assert list(totals) == [
        ("-U", {"word": "a", "c": 1, "s": 1}),
        ("+U", {"word": "a", "c": 2, "s": 4}),
    ]
    assert list(totals) == []
    rows = [{"word": "b", "c": 1, "s": 2}, {"word": "a", "c": 2, "s": 4}]
    assert totals.table().to_pylist() == rows
    assert pa.table(totals).to_pylist() == rows
    assert totals.changelog().to_pydict() == {
        "op": ["+I", "+I", "-U", "+U"],
        "word": ["a", "b", "a", "a"],
        "c": [1, 1, 1, 2],
        "s": [1, 2, 1, 4],
    }
    assert not totals.ended
    session.drain()
    assert totals.ended


@pytest.mark.parametrize("workers", [1, 3])
def test_after_each_row_there_is_what_a_run_over_these_rows_gives(workers: int) -> None:
    drawn = random.Random(workers)
    rows = [{"word": drawn.choice("abc"), "n": drawn.randint(-3, 3)} for _ in range(40)]
    with fsql.Session(workers=workers) as session:
        session.declare("words", {"word": "STRING", "n": "BIGINT"})
        totals = session.open(TOTALS)
        for count in range(1, len(rows) + 1):
            session.insert("words", rows[count - 1 : count])
            expected = fsql.sql(TOTALS, tables={"words": rows[:count]})
            assert totals.changelog() == expected.changelog()
            assert totals.table() == expected.table()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_inserts_give_what_a_run_over_files_gives(query: str, seed: int, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    files, columns = "", ", ".join(f"{name} {kind}" for name, kind in BIDS.items())
    waiting: dict[str, list[dict[str, Any]]] = {}
    for name in ("bids", "asks"):
        times = sorted(drawn.randint(0, 200) for _ in range(30))
        waiting[name] = [
            {"item": drawn.randint(0, 4), "price": drawn.randint(0, 99), "at": at(second - late)}
            for second in times
            for late in [drawn.choice([0, 0, 3, 8])]
        ]
        lines = [json.dumps(row | {"at": row["at"].isoformat()}) for row in waiting[name]]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        files += (
            f"CREATE TABLE {name} ({columns}, WATERMARK FOR at AS at - INTERVAL '5' SECOND)"
            f" WITH ('connector' = 'file', 'path' = '{name}.jsonl');\n"
        )
    expected = fsql.Session(base_directory=tmp_path).sql(files + query)
    changes: list[fsql.Change] = []
    with fsql.Session(workers=drawn.randint(1, 3)) as session:
        for name in waiting:
            session.declare(name, BIDS, event_time="at", delay=dt.timedelta(seconds=5))
        result = session.open(query)
        read = [name for name in waiting if name in query]
        while any(waiting[name] for name in read):
            name = drawn.choice(read)
            size = drawn.randint(0, 9)
            session.insert(name, waiting[name][:size])
            waiting[name] = waiting[name][size:]
            changes += result
        session.drain()
        changes += result
    assert changes == list(expected)
    assert result.table() == expected.table()
    assert result.changelog() == expected.changelog()


def test_event_time_advances_without_rows() -> None:
    with fsql.Session() as session:
        session.declare("bids", BIDS, event_time="at", delay=dt.timedelta(seconds=5))
        minutes = session.open(MINUTES)
        session.insert("bids", [(1, 5, at(0)), (1, 7, at(59))])
        session.advance("bids", at(64))
        assert list(minutes) == []
        session.advance("bids", at(65).replace(tzinfo=None))
        assert list(minutes) == [("+I", {"window_end": at(60), "n": 2, "best": 7})]
        session.insert("bids", [(1, 9, at(58)), (1, 3, at(61))])
        session.drain("bids")
        assert list(minutes) == [("+I", {"window_end": at(120), "n": 1, "best": 3})]
        assert minutes.late_rows == 1


@pytest.mark.parametrize("to", ["2026-01-01", 5, None, dt.date(2026, 1, 1)])
def test_event_time_advances_to_datetimes_only(to: Any) -> None:
    with fsql.Session() as session:
        session.declare("bids", BIDS, event_time="at")
        with pytest.raises(fsql.ConnectorError, match='table "bids" cannot advance to what is'):
            session.advance("bids", to)


def test_a_table_that_lags_holds_a_join_back() -> None:
    with fsql.Session() as session:
        for name in ("bids", "asks"):
            session.declare(name, BIDS, event_time="at")
        joined = session.open(QUERIES["join"])
        session.insert("bids", [(1, 5, at(0))])
        session.insert("asks", [(1, 6, at(10))])
        assert list(joined) == []
        session.advance("bids", at(11))
        assert list(joined) == [("+I", {"item": 1, "price": 5, "asked": 6})]
        session.drain("asks")
        session.insert("bids", [(1, 7, at(12))])
        assert list(joined) == [("+I", {"item": 1, "price": 7, "asked": 6})]


@pytest.mark.parametrize("key", ["id", ["id"]])
def test_rows_of_a_table_with_a_key_are_changes(key: str | list[str]) -> None:
    with fsql.Session() as session:
        session.declare("users", {"id": "BIGINT", "name": "STRING"}, key=key)
        counts = session.open("SELECT name, COUNT(*) AS n FROM users GROUP BY name")
        session.insert("users", [(1, "a"), (2, "a")])
        assert counts.table().to_pylist() == [{"name": "a", "n": 2}]
        session.insert("users", [{"id": 2, "name": "b", "op": "+U"}, fsql.Change("-D", {"id": 1})])
        assert counts.table().to_pylist() == [{"name": "b", "n": 1}]
        session.insert("users", pa.table({"id": [2, 3], "op": ["-D", None], "name": ["b", "c"]}))
        assert counts.table().to_pylist() == [{"name": "c", "n": 1}]


def test_the_changes_of_a_query_are_the_rows_of_another(session: fsql.Session) -> None:
    totals = session.open(TOTALS)
    session.declare("totals", {"word": "STRING", "c": "BIGINT", "s": "BIGINT"}, key=["word"])
    most = session.open("SELECT MAX(c) AS most FROM totals")
    for word in "aba":
        session.insert("words", [{"word": word}])
        session.insert("totals", totals)
    assert most.table().to_pylist() == [{"most": 2}]


@pytest.mark.parametrize(
    "rows",
    [
        [{"word": "x", "n": 4}],
        ({"n": 4, "word": word} for word in "x"),
        [("x", 4)],
        [["x", 4]],
        [fsql.Change("+I", {"word": "x", "n": 4})],
        pa.table({"n": pa.array([4], pa.int8()), "word": ["x"]}),
        pa.table({"n": [4], "word": pa.array(["x"]).dictionary_encode()}),
        pa.record_batch({"word": ["x"], "n": [4]}),
        pa.table({"word": ["x"], "n": [4]}).to_reader(),
        pd.DataFrame({"word": ["x"], "n": [4]}),
        pl.DataFrame({"word": ["x"], "n": [4]}),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_what_can_be_inserted(session: fsql.Session, rows: Any) -> None:
    words = session.open("SELECT * FROM words")
    session.insert("words", rows)
    session.insert("words", [])
    session.insert("words", [{"word": None}])
    assert words.table().to_pydict() == {"word": ["x", None], "n": [4, None]}


def test_values_of_all_types() -> None:
    columns = {
        "truth": "BOOLEAN",
        "small": "TINYINT",
        "port": "USMALLINT",
        "hash": "UBIGINT",
        "ratio": "FLOAT",
        "price": "DECIMAL(6, 2)",
        "octets": "BYTES",
        "day": "DATE",
        "clock": "TIME",
        "list": "ARRAY<BIGINT>",
        "row": "ROW<a BIGINT, b STRING>",
        "map": "MAP<STRING, BIGINT>",
    }
    row = {
        "truth": True,
        "small": -3,
        "port": 65_535,
        "hash": 2**64 - 1,
        "ratio": 0.5,
        "price": 7,
        "octets": b"\xff",
        "day": dt.date(2026, 1, 2),
        "clock": dt.time(1, 2, 3),
        "list": [1, None],
        "row": {"a": 1, "b": "x"},
        "map": {"k": 2},
    }
    with fsql.Session() as session:
        session.declare("t", columns)
        everything = session.open("SELECT * FROM t")
        session.insert("t", [row, {}])
        [(_, first), (_, second)] = everything
    assert first == row | {"map": [("k", 2)]}
    assert second == dict.fromkeys(columns)


def test_columns_from_an_arrow_schema() -> None:
    rows = pa.table({"word": ["x", "x"], "n": pa.array([1, 2], pa.int16())})
    with fsql.Session() as session:
        session.declare("words", rows.schema)
        totals = session.open(TOTALS)
        session.insert("words", rows)
        assert totals.table().to_pylist() == [{"word": "x", "c": 2, "s": 3}]


def test_what_is_kept_of_changes(session: fsql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsql.job.live_changes._MERGED_AFTER", 3)
    everything = session.open(TOTALS)
    table = session.open(TOTALS, keep="table")
    new = session.open(TOTALS, keep="new")
    for number in range(20):
        session.insert("words", [{"word": "abc"[number % 3], "n": number}])
    assert list(new) == list(table) == list(everything)
    assert table.table() == everything.table()
    assert repr(table) == repr(everything)
    assert repr(new) == "word  c  s\n(0 rows after 37 changes so far)"
    for result, use in ((table, table.changelog), (new, new.changelog), (new, new.table)):
        with pytest.raises(fsql.SessionError, match="this query keeps no") as refused:
            use()
        assert refused.value.code == "E545"
        assert not result.ended


def test_a_result_is_shown_as_far_as_it_is_final(session: fsql.Session) -> None:
    totals = session.open(TOTALS)
    session.insert("words", [("<b>", 1)])
    assert totals._repr_html_() == (
        "<table>\n<thead><tr><th>word</th><th>c</th><th>s</th></tr></thead>\n<tbody>\n"
        '<tr><td>&lt;b&gt;</td><td style="text-align: right">1</td>'
        '<td style="text-align: right">1</td></tr>\n'
        "</tbody>\n</table>\n<p>1 row after 1 change so far</p>\n"
    )
    session.close()
    assert repr(totals) == "word  c  s\n<b>   1  1\n(1 row after 1 change)"


def test_two_sessions_share_nothing() -> None:
    with fsql.Session() as first, fsql.Session(workers=2) as second:
        for session in (first, second):
            session.declare("words", {"word": "STRING", "n": "BIGINT"})
        one, two = first.open(TOTALS), second.open(TOTALS)
        first.insert("words", [("a", 1)])
        second.insert("words", [("b", 2)])
        first.insert("words", [("a", 3)])
    assert one.table().to_pylist() == [{"word": "a", "c": 2, "s": 4}]
    assert two.table().to_pylist() == [{"word": "b", "c": 1, "s": 2}]


def test_threads_may_insert_at_the_same_time(session: fsql.Session) -> None:
    before = set(threading.enumerate())
    totals = session.open(TOTALS)

    def insert() -> None:
        for _ in range(20):
            session.insert("words", [("a", 1)])

    threads = [threading.Thread(target=insert) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals.table().to_pylist() == [{"word": "a", "c": 80, "s": 80}]
    assert set(threading.enumerate()) <= before  # threads of other tests may have ended


def test_one_query_can_be_closed(session: fsql.Session) -> None:
    with session.open(TOTALS) as closed:
        session.insert("words", [("a", 1)])
    other = session.open("SELECT 1 AS one")
    assert closed.ended
    assert other.ended
    assert other.table().to_pylist() == [{"one": 1}]
    assert list(closed) == [("+I", {"word": "a", "c": 1, "s": 1})]


def test_tables_that_do_not_change(session: fsql.Session, tmp_path: Path) -> None:
    (tmp_path / "names.jsonl").write_text('{"word":"a","name":"Anna"}\n')
    script = f"""
        CREATE TABLE names (word STRING, name STRING)
        WITH ('connector' = 'file', 'path' = '{tmp_path}/names.jsonl', 'time' = 'start');
        SELECT name, title, n FROM words JOIN names ON names.word = words.word
        JOIN titles ON titles.word = words.word
    """
    named = session.open(script, tables={"titles": [{"word": "a", "title": "Dr"}]})
    session.insert("words", [("a", 1), ("b", 2), ("a", 3)])
    assert named.table().to_pydict() == {
        "name": ["Anna", "Anna"],
        "title": ["Dr", "Dr"],
        "n": [1, 3],
    }


def test_functions_of_the_program(session: fsql.Session) -> None:
    @session.udf
    @fsql.udf(["STRING"], "INT")
    def vowels(text: str) -> int:
        return sum(letter in "aeiou" for letter in text)

    @fsql.udaf(["STRING"], "STRING", state="STRING")
    class Longest:
        def create_accumulator(self) -> str:
            return ""

        def accumulate(self, longest: str, text: str) -> str:
            return max(longest, text, key=len)

        def get_value(self, longest: str) -> str:
            return longest

    @fsql.udtf(["STRING"], ["letter STRING"])
    def letters(text: str) -> Iterator[tuple[str]]:
        yield from ((letter,) for letter in text)

    session.udf(Longest, name="longest")
    session.udf(letters)
    found = session.open("SELECT vowels(longest(word)) AS found FROM words")
    each = session.open("SELECT letter FROM words, LATERAL TABLE(letters(word)) AS t(letter)")
    session.insert("words", [("sky", 1), ("aeon", 2)])
    assert list(found) == [
        ("+I", {"found": 0}),
        ("-U", {"found": 0}),
        ("+U", {"found": 3}),
    ]
    assert each.table().to_pydict() == {"letter": list("skyaeon")}
    query = "SELECT vowels(w) AS n FROM t"
    assert session.sql(query, tables={"t": [{"w": "a"}]}).table().to_pylist() == [{"n": 1}]
    session.udf(fsql.udf(["STRING"], "INT")(lambda _: 7), name="vowels")
    assert session.sql(query, tables={"t": [{"w": "a"}]}).table().to_pylist() == [{"n": 7}]
