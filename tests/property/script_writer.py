"""What a random script is written with: choices, tables, views, sinks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from fsql.tests.property.sql_expressions import LETTERS, ColumnText, Expressions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

ROWS_MAX: Final = 400
"""About how many rows a relation may come to have; the oracle is quadratic."""
AGGREGATES: Final = (
    *(("COUNT(*)", "B"), ("COUNT({B})", "B"), ("COUNT({S})", "B"), ("SUM({B})", "B")),
    *(("SUM({B})", "B"), ("SUM({D})", "D"), ("AVG({B})", "D"), ("AVG({D})", "D")),
    *(
        ("MIN({B})", "B"),
        ("MAX({B})", "B"),
        ("MIN({S})", "S"),
        ("MAX({D})", "D"),
        ("MAX({T})", "T"),
        ("MIN({Y})", "Y"),
        ("COUNT(DISTINCT {S})", "B"),
        ("SUM(DISTINCT {D})", "D"),
        ("COUNT(*) FILTER (WHERE {Q})", "B"),
        ("STDDEV({B})", "D"),
        ("MAX_BY({S}, {D})", "S"),
        ("MEDIAN({B})", "D"),
        ("STRING_AGG({S}, ';' ORDER BY {B} DESC)", "S"),
    ),
)
ORDERED_AGGREGATES: Final = (
    ("ARRAY_AGG(CAST({B} AS BIGINT))", "A"),
    ("ARRAY_AGG({S}) FILTER (WHERE {Q})", "Z"),
)

_OF_GROUPS: Final = ("COUNT(DISTINCT", "SUM(DISTINCT", "MAX_BY", "STRING_AGG")


@dataclass(frozen=True)
class RelationText:
    """A table or view: its columns, whether it takes rows back, about how many rows it has.

    `key` are the columns by which its rows are distinguished, where that is known.
    """

    name: str
    columns: tuple[ColumnText, ...]
    updating: bool
    rows: float
    key: tuple[str, ...] | None = None

    @property
    def times(self) -> list[ColumnText]:
        """Return the event-time columns."""
        return [column for column in self.columns if column.time]

    def having(self, letters: str) -> list[ColumnText]:
        """Return the columns whose type is one of `letters`."""
        return [column for column in self.columns if column.letter in letters]


@dataclass
class ScriptWriter:
    """Writes one script; `relations` are the tables and views so far, `physical` the input's columns.

    With `plain`, expressions and aggregates mean the same in other SQL.  With `row_times`, tables that have
    event time have `p AS PROCTIME()` as well, or only that: the names of these are `arriving`.
    """

    random: Random
    risk: float
    event_time: bool
    plain: bool = False
    row_times: bool = False
    arriving: set[str] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)
    tables: list[RelationText] = field(default_factory=list)
    relations: list[RelationText] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)
    physical: dict[str, tuple[ColumnText, ...]] = field(default_factory=dict)

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self.random.random() < probability

    def pick(self, fits: Callable[[RelationText], object]) -> RelationText | None:
        """Return one of the relations that fit, one of the last more likely."""
        fitting = [relation for relation in self.relations if fits(relation)]
        return self.random.choice((*fitting, *fitting[-2:], *fitting[-1:])) if fitting else None

    def interval(self, *seconds: float) -> str:
        """Return an interval of one of the numbers of seconds."""
        return f"INTERVAL '{self.random.choice(seconds):g}' SECOND"

    def expressions(self, columns: Sequence[ColumnText], prefix: str = "") -> Expressions:
        """Return the source of expressions over `columns`."""
        return Expressions(self.random, columns, self.risk, prefix, plain=self.plain)

    def where(self, columns: Sequence[ColumnText], probability: float, prefix: str = "") -> str:
        """Return a WHERE clause, or nothing."""
        if not self.chance(probability):
            return ""
        return f"\nWHERE {self.expressions(columns, prefix).text('Q', 2)}"

    def aggregates(
        self,
        columns: Sequence[ColumnText],
        *,
        ordered: bool,
        prefix: str = "",
        beside: Sequence[ColumnText] = (),
        single: bool = False,
    ) -> list[tuple[str, ColumnText]]:
        """Return one to three aggregates over `columns`, each with the column that it makes.

        The new columns have other names than those that they will stand beside.  With `single` they are
        aggregates that OVER and LATERAL take.
        """
        source = self.expressions(columns, prefix)
        stem = self.stem("a", [*columns, *beside])
        choices = AGGREGATES + (ORDERED_AGGREGATES if ordered and not self.plain else ())
        if single:
            choices = tuple(each for each in choices if not each[0].startswith(_OF_GROUPS))
        chosen = [self.random.choice(choices) for _ in range(self.random.choice((1, 2, 2, 3)))]
        return [
            (source.filled(text, 1), ColumnText(f"{stem}{index}", letter))
            for index, (text, letter) in enumerate(chosen)
        ]

    @staticmethod
    def stem(letter: str, columns: Sequence[ColumnText]) -> str:
        """Return how new columns are called, so that they are not called like one of `columns`."""
        taken = {column.name for column in columns}
        while any(name.startswith(letter) and name[len(letter) :].isdigit() for name in taken):
            letter += letter[0]
        return letter

    def keys(self, relation: RelationText, *counts: int) -> list[ColumnText]:
        """Return columns to group by: integers, strings, truth values and times."""
        choices = relation.having("SBQTDA")
        choices = [
            column for column in choices if column.name in "kvs" and self.chance(0.8)
        ] or choices
        return self.random.sample(choices, k=min(self.random.choice(counts), len(choices)))

    # Tables.

    def table(self, rows: int) -> None:
        """Declare a source table of `rows` rows."""
        name = f"t{len(self.tables)}"
        columns = [ColumnText("k", self.random.choice("SB")), ColumnText("v", "B")]
        columns += [ColumnText(letter.lower(), letter) for letter in "IDSAZQY" if self.chance(0.45)]
        options = f"'on_error' = '{self.random.choice(('stop', 'reject', 'reject'))}'"
        source = f"'connector' = 'file', 'path' = '{name}.jsonl'"
        if self.row_times and self.chance(0.4):
            self.arriving.add(name)
            source = "'connector' = 'socket', 'address' = '127.0.0.1:7'"
        at_rest = self.event_time and bool(self.tables) and not self.plain and self.chance(0.2)
        added: list[str] = []
        at_rest = at_rest and not self.row_times
        if name in self.arriving:
            options += ", 'time' = 'arrival'"
        elif self.event_time and not at_rest:
            added = self.event_column(columns)
            options += ", 'grain_ms' = '700'" if not self.plain and self.chance(0.15) else ""
        elif self.chance(0.4):
            columns.append(ColumnText("t", "T"))
        self.physical[name] = tuple(columns)
        declared = [f"{c.name} {LETTERS[c.letter]}" for c in columns]
        if self.physical[name][-1].name == "m":
            columns.append(ColumnText("ts", "T", time=True))
        elif not self.plain and not self.row_times and self.chance(0.15):
            added.append(f"c AS {self.expressions(columns).text('B', 1)}")
            columns.append(ColumnText("c", "B"))
        key: tuple[str, ...] | None = None
        if self.row_times:
            added.append("p AS PROCTIME()")
            columns.append(ColumnText("p", "T", time=True))
        elif not self.plain and self.chance(0.2):
            key = self.random.choice((("k",), ("k",), ("v", "k"), None, None))
            options += self.changes(name, key)
            added += [f"PRIMARY KEY ({', '.join(key)}) NOT ENFORCED"] if key else []
            columns = [replace(column, time=False) for column in columns]
        body = ",\n    ".join([*declared, *added])
        self.statements.append(f"CREATE TABLE {name} (\n    {body}\n) WITH ({source}, {options});")
        updating = self.physical[name][0].name in {"op", "kind"}
        self.tables.append(RelationText(name, tuple(columns), updating, rows, key))
        self.relations.append(self.tables[-1])

    def changes(self, name: str, key: tuple[str, ...] | None) -> str:
        """Add the kind of change to the rows of a table; return its options."""
        operation = ColumnText("op" if key else "kind", "S")
        self.physical[name] = (operation, *self.physical[name])
        if not key:
            return ", 'changes' = 'retract', 'op_column' = 'kind'"
        return f", 'changes' = '{self.random.choice(('upsert', 'retract'))}'"

    def event_column(self, columns: list[ColumnText]) -> list[str]:
        """Add an event-time column, sometimes one computed from milliseconds; return what declares it."""
        delay = self.random.choice(("", " AS ts", *(2 * (" AS ts - INTERVAL '2' SECOND",))))
        if self.plain or self.chance(0.85):
            columns.append(ColumnText("ts", "T", time=True))
            return [f"WATERMARK FOR ts{delay}"]
        columns.append(ColumnText("m", "B"))
        return ["ts AS TIMESTAMP_MILLIS(m)", f"WATERMARK FOR ts{delay}"]

    def source(self, relation: RelationText) -> str:
        """Return how FROM names a relation; a view is sometimes written out."""
        query = self.queries.get(relation.name)
        if query is None or len(query) > 400 or self.chance(0.85):
            return relation.name
        return "(\n    " + query.replace("\n", "\n    ") + f"\n) AS {relation.name}"

    def view(
        self,
        query: str,
        columns: Sequence[ColumnText],
        rows: float,
        *,
        updating: bool,
        key: tuple[str, ...] | None = None,
    ) -> bool:
        """Make a view of `query`, unless it would become too large."""
        if rows > ROWS_MAX:
            return False
        name = f"v{len(self.relations) - len(self.tables)}"
        self.statements.append(f"CREATE VIEW {name} AS\n{query};")
        self.queries[name] = query
        self.relations.append(RelationText(name, tuple(columns), updating, rows, key))
        return True

    # Sinks.

    def insert(self, relation: RelationText) -> None:
        """Insert all of a relation into a sink of its own."""
        name = f"sink{sum('INSERT' in statement for statement in self.statements)}"
        declared = [f"{column.name} {LETTERS[column.letter]}" for column in relation.columns]
        options = "'connector' = 'blackhole'"
        if relation.updating and relation.key and self.chance(0.4):
            declared.append(f"PRIMARY KEY ({', '.join(relation.key)}) NOT ENFORCED")
        elif self.chance(0.3):
            options += ", 'changes' = 'retract'"
        columns = ",\n    ".join(declared)
        self.statements.append(f"CREATE TABLE {name} (\n    {columns}\n) WITH ({options});")
        self.statements.append(f"INSERT INTO {name} SELECT * FROM {relation.name};")
