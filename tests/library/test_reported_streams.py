"""Streams that other engines have been wrong at, by public reports: ours stay right.

Each test writes the rows of small tables in the order of their arrival, and looks at all that comes out.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import fsql
from fsql.compiler.diagnostics import FsqlError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Row = dict[str, Any]

START = 1_767_225_600
"""2026-01-01, in seconds since 1970."""


def at(seconds: float) -> int:
    """Return a time of the first day of 2026, in milliseconds since 1970."""
    return round((START + seconds) * 1000)


def declared(name: str, columns: str, options: str = "") -> str:
    """Return the declaration of a table of the file of that name."""
    path = f"'connector' = 'file', 'path' = '{name}.jsonl'"
    return f"CREATE TABLE {name} ({columns}) WITH ({path}{options});\n"


def keyed(name: str, columns: str) -> str:
    """Return the declaration of a table of changes."""
    return declared(name, f"{columns} NOT ENFORCED", ", 'changes' = 'upsert'")


def lines(
    folder: Path,
    declarations: str,
    query: str,
    tables: Mapping[str, Sequence[Row]],
    options: str = "",
) -> list[Row]:
    """Run a query over the rows of tables; return the rows that it writes."""
    for name, rows in tables.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    sink = f"CREATE TABLE o WITH ('connector' = 'file', 'path' = 'o.jsonl'{options}) AS {query};\n"
    fsql.Session(base_directory=folder).run(f"{declarations}{sink}")
    written = (folder / "o.jsonl").read_text().splitlines()
    return [json.loads(line, parse_float=Decimal) for line in written]


def result(
    folder: Path, declarations: str, query: str, tables: Mapping[str, Sequence[Row]]
) -> list[Row]:
    """Return the rows that are left of those that a query adds and removes."""
    weights: Counter[str] = Counter()
    for row in lines(folder, declarations, query, tables, ", 'changes' = 'retract'"):
        weights[json.dumps(row | {"op": ""})] += 1 if row["op"] in {"+I", "+U"} else -1
    assert set(weights.values()) <= {0, 1}
    return [
        {name: value for name, value in json.loads(text).items() if name != "op"}
        for text, weight in sorted(weights.items())
        if weight
    ]


def test_a_row_of_a_temporal_left_join_whose_version_fails_a_condition_is_padded(
    tmp_path: Path,
) -> None:
    tables = declared("s", "id INT, a INT, at TIMESTAMP, WATERMARK FOR at") + keyed(
        "v", "id INT, b INT, at TIMESTAMP, WATERMARK FOR at, PRIMARY KEY (id)"
    )
    query = (
        "SELECT s.id, a, b FROM s LEFT JOIN v FOR SYSTEM_TIME AS OF s.at ON s.id = v.id AND a > b"
    )
    rows: dict[str, list[Row]] = {
        "s": [
            {"id": 1, "a": 10, "at": at(2)},
            {"id": 1, "a": 12, "at": at(3)},
            {"id": None, "a": 99, "at": at(4)},
        ],
        "v": [{"id": 1, "b": 11, "at": at(1)}, {"op": "-D", "id": 1, "at": at(5)}],
    }
    assert lines(tmp_path, tables, query, rows) == [
        {"id": 1, "a": 10, "b": None},
        {"id": 1, "a": 12, "b": 11},
        {"id": None, "a": 99, "b": None},
    ]


def test_a_deleted_version_is_none(tmp_path: Path) -> None:
    tables = declared("o", "id INT, c STRING, at TIMESTAMP, WATERMARK FOR at").replace(
        "o.jsonl", "orders.jsonl"
    ).replace("TABLE o", "TABLE orders") + keyed(
        "r", "c STRING, r DOUBLE, at TIMESTAMP, WATERMARK FOR at, PRIMARY KEY (c)"
    )
    query = "SELECT id, r FROM orders AS o LEFT JOIN r FOR SYSTEM_TIME AS OF o.at ON o.c = r.c"
    rows: dict[str, list[Row]] = {
        "orders": [
            {"id": n, "c": "eur", "at": at(second)} for n, second in enumerate((1, 5, 10, 15, 20))
        ],
        "r": [
            {"c": "eur", "r": 1.5, "at": at(4)},
            {"op": "-D", "c": "eur", "at": at(9)},
            {"c": "eur", "r": 2.5, "at": at(15)},
            {"c": "eur", "r": 3.5, "at": at(19.999)},
        ],
    }
    found = lines(tmp_path, tables, query, rows)
    assert [each["r"] for each in found] == [None, 1.5, None, 2.5, 3.5]


def test_top_rows_are_those_that_are_left(tmp_path: Path) -> None:
    tables = keyed("t", "id INT, g STRING, v INT, PRIMARY KEY (id)")
    query = (
        "SELECT g, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM t)"
        " WHERE n <= 2"
    )
    rows: list[Row] = [
        *({"id": n, "g": "A", "v": 10 * n} for n in (1, 2, 3, 4)),
        *({"op": "-D", "id": n} for n in (2, 4, 4)),
        {"id": 2, "g": "A", "v": 99},
        {"id": 3, "g": "B", "v": 30},
        {"op": "-D", "id": 1},
    ]
    assert result(tmp_path, tables, query, {"t": rows}) == [
        {"g": "A", "id": 2, "v": 99},
        {"g": "B", "id": 3, "v": 30},
    ]


def test_ranks_of_ties_and_nulls_follow_updates(tmp_path: Path) -> None:
    tables = keyed("t", "id INT, v INT, PRIMARY KEY (id)")
    query = (
        "SELECT id, v, n FROM (SELECT id, v, ROW_NUMBER() OVER (ORDER BY v DESC NULLS LAST, id) AS n FROM t)"
        " WHERE n <= 2"
    )
    rows: list[Row] = [
        *({"id": n, "v": v} for n, v in ((1, 5), (2, 5), (3, None), (4, 4), (1, 3), (2, None))),
        {"op": "-D", "id": 4},
    ]
    assert result(tmp_path, tables, query, {"t": rows}) == [
        {"id": 1, "v": 3, "n": 1},
        {"id": 2, "v": None, "n": 2},
    ]


def test_counts_over_two_left_joins_follow_rows_that_move_and_go(tmp_path: Path) -> None:
    tables = (
        keyed("a", "id INT, PRIMARY KEY (id)")
        + keyed("b", "id INT, a INT, PRIMARY KEY (id)")
        + keyed("c", "id INT, b INT, x INT, PRIMARY KEY (id)")
    )
    query = (
        "SELECT a.id, COUNT(b.id) AS bs, COUNT(c.id) AS cs, SUM(c.x) AS x FROM a LEFT JOIN b ON b.a = a.id"
        " LEFT JOIN c ON c.b = b.id GROUP BY a.id"
    )
    rows: dict[str, list[Row]] = {
        "a": [{"id": 1}, {"id": 2}],
        "b": [
            *({"id": n, "a": a} for n, a in ((10, 1), (11, 1), (10, 2))),
            {"op": "-D", "id": 11},
        ],
        "c": [
            *({"id": n, "b": 10, "x": x} for n, x in ((100, 1), (101, 2))),
            {"op": "-D", "id": 100},
        ],
    }
    assert result(tmp_path, tables, query, rows) == [
        {"id": 1, "bs": 0, "cs": 0, "x": None},
        {"id": 2, "bs": 1, "cs": 1, "x": 2},
    ]


def test_days_of_a_zone_without_summer_time(tmp_path: Path) -> None:
    tables = "SET 'table.local-time-zone' = 'Asia/Shanghai';\n" + declared(
        "t", "at TIMESTAMP_LTZ(3), WATERMARK FOR at"
    )
    query = (
        "SELECT CAST(window_start AS STRING) AS s, COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '1' DAY)"
        " GROUP BY window_start, window_end"
    )
    midnight = 16 * 3600  # of the zone
    rows: list[Row] = [
        {"at": at(midnight + seconds)} for seconds in (-1, 0, 86399.999, 86400, 2 * 86400)
    ]
    assert lines(tmp_path, tables, query, {"t": rows}) == [
        {"s": f"2026-01-0{day}T00:00:00+08:00", "n": n}
        for day, n in ((1, 1), (2, 2), (3, 1), (4, 1))
    ]


def test_a_row_is_in_all_windows_that_slide_over_it(tmp_path: Path) -> None:
    tables = declared("t", "s BIGINT, at AS TIMESTAMP_SECONDS(s), WATERMARK FOR at")
    query = (
        "SELECT EPOCH_MILLIS(window_start) / 1000 AS s, COUNT(*) AS n FROM HOP(t, at, INTERVAL '1' SECOND,"
        " INTERVAL '5' SECOND) GROUP BY window_start, window_end"
    )
    rows: list[Row] = [{"s": START + n} for n in range(6)]
    assert lines(tmp_path, tables, query, {"t": rows}) == [
        {"s": START + s, "n": len([n for n in range(6) if s <= n < s + 5])} for s in range(-4, 6)
    ]


def test_a_row_that_is_late_for_one_window_is_in_the_others(tmp_path: Path) -> None:
    tables = declared("t", "v INT, at TIMESTAMP, WATERMARK FOR at")
    query = (
        "SELECT EPOCH_MILLIS(window_start) / 1000 AS s, SUM(v) AS v FROM HOP(t, at, INTERVAL '5' SECOND,"
        " INTERVAL '10' SECOND) GROUP BY window_start, window_end"
    )
    seconds = (0, 4, 11, 3, 9, 30, 21)
    rows: list[Row] = [{"v": 1 << n, "at": at(second)} for n, second in enumerate(seconds)]
    late = ", 'late_path' = 'late.jsonl'"
    # The row of 9 s comes at 11 s: the window from 0 to 10 has closed, the one from 5 to 15 has not.
    assert lines(tmp_path, tables, query, {"t": rows}, late) == [
        {"s": START + s, "v": v} for s, v in ((-5, 3), (0, 3), (5, 20), (10, 4), (25, 32), (30, 32))
    ]
    counted = [json.loads(line) for line in (tmp_path / "late.jsonl").read_text().splitlines()]
    assert [(row["v"], row["window_start"]) for row in counted] == [
        (8, "2025-12-31T23:59:55Z"),
        (8, "2026-01-01T00:00:00Z"),
        (16, "2026-01-01T00:00:00Z"),
        (64, "2026-01-01T00:00:15Z"),
        (64, "2026-01-01T00:00:20Z"),
    ]


def test_the_last_row_of_a_window_is_the_last_by_its_time(tmp_path: Path) -> None:
    tables = declared(
        "t", "id INT, k INT, at TIMESTAMP(3), WATERMARK FOR at AS at - INTERVAL '2' SECOND"
    )
    query = (
        "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k"
        " ORDER BY at DESC) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' SECOND)))"
        " WHERE n = 1"
    )
    rows: list[Row] = [
        {"id": n, "k": k, "at": at(second)}
        for n, k, second in ((2, 0, 0), (4, 0, 5), (3, 0, 4), (5, 1, 9.999), (6, 0, 10))
    ]
    assert lines(tmp_path, tables, query, {"t": rows}) == [{"id": 4}, {"id": 5}, {"id": 6}]


def test_rows_of_one_time_are_in_each_others_frames_by_range(tmp_path: Path) -> None:
    tables = declared(
        "t", "k STRING, v INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND"
    )
    query = (
        "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '2' SECOND PRECEDING"
        " AND CURRENT ROW) AS s, LAG(v) OVER (PARTITION BY k ORDER BY at) AS p FROM t"
    )
    rows: list[Row] = [
        {"k": k, "v": 1 << n, "at": at(second)}
        for n, (k, second) in enumerate(
            [("a", 1), ("a", 3), ("a", 3), ("b", 2), ("a", 2), ("a", 6), ("a", 20)]
        )
    ]
    found = [tuple(row.values()) for row in lines(tmp_path, tables, query, {"t": rows})]
    assert found == [
        ("a", 1, 1, None),
        ("b", 8, 8, None),
        ("a", 16, 17, 1),
        ("a", 2, 23, 16),
        ("a", 4, 23, 2),
        ("a", 32, 32, 4),
        ("a", 64, 64, 32),
    ]


def test_the_null_of_the_last_row_is_the_value_of_an_asof_join(tmp_path: Path) -> None:
    tables = declared("v", "k STRING, at TIMESTAMP, v DOUBLE, WATERMARK FOR at") + declared(
        "q", "k STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' DAY"
    )
    query = "SELECT q.at, v.v FROM q LEFT ASOF JOIN v MATCH_CONDITION (q.at >= v.at) ON q.k = v.k"
    rows: dict[str, list[Row]] = {
        "v": [
            {"k": "x", "at": at(86400), "v": 42.5},
            {"k": "x", "at": at(90000), "v": None},
        ],
        "q": [{"k": "x", "at": at(seconds)} for seconds in (88200, 93600, 7200)],
    }
    assert sorted(lines(tmp_path, tables, query, rows), key=str) == [
        {"at": "2026-01-01T02:00:00Z", "v": None},
        {"at": "2026-01-02T00:30:00Z", "v": 42.5},
        {"at": "2026-01-02T02:00:00Z", "v": None},
    ]


def test_bars_of_trades_are_those_of_python(tmp_path: Path) -> None:
    tables = declared(
        "t",
        "s STRING, p DECIMAL(10, 2), q INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND",
    )
    query = (
        "SELECT s, EPOCH_MILLIS(window_start) AS w, MIN_BY(p, at) AS o, MAX(p) AS h, MIN(p) AS l,"
        " MAX_BY(p, at) AS c, SUM(q) AS v, SUM(p * q) AS pq"
        " FROM TUMBLE(t, at, INTERVAL '10' SECOND) GROUP BY s, window_start, window_end"
    )
    random, trades = Random(34), []
    for n in range(200):
        price = Decimal(random.randrange(10_000, 10_500)).scaleb(-2)
        moment = at(n / 2 + random.random() * 4) // 200 * 200 + n  # each of its own
        trades.append((random.choice("AB"), price, random.randrange(1, 900), moment))
    rows: list[Row] = [{"s": s, "p": str(p), "q": q, "at": moment} for s, p, q, moment in trades]
    found = lines(tmp_path, tables, query, {"t": rows})
    expected = []
    by_bar = sorted(trades, key=lambda trade: (trade[3] // 10_000, trade[0], trade[3]))
    for (bar, s), group in groupby(by_bar, key=lambda trade: (trade[3] // 10_000, trade[0])):
        bars = [*group]
        prices = [p for _, p, _, _ in bars]
        made = (prices[0], max(prices), min(prices), prices[-1], sum(q for _, _, q, _ in bars))
        volume = sum(p * q for _, p, q, _ in bars)
        expected.append((s, bar * 10_000, *made, volume))
    assert [tuple(row.values()) for row in found] == expected


@pytest.mark.parametrize(
    ("values", "total"), [(("0.6", "0.6", "-0.6"), "0.6"), (("0.6", "0.6"), None)]
)
def test_a_sum_of_decimals_fails_if_it_is_out_of_range_and_not_on_the_way(
    tmp_path: Path, values: Sequence[str], total: str | None
) -> None:
    tables = declared("t", "v DECIMAL(38, 38), at TIMESTAMP, WATERMARK FOR at")
    windows = "SELECT SUM(v) AS s FROM TUMBLE(t, at, INTERVAL '1' MINUTE) GROUP BY window_start, window_end"
    rows: list[Row] = [{"v": v, "at": at(n)} for n, v in enumerate(values)]
    if total is None:
        with pytest.raises(FsqlError, match="E505"):
            lines(tmp_path, tables, windows, {"t": rows})
    else:
        (found,) = lines(tmp_path, tables, windows, {"t": rows})
        assert found == {"s": Decimal(total)}
    (tmp_path / "o.jsonl").unlink(missing_ok=True)
    with pytest.raises(FsqlError, match="E505"):  # 1.2 is a result after the second row
        result(tmp_path, tables, "SELECT SUM(v) AS s FROM t", {"t": rows})


def test_a_time_to_live_of_rows_that_are_deleted_is_refused_with_a_remedy_that_works(
    tmp_path: Path,
) -> None:
    """Rows that are forgotten before they are deleted would be removed without having been added."""
    columns = "id INT, c INT, at TIMESTAMP, WATERMARK FOR at, PRIMARY KEY (id)"
    tables = keyed("a", columns) + keyed("c", "c INT, n STRING, PRIMARY KEY (c)")
    ttl = "SET 'table.exec.state.ttl' = '1 h';\n"
    query = "SELECT a.id, c.n FROM a LEFT JOIN c ON a.c = c.c"
    rows: dict[str, list[Row]] = {
        "a": [{"id": n, "c": 7, "at": at(7200 * n)} for n in (0, 1)],
        "c": [{"c": 7, "n": "x"}, {"op": "-D", "c": 7}],
    }
    with pytest.raises(FsqlError, match=r"(?s)E301.*help: end it before this query, by RESET"):
        result(tmp_path, f"{ttl}{tables}", query, rows)
    reset = "RESET 'table.exec.state.ttl';\n"
    assert result(tmp_path, f"{ttl}{tables}{reset}", query, rows) == [
        {"id": 0, "n": None},
        {"id": 1, "n": None},
    ]
