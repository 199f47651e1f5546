"""Random SQL scripts.

A script declares one to three tables, makes a chain of views, each a single clause or operator over
tables and views before it, and inserts some of them into sinks.  So scripts stay readable, views are
named twice, and every operator meets every other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.tests.property.drawn_joins import OUTER, Joined, range_text
from fsql.tests.property.script_writer import RelationText, ScriptWriter
from fsql.tests.property.sql_expressions import ColumnText

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


TOTALS = ("", " ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
"""Frames from a row to one end of its partition."""


@dataclass
class ViewWriter(ScriptWriter):
    """Writes views: each method adds one, or returns False where nothing fits."""

    def project(self) -> bool:
        """SELECT expressions, WHERE."""
        below = self.pick(lambda _: True)
        assert below is not None
        source = self.expressions(below.columns)
        kept = [column for column in below.columns if column.time or self.chance(0.6)]
        names = {column.name for column in kept}
        letters = self.random.sample("BBBDSTAZQIY", k=self.random.choice((1, 2)))
        stem = self.stem("e", below.columns)
        made = [ColumnText(f"{stem}{index}", letter) for index, letter in enumerate(letters)]
        items = [c.name for c in kept] + [f"{source.text(c.letter, 2)} AS {c.name}" for c in made]
        key = below.key if below.key is not None and names.issuperset(below.key) else None
        query = (
            f"SELECT {', '.join(items)}\nFROM {self.source(below)}{self.where(below.columns, 0.5)}"
        )
        return bool(items) and self.view(
            query, [*kept, *made], below.rows, updating=below.updating, key=key
        )

    def union(self) -> bool:
        """UNION ALL or another set operation of two relations; often of one with itself."""
        left, right = self.pick(lambda _: True), self.random.choice(self.relations)
        assert left is not None
        updating = left.updating or right.updating
        operator = "UNION ALL"
        if self.chance(0.3):
            operator = self.random.choice(("UNION", "INTERSECT", "EXCEPT"))
            operator += " ALL" if operator != "UNION" and not updating and self.chance(0.5) else ""
        columns: list[ColumnText] = []
        sides: tuple[list[str], list[str]] = [], []
        for column in left.columns:
            partners = [c for c in right.columns if c.letter == column.letter]
            partners = [c for c in partners if c.time] if column.time else partners
            if partners:
                partner = self.random.choice(partners)
                time = column.time and partner.time and operator == "UNION ALL"
                columns.append(ColumnText(column.name, column.letter, time))
                sides[0].append(column.name)
                sides[1].append(partner.name)
        selects = [
            f"SELECT {', '.join(side)} FROM {self.source(relation)}"
            f"{self.where(relation.columns, 0.3)}"
            for side, relation in zip(sides, (left, right), strict=True)
        ]
        return bool(columns) and self.view(
            f"\n{operator}\n".join(selects),
            columns,
            left.rows + right.rows,
            updating=updating or operator != "UNION ALL",
        )

    def unnest(self) -> bool:
        """CROSS JOIN UNNEST of an array column, or of two, which DuckDB does not have in FROM."""
        below = self.pick(lambda relation: relation.having("AZ"))
        if below is None:
            return False
        arrays = self.random.choices(below.having("AZ"), k=self.random.choice((1, 1, 2)))
        arrays = arrays[:1] if self.plain else arrays
        kept = [column for column in below.columns if column.letter not in "AZ"]
        ordinality = self.chance(0.5)
        made = [
            ColumnText(name, {"A": "B", "Z": "S"}[array.letter])
            for name, array in zip("xy", arrays, strict=False)
        ]
        made += [ColumnText("o", "B")] if ordinality else []
        items = [f"r.{column.name}" for column in kept if column.name not in "xyo"]
        kept = [column for column in kept if column.name not in "xyo"]
        alias = f"e({', '.join(column.name for column in made)})"
        query = (
            f"SELECT {', '.join(items + [f'e.{column.name}' for column in made])}\n"
            f"FROM {below.name} AS r CROSS JOIN UNNEST({', '.join(f'r.{array.name}' for array in arrays)})"
            f"{' WITH ORDINALITY' if ordinality else ''} AS {alias}"
        )
        return self.view(query, [*kept, *made], 2 * below.rows, updating=below.updating)

    def lateral(self) -> bool:
        """CROSS JOIN LATERAL: aggregates over a row's own array."""
        below = self.pick(lambda relation: relation.having("AZ"))
        if below is None:
            return False
        array = self.random.choice(below.having("AZ"))
        element = ColumnText("x", {"A": "B", "Z": "S"}[array.letter])
        grouped = self.chance(0.6)
        made = [ColumnText("x", element.letter)] if grouped else []
        aggregates = self.aggregates(
            [element], ordered=True, prefix="e.", beside=below.columns, single=True
        )
        items = ["e.x"] if grouped else []
        items += [f"{text} AS {column.name}" for text, column in aggregates]
        inner = f"SELECT {', '.join(items)} FROM UNNEST(r.{array.name}) AS e(x)"
        inner += self.where([element], 0.4, "e.").replace("\n", " ")
        made += [column for _, column in aggregates]
        kept = [column for column in below.columns if column.name != "x"]
        outer = [f"r.{column.name}" for column in kept] + [f"l.{column.name}" for column in made]
        query = (
            f"SELECT {', '.join(outer)}\nFROM {below.name} AS r CROSS JOIN LATERAL (\n"
            f"    {inner}{' GROUP BY e.x' if grouped else ''}\n) AS l"
        )
        return self.view(query, [*kept, *made], 2 * below.rows, updating=below.updating)

    def group(self) -> bool:
        """GROUP BY: the updating aggregate."""
        below = self.pick(lambda _: True)
        assert below is not None
        return self.group_by(below, self.keys(below, *((1,) if self.plain else (0, 1)), 1, 1, 2))

    def regroup(self) -> bool:
        """GROUP BY a result of an aggregate, so that a group's rows move from key to key."""
        below = self.pick(lambda relation: relation.key is not None)
        if below is None or below.key is None:
            return False
        results = [c for c in below.having("BSQT") if c.name not in below.key]
        return bool(results) and self.group_by(below, [self.random.choice(results)])

    def group_by(self, below: RelationText, keys: Sequence[ColumnText]) -> bool:
        """GROUP BY the given keys."""
        aggregates = self.aggregates(below.columns, ordered=not below.updating)
        query = self.grouped(
            below, self.source(below), [column.name for column in keys], aggregates
        )
        return self.view(
            query + (" EMIT CHANGES" if self.chance(0.2) else ""),
            [*(replace(column, time=False) for column in keys), *(c for _, c in aggregates)],
            below.rows,
            updating=True,
            key=tuple(column.name for column in keys),
        )

    def grouped(
        self,
        below: RelationText,
        source: str,
        keys: Sequence[str],
        aggregates: Sequence[tuple[str, ColumnText]],
    ) -> str:
        """Return SELECT keys, aggregates FROM source … GROUP BY keys, perhaps HAVING."""
        items = [*keys, *(f"{text} AS {column.name}" for text, column in aggregates)]
        query = f"SELECT {', '.join(items)}\nFROM {source}{self.where(below.columns, 0.25)}"
        if keys:
            query += f"\nGROUP BY {', '.join(keys)}"
            if self.chance(0.25):
                query += f"\nHAVING COUNT(*) {self.random.choice(('> 1', '< 3', '<> 2'))}"
        return query

    def windows(self) -> tuple[RelationText, str, str, float] | None:
        """Return a relation with event time, its windows in FROM and GROUP BY, how many a row is in."""
        below = None
        if self.chance(0.4):
            below = self.pick(lambda relation: relation.times and relation not in self.tables)
        below = below or self.pick(lambda relation: relation.times)
        if below is None:
            return None
        time = self.random.choice(below.times).name
        size = self.random.choice((1, 2, 2.5, 5, 7, 10))
        intervals, function, count = f"INTERVAL '{size:g}' SECOND", "TUMBLE", 1.0
        if not self.plain and self.chance(0.15):
            steps = self.random.choice((2, 4))
            intervals = f"INTERVAL '{size / steps:g}' SECOND, {intervals}"
            function, count = "CUMULATE", steps / 2
        elif self.chance(0.5):
            slide = self.random.choice((0.7, 1, 2, 3))
            intervals, function = f"INTERVAL '{slide:g}' SECOND, {intervals}", "HOP"
            count = max(1.0, size / slide)
        if not self.plain and self.chance(0.15):
            intervals += ", INTERVAL '0.3' SECOND"
        table = f"TABLE({function}(TABLE {below.name}, DESCRIPTOR({time}), {intervals}))"
        if not self.plain and self.chance(0.3):
            table = f"{function}({below.name}, {time}, {intervals})"
        return below, table, f"{function}({time}, {intervals})", count

    def assign(self) -> bool:
        """Rows with their windows, to be grouped by another view."""
        windows = self.windows()
        if windows is None:
            return False
        below, table, _, count = windows
        kept = [column for column in below.columns if not column.name.startswith("window_")]
        made = [ColumnText("window_start", "T"), ColumnText("window_end", "T", time=True)]
        items = ", ".join(column.name for column in (*kept, *made))
        query = f"SELECT {items}\nFROM {table}{self.where(kept, 0.3)}"
        return self.view(query, [*kept, *made], below.rows * count, updating=below.updating)

    def window(self) -> bool:
        """GROUP BY the windows of TUMBLE or HOP, FINAL or CHANGES."""
        windows = self.windows()
        if windows is None:
            return False
        below, table, call, count = windows
        keys = [column.name for column in self.keys(below, 0, 1, 1)]
        keys = [key for key in keys if not key.startswith("window_")]
        keys += ["window_start", "window_end"]
        self.random.shuffle(keys)
        keys += ["window_time"] if self.chance(0.5) else []
        final = self.chance(0.7)
        aggregates = self.aggregates(below.columns, ordered=not below.updating)
        query = self.grouped(below, table, keys, aggregates)
        hidden = any(column.name.startswith("window_") for column in below.columns)
        if not self.plain and not hidden and "window_time" not in keys and self.chance(0.3):
            others = [key for key in keys if not key.startswith("window_")]
            grouping = f"GROUP BY {', '.join([*others, call])}"
            query = query.replace(f"FROM {table}", f"FROM {below.name}")
            query = query.replace(f"GROUP BY {', '.join(keys)}", grouping)
        emit = (" EMIT FINAL" if self.chance(0.3) else "") if final else " EMIT CHANGES"
        letters = {column.name: column.letter for column in below.columns}
        columns = [
            ColumnText(key, letters.get(key, "T"), final and key in {"window_end", "window_time"})
            for key in keys
        ]
        return self.view(
            query + emit,
            [*columns, *(column for _, column in aggregates)],
            below.rows * count,
            updating=not final or below.updating,
            key=tuple(keys),
        )

    def distinct(self) -> bool:
        """SELECT DISTINCT some columns."""
        below = self.pick(lambda _: True)
        assert below is not None
        columns = self.keys(below, 1, 2)
        names = tuple(column.name for column in columns)
        query = f"SELECT DISTINCT {', '.join(names)}\nFROM {self.source(below)}"
        query += self.where(below.columns, 0.2)
        columns = [replace(column, time=False) for column in columns]
        return bool(names) and self.view(query, columns, below.rows, updating=True, key=names)

    def join(self) -> bool:
        """JOIN two relations, often one with itself, perhaps within a time range."""
        left = self.pick(lambda relation: relation.having("BSD"))
        if left is None:
            return False
        letters = {column.letter for column in left.having("BSD")}
        fitting = [relation for relation in self.relations if relation.having("".join(letters))]
        right = self.random.choice(fitting)
        letter = self.random.choice([c.letter for c in right.columns if c.letter in letters])
        on = [f"l.{self.key(left, letter)} = r.{self.key(right, letter)}"]
        rows = left.rows * right.rows / 4
        updating = left.updating or right.updating
        ranged = bool(left.times and right.times) and not updating and self.chance(0.6)
        if ranged:
            on.append(range_text(self, f"l.{left.times[0].name}", f"r.{right.times[0].name}"))
            rows /= 2
        elif left.times and right.times and self.chance(0.3):
            on.append(f"l.{left.times[0].name} = r.{right.times[0].name}")
        if self.chance(0.25):
            on.append(f"l.{self.key(left, letter)} <> {self.expressions([]).text(letter, 0)}")
        joined = Joined(
            self.random.choice(OUTER) if ranged and self.chance(0.4) else "", ranged, (left, right)
        )
        columns: list[ColumnText] = []
        items: list[str] = []
        for side, relation in (("l", left), ("r", right))[: joined.sides]:
            for column in relation.columns:
                if self.chance(0.7) or column.time:
                    name = f"{side}{len(columns)}" if column.name != "k" or side == "r" else "k"
                    time = joined.keeps_time(side, column)
                    columns.append(replace(column, name=name, time=time))
                    items.append(f"{side}.{column.name} AS {name}")
        between, where = joined.words(self.random)
        query = (
            f"SELECT {', '.join(items)}\nFROM {left.name} AS l{between}{right.name} AS r\n"
            f"{where} {' AND '.join(on)}"
        )
        return bool(items) and self.view(query, columns, rows, updating=updating)

    def key(self, relation: RelationText, letter: str) -> str:
        """Return a column to join by, mostly the one that is called k."""
        names = [column.name for column in relation.having(letter)]
        return "k" if "k" in names and self.chance(0.7) else self.random.choice(names)

    def rank(self) -> bool:
        """ROW_NUMBER, RANK, DENSE_RANK, all or the first, by the window where rows have one; or a count."""
        below = self.pick(lambda _: True)
        if below is None:
            return False
        windowed = any(column.name == "window_end" and column.time for column in below.columns)
        partition = [column.name for column in self.keys(below, 0, 1, 1)]
        if windowed and "window_end" not in partition:
            partition.append("window_end")
        clause = f"PARTITION BY {', '.join(partition)} " if partition else ""
        keys = self.keys(below, 1, 2)
        order = ", ".join(f"{key.name}{self.random.choice(('', ' DESC'))}" for key in keys)
        name = self.stem("r", below.columns)
        function, frame = self.random.choice(("ROW_NUMBER()", "RANK()", "DENSE_RANK()")), ""
        if not windowed and self.chance(0.3):
            function = self.random.choice(("COUNT(*)", f"COUNT({keys[-1].name})"))
            frame = self.random.choice(TOTALS)
        call = f"{function} OVER ({clause}ORDER BY {order}{frame}) AS {name}"
        qualify = f"\nQUALIFY {name} <= {self.random.choice((1, 2, 3))}" if self.chance(0.7) else ""
        items = ", ".join([*(column.name for column in below.columns), call])
        columns = [replace(column, time=False) for column in below.columns]
        query = f"SELECT {items}\nFROM {below.name}{qualify}"
        return self.view(query, [*columns, ColumnText(name, "B")], below.rows, updating=True)

    def over(self) -> bool:
        """Running aggregates."""
        below = self.pick(lambda relation: not relation.updating)
        if below is None:
            return False
        partition = [column.name for column in self.keys(below, 0, 1, 1)]
        clause = f"PARTITION BY {', '.join(partition)} " if partition else ""
        calls, stem = [], self.stem("w", below.columns)
        times = [column.name for column in below.columns if column.time]
        ordered = bool(times) and self.chance(0.5)
        if ordered:
            clause += f"ORDER BY {self.random.choice(times)} "
        bounded = self.chance(0.5)
        for index, (text, column) in enumerate(
            self.aggregates(below.columns, ordered=not bounded, single=True)
        ):
            frame = self.frame(ordered=ordered, bounded=bounded)
            calls.append((f"{text} OVER ({clause}{frame}) AS {stem}{index}", column.letter))
        items = [column.name for column in below.columns] + [text for text, _ in calls]
        made = [ColumnText(f"{stem}{index}", letter) for index, (_, letter) in enumerate(calls)]
        query = f"SELECT {', '.join(items)}\nFROM {below.name}"
        return self.view(query, [*below.columns, *made], below.rows, updating=False)

    def frame(self, *, ordered: bool, bounded: bool) -> str:
        """Return a frame; one that is not `bounded` begins with the partition."""
        choose = self.random.choice
        if not bounded:
            ends = ("CURRENT ROW", "1 PRECEDING")
            rows = f"ROWS BETWEEN UNBOUNDED PRECEDING AND {choose(ends)}"
            return choose(("", "RANGE UNBOUNDED PRECEDING", rows)) if ordered else rows
        rows = f"ROWS {choose((0, 1, 3))} PRECEDING"
        return choose((rows, f"RANGE {self.interval(1, 3)} PRECEDING")) if ordered else rows


