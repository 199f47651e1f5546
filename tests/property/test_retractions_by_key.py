"""Tables of retractions by a key are what their definition says, on every way.

Each split is what somebody else has written: the changes of rows that have another key, some of them lost or
out of order.  A row replaces that of its key; one that is removed has to equal it.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Row, Splits

    Split = list[Row]
    Values = tuple[Value, ...]

COLUMNS = "place BIGINT, player STRING, points DOUBLE"
SCRIPT = """
CREATE TABLE ranking ({columns}, PRIMARY KEY ({key}) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'r.jsonl', 'changes' = 'retract');
SELECT {selected} FROM ranking;
"""
LOG = """
CREATE TABLE events (op STRING, {columns}) WITH ('connector' = 'file', 'path' = 'e.jsonl');
CREATE VIEW ranking AS SELECT * FROM FROM_CHANGELOG(
    TABLE events PARTITION BY ({key}), op_mapping => MAP[
        '+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']);
SELECT {selected} FROM ranking;
"""
KEYS = (("player",), ("place",), ("player", "points"), ("place", "player", "points"))
NAMES = ("op", "place", "player", "points", "at")


class Drawn(NamedTuple):
    """A case, the columns of the key by their places in its rows, and whether they are read as a log."""

    case: Case
    key: tuple[int, ...]
    of_log: bool


class Effect(NamedTuple):
    """A row that is kept or removed: the time and number of its root, and whether it is compared."""

    time: int
    number: int
    row: Values
    kept: bool = False
    compared: bool = False


def written_changes(random: Random, key: tuple[int, ...], *, timed: bool) -> list[Values]:
    """Return what a ranking by its place writes while players change their places."""
    # Points are not NULL in a key.
    last_points = 2.5 if NAMES.index("points") in key else None
    board: dict[int, Values] = {}
    rows: list[Values] = []
    clock = 0
    for _ in range(random.choice((4, 8, 16))):
        clock += random.choice((0, 1_000_000, 3_000_000))
        for place in random.sample(range(4), random.choice((1, 1, 2, 3))):
            points = random.choice((0.0, -0.0, 1.5, last_points))
            new: Values = (place, random.choice("abc"), points)
            new += (clock,) if timed else ()
            old = board.pop(place, None)
            if old is not None and random.random() < 0.2:
                rows.append(("-D", *old))
                continue
            if old is not None:
                rows.append(("-U", *old))
            board[place] = new
            rows.append(("+I" if old is None else "+U", *new))
    for _ in range(random.choice((0, 0, 1, 3))):
        at = random.randrange(len(rows))
        match random.choice(("lost", "swapped", "key only", "unkind")):
            case "lost":
                del rows[at]
            case "swapped" if at:
                rows[at - 1], rows[at] = rows[at], rows[at - 1]
            case "key only":
                row = [each if i in (*key, 4) else None for i, each in enumerate(rows[at])]
                rows[at] = ("-D", *row[1:])
            case _:
                rows[at] = (None, *rows[at][1:])
    return rows


def drawn(seed: int) -> Drawn:
    """Return a case over drawn changes."""
    random = Random(f"retractions by key {seed}")
    timed, of_log = random.random() < 0.5, random.random() < 0.3
    names_of_key = random.choice(KEYS)
    key = tuple(map(NAMES.index, names_of_key))
    columns = COLUMNS + (", at TIMESTAMP, WATERMARK FOR at" if timed else "")
    names = NAMES[1:] if timed else NAMES[1:4]
    selected = random.choice((", ".join(names), "COUNT(*) AS n", "player, COUNT(*) AS n"))
    grouped = " GROUP BY player" if "player, C" in selected else ""
    text = (LOG if of_log else SCRIPT).format(
        columns=columns, key=", ".join(names_of_key), selected=selected
    )
    text = text.replace("FROM ranking;", f"FROM ranking{grouped};")
    job = bind(parse_script(SourceText("retractions", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = []
    for _ in range(random.choice((1, 1, 2))):
        rows = written_changes(random, key, timed=timed)
        unkind = "+U" if of_log else None
        splits.append([(row[0] or unkind, *row[1:]) for row in rows])
    return Drawn(Case(f"retractions by key {seed}", text, job, {0: splits}), key, of_log)


def same(value: Value) -> Value:
    """Return a value as it is compared."""
    return 0.0 if value == 0 and isinstance(value, float) else value


def effects(rows: Split, key: tuple[int, ...], *, of_log: bool) -> Iterator[Effect]:
    """Yield the effects of the rows of a split, by their times and numbers."""
    time, before = 0, None
    for number, row in enumerate(rows):
        assert isinstance(row, tuple)
        time = (
            number if len(row) == 4 else max(time, *[at for at in row[4:] if isinstance(at, int)])
        )
        kept = row[0] in {"+I", "+U", None}
        stays = before is not None and kept and all(same(before[i]) == same(row[i]) for i in key)
        if before is not None and not stays and not of_log:
            yield Effect(time, number, before, compared=True)
        before = row if row[0] == "-U" else None
        if kept or row[0] == "-D":
            whole = any(row[i] is not None for i in range(1, 4) if i not in key)
            yield Effect(time, number, row, kept=kept, compared=whole and not of_log)
        elif of_log:
            yield Effect(time, number, row, compared=True)


def defined(case: Case, key: tuple[int, ...], *, of_log: bool) -> dict[Values, Values]:
    """Return the rows of the table by the definition, by their keys."""
    all_effects = [
        (effect.time, split, effect.number, step, effect)
        for split, rows in enumerate(case.inputs[0])
        for step, effect in enumerate(effects(rows, key, of_log=of_log))
    ]
    table: dict[Values, Values] = {}
    for *_, effect in sorted(all_effects):
        row = effect.row
        of = tuple(same(row[i]) for i in key)
        if effect.kept:
            table[of] = row
        elif not effect.compared or [*map(same, table.get(of, ())[1:4])] == [*map(same, row[1:4])]:
            table.pop(of, None)
    return table


@pytest.mark.slow
def test_tables_have_the_rows_of_their_definition() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(48):
        case, key, of_log = drawn(seed)
        table = defined(case, key, of_log=of_log)
        oracle = Oracle(case.job, case.inputs, literal=False)
        rows = oracle.relations.relation(case.job.inserts[0].query, END)
        found = Counter(tuple(map(same, row.values)) for row in rows)
        if "COUNT(*)" not in case.text:
            assert found == Counter(tuple(map(same, row[1:])) for row in table.values()), seed
        elif "player" in case.text.split("SELECT")[-1]:
            players = Counter(row[2] for row in table.values())
            assert found == Counter(players.items()), seed
        else:
            assert found == Counter([(len(table),)]), seed
        met.update(check(case, 2))
        check_snapshots(case, case.expected, roots_of(case), Random(case.name), met)
        met["log"] += of_log
        met["rows"] += bool(table)
    assert all(met[each] for each in ("rows", "log", "rows restored")), met
