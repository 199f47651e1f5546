"""Random SQL scripts that mix frames, LAG and LEAD, subqueries, LATERAL and row patterns with all else.

Like those of `scripts`, but with few rows: most of these views are updating, compare rows with each other,
and are read by others of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fsql.tests.property.scripts import ViewWriter
from fsql.tests.property.sql_expressions import ColumnText

if TYPE_CHECKING:
    from random import Random

    from fsql.tests.property.script_writer import RelationText

COMPARED_ROWS_MAX: Final = 16
"""Views that compare rows with each other read relations with at most so many rows."""
_EFFORT: Final = 3
"""As how many rows one of such a view counts: few of them can be read by another one."""

SORTED: Final = "BSDTQY"
_OF_PEERS: Final = (
    *(("COUNT(*)", "B"), ("COUNT({B})", "B"), ("SUM({B})", "B"), ("MIN({S})", "S")),
    *(("MAX({B})", "B"), ("COUNT(DISTINCT {B})", "B"), ("SUM({B}) FILTER (WHERE {Q})", "B")),
)
"""Aggregates that do not depend on the order of equal rows."""
_OF_ORDER: Final = (
    *(("FIRST_VALUE({B})", "B"), ("LAST_VALUE({S})", "S"), ("NTH_VALUE({B}, 2)", "B")),
)
_SHIFTED: Final = (
    *(("LAG({B})", "B"), ("LEAD({S})", "S"), ("LAG({S}, 2)", "S"), ("LEAD({B}, 2, -1)", "B")),
)
_EXCLUDED: Final = ("CURRENT ROW", "GROUP", "TIES", "NO OTHERS")
_PATTERNS: Final = ("a b+", "a b* c", "a | b c", "(a b){1,2}", "a+? c", "a b?? c", "(a | b)* c")


@dataclass
class MixedWriter(ViewWriter):
    """Writes views with the features of this module beside those of `ViewWriter`."""

    def small(self, fits: str = "B") -> RelationText | None:
        """Return a relation with few rows that has a column of one of the types."""
        return self.pick(
            lambda relation: relation.rows <= COMPARED_ROWS_MAX and relation.having(fits)
        )

    def ends(self, sizes: tuple[str, ...]) -> str:
        """Return the ends of a frame, the first not after the last; `sizes` ascend."""
        bounds = ["UNBOUNDED PRECEDING", *(f"{size} PRECEDING" for size in reversed(sizes))]
        bounds += ["CURRENT ROW", *(f"{size} FOLLOWING" for size in sizes), "UNBOUNDED FOLLOWING"]
        first, last = sorted(self.random.choices(range(len(bounds)), k=2))
        first, last = min(first, len(bounds) - 2), max(last, 1)
        return f"BETWEEN {bounds[first]} AND {bounds[last]}"

    def order(self, below: RelationText, first: str) -> str:
        """Return an order, by a column of the types first, in which equal rows alone tie."""
        keys = [self.random.choice(below.having(first))]
        keys += [column for column in below.having(SORTED) if column not in keys]
        return ", ".join(key.name + self.direction() for key in keys)

    def direction(self) -> str:
        """Return a direction, and the place of NULL."""
        return f"{self.random.choice(('', ' DESC'))} NULLS {self.random.choice(('FIRST', 'LAST'))}"

    def any_order(self) -> bool:
        """Frames of rows, values and groups, and LAG and LEAD, in any order, over any rows."""
        below = self.small()
        if below is None or any(column.name.startswith("window_") for column in below.columns):
            return False
        source, stem = self.expressions(below.columns), self.stem("f", below.columns)
        partition = [column.name for column in self.keys(below, 0, 1, 1)]
        clause = f"PARTITION BY {', '.join(partition)} " if partition else ""
        items, made = [column.name for column in below.columns], []
        for index in range(self.random.choice((1, 1, 2))):
            frame, call = "", self.random.choice(_SHIFTED)
            unit = self.random.choice(("ROWS", "RANGE", "GROUPS", "shift", "shift"))
            if unit == "ROWS":
                call = self.random.choice(_OF_PEERS + _OF_ORDER)
                frame = f"ROWS {self.ends(('1', '3'))}"
            elif unit != "shift":
                call = self.random.choice(_OF_PEERS)
                frame = f"{unit} {self.ends(('1', '2'))}"
            order = self.order(below, SORTED)
            if unit == "RANGE":
                key = self.random.choice(below.having("BT"))
                order = key.name + self.direction()
                seconds = ("INTERVAL '1' SECOND", "INTERVAL '3' SECOND")
                frame = f"RANGE {self.ends(seconds if key.letter == 'T' else ('1', '2'))}"
            if frame and "DISTINCT" not in call[0] and self.chance(0.3):
                frame += f" EXCLUDE {self.random.choice(_EXCLUDED)}"
            text = source.filled(call[0], 1)
            items.append(f"{text} OVER ({clause}ORDER BY {order} {frame}) AS {stem}{index}")
            made.append(ColumnText(f"{stem}{index}", call[1]))
        kept = [replace(column, time=False) for column in below.columns]
        query = f"SELECT {', '.join(items)}\nFROM {below.name}"
        return self.view(query, [*kept, *made], _EFFORT * below.rows, updating=True)

    def following(self) -> bool:
        """Frames with rows after their own, and LEAD, in the order of event time, over append-only rows."""
        below = self.pick(lambda relation: relation.times and not relation.updating)
        if below is None:
            return False
        source, stem = self.expressions(below.columns), self.stem("g", below.columns)
        partition = [column.name for column in self.keys(below, 0, 1, 1)]
        clause = f"PARTITION BY {', '.join(partition)} " if partition else ""
        clause += f"ORDER BY {self.random.choice(below.times).name}"
        text, letter = self.random.choice(_OF_PEERS)
        before, after = self.interval(0.5, 1, 3), self.interval(0.5, 2)
        frame = f"RANGE BETWEEN {before} PRECEDING AND {after} FOLLOWING"
        if not self.plain and self.chance(0.6):
            # The order of rows with equal times is that of their positions, which DuckDB does not know.
            text, letter = self.random.choice(_OF_PEERS + _OF_ORDER)
            frame = self.random.choice(
                (
                    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
                    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
                )
            )
            if self.chance(0.4):
                (text, letter), frame = self.random.choice(_SHIFTED), ""
        items = ", ".join(column.name for column in below.columns)
        call = f"{source.filled(text, 1)} OVER ({clause} {frame}) AS {stem}0"
        kept = [replace(column, time=False) for column in below.columns]
        query = f"SELECT {items}, {call}\nFROM {below.name}"
        return self.view(query, [*kept, ColumnText(f"{stem}0", letter)], below.rows, updating=False)

    def sides(self) -> tuple[RelationText, RelationText, str] | None:
        """Return a relation r, a relation x for a subquery, and a condition that correlates them."""
        outer = self.small("BS")
        if outer is None:
            return None
        letters = "".join({column.letter for column in outer.having("BS")})
        inner = self.small(letters)
        if inner is None:
            return None
        letter = self.random.choice([column.letter for column in inner.having(letters)])
        compared = self.random.choice(("=", "=", "=", "<"))
        condition = f"x.{self.key(inner, letter)} {compared} r.{self.key(outer, letter)}"
        if self.chance(0.2):
            condition += f" AND {self.expressions(inner.columns, 'x.').text('Q', 1)}"
        return outer, inner, condition

    def correlated(self) -> bool:
        """Subqueries as values, EXISTS and IN, correlated with the row outside."""
        sides = self.sides()
        if sides is None:
            return False
        outer, inner, condition = sides
        stem = self.stem("q", outer.columns)
        items, made, where = [f"r.{column.name}" for column in outer.columns], [], ""
        inside = self.expressions(inner.columns, "x.")
        rows = f"FROM {inner.name} AS x WHERE {condition}"
        if self.chance(0.5):
            text, letter = self.random.choice(_OF_PEERS[:5])
            items.append(f"(SELECT {inside.filled(text, 1)} {rows}) AS {stem}0")
            made.append(ColumnText(f"{stem}0", letter))
        elif self.chance(0.5):
            where = f"\nWHERE {self.random.choice(('', 'NOT '))}EXISTS (SELECT 1 {rows})"
        else:
            value = self.expressions(outer.columns, "r.").text("B", 1)
            test = f"{value} {self.random.choice(('', 'NOT '))}IN (SELECT {inside.text('B', 1)} {rows})"
            where = f"\nWHERE {test}"
            if self.chance(0.4):
                items.append(f"{test} AS {stem}0")
                made, where = [ColumnText(f"{stem}0", "Q")], ""
        query = f"SELECT {', '.join(items)}\nFROM {outer.name} AS r{where}"
        kept = [replace(column, time=False) for column in outer.columns]
        return self.view(query, [*kept, *made], _EFFORT * outer.rows, updating=True)

    def lateral_rows(self) -> bool:
        """LATERAL subqueries over a relation: the first rows for each row, or an aggregate of them."""
        sides = self.sides()
        if sides is None:
            return False
        outer, inner, condition = sides
        stem = self.stem("n", outer.columns)
        columns = [column for column in inner.columns if column.letter in SORTED]
        picked = self.random.sample(columns, k=min(len(columns), self.random.choice((1, 2))))
        made = [ColumnText(f"{stem}{i}", column.letter) for i, column in enumerate(picked)]
        named = zip(picked, made, strict=True)
        inside = ", ".join(f"x.{column.name} AS {name.name}" for column, name in named)
        more = ""
        if self.chance(0.6):
            order = ", ".join(f"{column.name}{self.direction()}" for column in made)
            more = f" ORDER BY {order} LIMIT {self.random.choice((1, 2))}"
        elif self.chance(0.5):
            text, letter = self.random.choice(_OF_PEERS[:5])
            made = [ColumnText(f"{stem}0", letter)]
            inside = f"{self.expressions(inner.columns, 'x.').filled(text, 1)} AS {stem}0"
        subquery = f"SELECT {inside} FROM {inner.name} AS x WHERE {condition}{more}"
        join = self.random.choice((", LATERAL ({}) AS l", "\nLEFT JOIN LATERAL ({}) AS l ON TRUE"))
        items = [f"r.{column.name}" for column in outer.columns]
        items += [f"l.{column.name}" for column in made]
        query = f"SELECT {', '.join(items)}\nFROM {outer.name} AS r{join.format(subquery)}"
        kept = [replace(column, time=False) for column in outer.columns]
        return self.view(query, [*kept, *made], _EFFORT * outer.rows, updating=True)

    def matches(self) -> bool:
        """MATCH_RECOGNIZE over append-only rows with event time."""
        below = self.pick(
            lambda relation: relation.times and not relation.updating and relation.having("B")
        )
        if below is None:
            return False
        number = self.random.choice(below.having("B")).name
        keys = self.keys(below, 0, 1, 1)
        partition = f"PARTITION BY {', '.join(key.name for key in keys)} " if keys else ""
        within = f" WITHIN {self.interval(2, 5)}" if self.chance(0.5) else ""
        skip = self.random.choice(("PAST LAST ROW", "TO NEXT ROW"))
        previous = f"{number} >= PREV({number}) OR PREV({number}) IS NULL"
        conditions = (f"{number} > 1", previous, f"{number} <= SUM(a.{number})", f"{number} < 3")
        pattern = self.random.choice(_PATTERNS)
        defined = [
            f"{name} AS {self.random.choice(conditions)}" for name in "abc" if name in pattern
        ]
        stem = self.stem("m", below.columns)
        measures = (
            f"COUNT(*) AS {stem}0",
            f"FIRST({number}) AS {stem}1",
            f"LAST(a.{number}) AS {stem}2",
        )
        query = (
            f"SELECT *\nFROM {below.name} MATCH_RECOGNIZE (\n    {partition}ORDER BY {below.times[0].name}\n"
            f"    MEASURES {', '.join(measures)}\n    AFTER MATCH SKIP {skip}\n"
            f"    PATTERN ({pattern}){within}\n    DEFINE {', '.join(defined)}\n)"
        )
        made = [ColumnText(f"{stem}{index}", "B") for index in range(3)]
        kept = [replace(key, time=False) for key in keys]
        return self.view(query, [*kept, *made], below.rows, updating=False)


FEATURES: Final = {
    "frame in any order": " NULLS ",
    "RANGE frame": " RANGE BETWEEN ",
    "GROUPS frame": " GROUPS BETWEEN ",
    "ROWS frame": " ROWS BETWEEN ",
    "EXCLUDE": " EXCLUDE ",
    "LAG": "LAG(",
    "LEAD": "LEAD(",
    "subquery as a value": "(SELECT ",
    "EXISTS": "EXISTS (",
    "IN": " IN (SELECT",
    "LATERAL": " LATERAL (",
    "LATERAL with LIMIT": " LIMIT ",
    "MATCH_RECOGNIZE": "MATCH_RECOGNIZE",
}
"""What the scripts of a suite must have, by a text that says so."""


def random_mixed_script(random: Random, *, plain: bool = False) -> MixedWriter:
    """Return a writer that has written a script; a `plain` one means the same in other SQL."""
    writer = MixedWriter(
        random,
        risk=0.0 if plain else random.choice((0.0, 0.0, 0.02)),
        event_time=random.random() < 0.8,
        plain=plain,
    )
    for _ in range(random.choice((1, 2, 2))):
        writer.table(random.choice((4, 5, 6, 8)))
    newer = 2 * [writer.any_order, writer.lateral_rows, writer.correlated]
    newer += [writer.following] if plain else [writer.following, writer.matches, writer.matches]
    older = [writer.project, writer.union, writer.group, writer.regroup, writer.join]
    older += [writer.window, writer.distinct]
    wanted = len(writer.relations) + random.choice((1, 2, 3))
    for _ in range(40):
        if len(writer.relations) < wanted:
            random.choice(newer if random.random() < 0.6 else older)()
    for _ in range(20):
        if random.choice(newer)():
            break
    writer.insert(writer.relations[-1])
    return writer