def random_script(random: Random, *, plain: bool = False, row_times: bool = False) -> ViewWriter:
    """Return a writer that has written a script; a `plain` one means the same in other SQL.

    With `row_times` all its tables have PROCTIME().
    """
    writer = ViewWriter(
        random,
        risk=0.0 if plain else random.choice((0.0, 0.0, 0.02, 0.1)),
        event_time=random.random() < 0.7 or row_times,
        plain=plain,
        row_times=row_times,
    )
    for _ in range(random.choice((1, 2, 2, 3))):
        writer.table(random.choice((6, 14, 25, 40)))
    steps = [
        *(writer.project, writer.union, writer.unnest, writer.lateral),
        *(writer.group, writer.group, writer.group, writer.regroup, writer.regroup),
        *(writer.join, writer.join, writer.join),
        *(writer.window, writer.window, writer.window, writer.window, writer.assign),
        writer.distinct,
    ]
    if not plain:
        steps += (writer.over, writer.rank)
    wanted = len(writer.relations) + random.choice((1, 2, 3, 3, 4, 5))
    for _ in range(40):
        if len(writer.relations) < wanted:
            random.choice(steps)()
    last = writer.relations[-1]
    for relation in {last.name: last, **{r.name: r for r in insert_also(writer)}}.values():
        writer.insert(relation)
    return writer


def insert_also(writer: ScriptWriter) -> list[RelationText]:
    """Return the relations to insert beside the last one."""
    return writer.random.sample(
        writer.relations, k=min(len(writer.relations), writer.random.choice((0, 0, 1, 2)))
    )
