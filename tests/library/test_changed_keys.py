"""Updates that change the key which a table declares: of events, of whole rows, of a log of operations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RANKING = (
    ("+I", {"place": 1, "player": "ann", "points": 9}),
    ("+I", {"place": 2, "player": "bob", "points": 7}),
    ("-U", {"place": 1, "player": "ann", "points": 9}),
    ("+U", {"place": 1, "player": "bob", "points": 10}),
    ("-U", {"place": 2, "player": "bob", "points": 7}),
    ("+U", {"place": 2, "player": "ann", "points": 9}),
    ("-U", {"place": 2, "player": "ann", "points": 9}),
    ("+U", {"place": 2, "player": "ann", "points": 8}),
    ("-U", {"place": 1, "player": "bob", "points": 10}),
    ("+U", {"place": 1, "player": "ann", "points": 8}),
    ("-D", {"place": 2, "player": "ann", "points": 8}),
)
"""A ranking by place; at the end ann is at the first place, and there is no second one."""
STEPS = [
    ("+I", "ann", 1, 9),
    ("+I", "bob", 2, 7),
    ("-D", "ann", 1, 9),
    ("-U", "bob", 2, 7),
    ("+U", "bob", 1, 10),
    ("+I", "ann", 2, 9),
    ("-U", "ann", 2, 9),
    ("+U", "ann", 2, 8),
    ("-U", "ann", 2, 8),
    ("+U", "ann", 1, 8),
    ("-D", "bob", 1, 10),
]
TABLE = """
CREATE TABLE ranking (place INT NOT NULL, player STRING, points INT, PRIMARY KEY (player) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'ranking', 'format' = '{format}', 'changes' = 'retract');
"""


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    path.write_text(
        "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in rows)
    )


def changes_of(folder: Path, script: str) -> list[tuple[Any, ...]]:
    """Return the changes that a query writes, each with its kind."""
    tables, _, query = script.rstrip().removesuffix(";").rpartition(";")
    columns = "player STRING, place INT, points INT"
    sink = f"CREATE TABLE o ({columns}) WITH ('connector' = 'file', 'path' = 'o', 'changes' = 'retract');"
    fsql.Session(base_directory=folder).run(f"{tables};\n{sink}\nINSERT INTO o {query};")
    rows = map(json.loads, (folder / "o").read_text().splitlines())
    return [(each["op"], each["player"], each["place"], each["points"]) for each in rows]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_ranking_by_place_is_read_by_player(form: str, tmp_path: Path) -> None:
    rows: list[Any] = [{"op": op, **row} for op, row in RANKING]
    if form == "csv":
        rows = ["op,place,player,points", *(",".join(map(str, row.values())) for row in rows)]
    write_lines(tmp_path / "ranking", rows)
    script = TABLE.format(format=form) + "SELECT player, place, points FROM ranking;"
    assert changes_of(tmp_path, script) == STEPS


def test_a_ranking_of_events_is_read_by_player(tmp_path: Path) -> None:
    events, old = [], None
    for op, row in RANKING:
        if op == "-U":
            old = row
        elif op == "+U":
            events.append({"op": "u", "before": old, "after": row})
        elif op == "+I":
            events.append({"op": "c", "before": None, "after": row})
        else:
            events.append({"op": "d", "before": row, "after": None})
    write_lines(tmp_path / "ranking", events)
    script = TABLE.format(format="debezium-json") + "SELECT player, place, points FROM ranking;"
    assert changes_of(tmp_path, script) == STEPS


def test_a_ranking_in_a_log_is_read_by_player(tmp_path: Path) -> None:
    kinds = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}
    write_lines(tmp_path / "log", [{"op": kinds[op], **row} for op, row in RANKING[:-1]])
    script = """
        CREATE TABLE log (op STRING, place INT, player STRING, points INT)
            WITH ('connector' = 'file', 'path' = 'log');
        SELECT player, place, points FROM FROM_CHANGELOG(TABLE log PARTITION BY player);
    """
    assert changes_of(tmp_path, script) == [
        ("+I", "ann", 1, 9),
        ("+I", "bob", 2, 7),
        ("-D", "ann", 1, 9),
        ("-U", "bob", 2, 7),
        ("+U", "bob", 1, 10),
        ("+I", "ann", 2, 9),
        ("-D", "ann", 2, 9),
        ("+I", "ann", 2, 8),
        ("-D", "bob", 1, 10),
        ("-U", "ann", 2, 8),
        ("+U", "ann", 1, 8),
    ]


@pytest.mark.parametrize("form", ["json", "csv", "debezium-json"])
@pytest.mark.parametrize("key", ["player", "place, player"])
def test_what_a_job_writes_is_read_by_another_key(form: str, key: str, tmp_path: Path) -> None:
    """A ranking of the totals of players, by place, changes the players of several places at once."""
    scores = [("ann", 3), ("bob", 2), ("bob", 2), ("cid", 9), ("ann", 7), ("bob", -4), ("ann", -9)]
    write_lines(tmp_path / "scores", [{"player": p, "points": n} for p, n in scores])
    written = f"""
        CREATE TABLE scores (player STRING, points INT) WITH ('connector' = 'file', 'path' = 'scores');
        CREATE TABLE ranking (place BIGINT, player STRING, points BIGINT)
            WITH ('connector' = 'file', 'path' = 'ranking', 'format' = '{form}', 'changes' = 'retract');
        INSERT INTO ranking SELECT place, player, points FROM (
            SELECT player, points, ROW_NUMBER() OVER (ORDER BY points DESC, player) AS place
            FROM (SELECT player, SUM(points) AS points FROM scores GROUP BY player)
        ) WHERE place <= 3;
    """
    fsql.Session(base_directory=tmp_path).run(written)
    read = f"""
        CREATE TABLE ranking (
            place INT, player STRING, points INT, PRIMARY KEY ({key}) NOT ENFORCED
        ) WITH ('connector' = 'file', 'path' = 'ranking', 'format' = '{form}', 'changes' = 'retract');
        SELECT player, place, points FROM ranking;
    """
    rows: set[tuple[Any, ...]] = set()
    for op, *row in changes_of(tmp_path, read):
        if op in {"+I", "+U"}:
            assert tuple(row) not in rows
            rows.add(tuple(row))
        else:
            rows.remove(tuple(row))
    assert rows == {("cid", 1, 9), ("ann", 2, 1), ("bob", 3, 0)}


def test_the_event_time_is_not_compared(tmp_path: Path) -> None:
    rows = (
        {"op": "+I", "k": "a", "n": 1, "at": 1000},
        {"op": "-U", "k": "a", "n": 1, "at": 5000},
        {"op": "+U", "k": "b", "n": 1, "at": 5000},
        {"op": "-U", "k": "b", "n": 1, "at": 5000},
        {"op": "+U", "k": "b", "n": 2, "at": 9000},
        {"op": "-D", "k": "b", "at": 9500},
    )
    write_lines(tmp_path / "t", rows)
    fsql.Session(base_directory=tmp_path).run(
        """
        CREATE TABLE t (
            k STRING, n INT NOT NULL, at TIMESTAMP, WATERMARK FOR at, PRIMARY KEY (k) NOT ENFORCED
        ) WITH ('connector' = 'file', 'path' = 't', 'changes' = 'retract');
        CREATE TABLE o (k STRING, n INT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT k, n FROM t;
        """
    )
    assert (tmp_path / "o").read_text().splitlines() == [
        '{"op":"+I","k":"a","n":1}',
        '{"op":"-D","k":"a","n":1}',
        '{"op":"+I","k":"b","n":1}',
        '{"op":"-U","k":"b","n":1}',
        '{"op":"+U","k":"b","n":2}',
        '{"op":"-D","k":"b","n":2}',
    ]


def test_the_version_of_the_old_key_ends_where_that_of_the_new_key_begins(tmp_path: Path) -> None:
    rows = (
        {"op": "+I", "k": "a", "n": 1, "at": 1000},
        {"op": "-U", "k": "a", "n": 1, "at": 1000},
        {"op": "+U", "k": "a", "n": 2, "at": 3000},
        {"op": "-U", "k": "a", "n": 2, "at": 3000},
        {"op": "+U", "k": "b", "n": 3, "at": 5000},
    )
    write_lines(tmp_path / "t", rows)
    write_lines(tmp_path / "q", [{"k": k, "at": at} for at in (2000, 4000, 6000) for k in "ab"])
    fsql.Session(base_directory=tmp_path).run(
        """
        CREATE TABLE t (k STRING, n INT, at TIMESTAMP, WATERMARK FOR at, PRIMARY KEY (k) NOT ENFORCED)
            WITH ('connector' = 'file', 'path' = 't', 'changes' = 'retract');
        CREATE TABLE q (k STRING, at TIMESTAMP, WATERMARK FOR at) WITH ('connector' = 'file', 'path' = 'q');
        CREATE TABLE o (k STRING, n INT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT q.k, t.n FROM q LEFT JOIN t FOR SYSTEM_TIME AS OF q.at ON t.k = q.k;
        """
    )
    rows_ = map(json.loads, (tmp_path / "o").read_text().splitlines())
    assert [(each["k"], each["n"]) for each in rows_] == [
        *(("a", 1), ("b", None)),
        *(("a", 2), ("b", None)),
        *(("a", None), ("b", 3)),
    ]
