"""Random queries with subqueries and LATERAL, over small tables with few keys and with NULLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED

if TYPE_CHECKING:
    from random import Random

    from fsql.compiler.expression import Value
    from fsql.compiler.logical import Job

TABLES: Final = ("a", "b", "c")
"""Each has the columns k and v, BIGINT, and n, which is NOT NULL."""


@dataclass(frozen=True)
class SubqueryCase:
    """A query and its input: the rows of each table."""

    query: str
    job: Job
    rows: dict[str, list[tuple[Value, ...]]]


def random_subquery_case(random: Random, name: str) -> SubqueryCase:
    """Return a query with input."""
    query = _Writer(random).query()
    script = "".join(
        f"CREATE TABLE {table} (k BIGINT, v BIGINT, n BIGINT NOT NULL)\n"
        f"    WITH ('connector' = 'file', 'path' = '{table}.jsonl');\n"
        for table in TABLES
    )
    job = bind(parse_script(SourceText(name, f"{script}{query};")), DECLARED).job
    verify_logical(job)
    rows = {table: _rows(random) for table in TABLES}
    return SubqueryCase(query, job, rows)


def _rows(random: Random) -> list[tuple[Value, ...]]:
    values: tuple[Value, ...] = random.choice(((0, 1), (0, 1, 2, None)))
    return [
        (random.choice(values), random.choice(values), random.choice((0, 1, 2)))
        for _ in range(random.choice((0, 1, 3, 6)))
    ]


class _Writer:
    """Writes one query over a, whose subqueries are over b, c and a."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases = 0

    def query(self) -> str:
        """Return SELECT … WHERE, sometimes grouped, or a LATERAL join."""
        if self.random.random() < 0.4:
            return self.lateral()
        conditions = [self.condition() for _ in range(self.random.choice((1, 1, 2)))]
        if self.random.random() < 0.3:
            other = self.random.choice((self.column("a"), self.value("a")))
            conditions.append(f"{self.value('a')} {self.random.choice('<>=')} {other}")
            self.random.shuffle(conditions)
        if self.random.random() < 0.4:
            conditions.insert(self.random.randrange(2), self.plain("a"))
        source = f"FROM a WHERE {' AND '.join(conditions)}"
        if self.random.random() < 0.3:
            return self.aggregated(source)
        if self.random.random() < 0.2:
            having = f" HAVING COUNT(*) > {self.value()}" if self.random.random() < 0.3 else ""
            if self.random.random() < 0.3:
                having = f" HAVING COUNT(*) > 1 OR MAX(v) {self.not_()}IN (SELECT v FROM b)"
            return f"SELECT k, COUNT(*) AS n, {self.value()} AS x {source} GROUP BY k{having}"
        made = self.test("a", 1) if self.random.random() < 0.3 else self.value("a")
        made = self.array() if self.random.random() < 0.3 else made
        value = f", {made} AS x" if self.random.random() < 0.5 else ""
        return f"SELECT k, v, n{value} {source}"

    def aggregated(self, source: str) -> str:
        """Return a query with subqueries in the arguments of aggregates, of groups or OVER rows."""
        random = self.random
        made = random.choice(
            (
                f"SUM(CASE WHEN {self.test('a', 1)} THEN a.n ELSE 0 END)",
                f"COUNT(*) FILTER (WHERE {self.test('a', 1)})",
                f"MAX({self.value('a')})",
                f"COUNT(DISTINCT {self.value('a')})",
            )
        )
        if random.random() < 0.5 and "DISTINCT" not in made:
            order = random.choice(("", f" ORDER BY {self.value('a')}"))
            return f"SELECT k, v, n, {made} OVER (PARTITION BY k{order}) AS x {source}"
        keys = random.choice(("k", "k, v", "GROUPING SETS ((k), (v))"))
        having = f" HAVING {made} IS NOT NULL" if random.random() < 0.3 else ""
        return f"SELECT MAX(n) AS n, {made} AS x {source} GROUP BY {keys}{having}"

    def column(self, table: str) -> str:
        """Return a column of a table."""
        return f"{table}.{self.random.choice('kvn')}"

    def plain(self, table: str) -> str:
        """Return a condition on one table."""
        return f"{self.column(table)} {self.random.choice(('>', '=', '<>'))} {self.random.choice('01')}"

    def condition(self) -> str:
        """Return IN or EXISTS, by itself or under OR."""
        if self.random.random() < 0.7:
            return self.test("a", 0)
        return f"({self.plain('a')} OR {self.test('a', 1)})"

    def not_(self) -> str:
        """Return NOT or nothing."""
        return self.random.choice(("", "NOT "))

    def test(self, outer: str, depth: int) -> str:
        """Return IN or EXISTS, or a comparison with ANY or ALL."""
        not_ = self.not_()
        if self.random.random() < 0.4:
            return f"{not_}EXISTS ({self.subquery(outer, '*', depth)})"
        if self.random.random() < 0.1:
            columns = f"({outer}.n, 1)", "n, n"
        else:
            columns = self.random.choice((f"{outer}.v", f"{outer}.n", f"{outer}.v + 1", "1")), ""
        inner = columns[1] or self.random.choice("kvn")
        if not columns[1] and self.random.random() < 0.5:
            sign = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
            quantified = f"{columns[0]} {sign} {self.random.choice(('ANY', 'ALL'))}"
            return f"{not_}{quantified} ({self.subquery(outer, inner, depth)})"
        return f"{columns[0]} {not_}IN ({self.subquery(outer, inner, depth)})"

    def value(self, outer: str | None = None) -> str:
        """Return a subquery as a value: an aggregate, the first row, or the row of a key."""
        table, alias = self.random.choice(TABLES), f"s{self.aliases}"
        self.aliases += 1
        if self.random.random() < 0.15:
            where = ""
            if outer is not None:
                where = (
                    f" WHERE {self.column(alias)} {self.random.choice('=<')} {self.column(outer)}"
                )
            return f"(SELECT v FROM {table} AS {alias}{where} ORDER BY v NULLS LAST LIMIT 1)"
        if outer is not None and self.random.random() < 0.1:
            return (
                f"(SELECT MAX(e.y) + {outer}.k FROM UNNEST(ARRAY[{outer}.n, {outer}.v]) AS e (y))"
            )
        where = ""
        if outer is not None and self.random.random() < 0.7:
            compared = self.random.choice(("=", "<", "<>"))
            where = f" WHERE {self.column(alias)} {compared} {self.column(outer)}"
            if self.random.random() < 0.2:
                where += f" AND {self.column(alias)} >= {self.column(outer)}"
            where += f" AND {self.plain(outer)}" if self.random.random() < 0.2 else ""
            if self.random.random() < 0.1:
                more = self.random.choice(("", f" AND {alias}.m > {outer}.n"))
                groups = f"SELECT k, MAX(n) AS m FROM {table} GROUP BY k"
                return f"(SELECT m FROM ({groups}) AS {alias} WHERE {alias}.k = {outer}.v{more})"
        if self.random.random() < 0.3:
            where += f"{' AND' if where else ' WHERE'} {self.plain(alias)}"
        items = ["COUNT(*)", "MAX(v)", "SUM(n)", "COUNT(v) + MIN(n)", "COALESCE(MIN(v), COUNT(*))"]
        if outer is not None and self.random.random() < 0.4:
            other = self.column(outer)
            items = [
                f"COUNT(v) + {other}",
                f"MAX({alias}.v) - {other}",
                f"SUM({alias}.n + {other})",
            ]
        item = self.random.choice(items)
        having = " HAVING COUNT(*) <> 1" if self.random.random() < 0.1 else ""
        return f"(SELECT {item} FROM {table} AS {alias}{where}{having})"

    def array(self) -> str:
        """Return ARRAY of a subquery in an order in which equal values alone tie."""
        order = f"ORDER BY s.v {self.random.choice(('DESC ', ''))}NULLS LAST"
        if self.random.random() < 0.3:
            chosen = self.random.choice(("DISTINCT s.v", "s.v"))
            limit = self.random.choice(("", " LIMIT 2"))
            return f"ARRAY(SELECT {chosen} FROM b AS s {order}{limit})"
        compared = self.random.choice(("=", "<"))
        where = f"{self.column('s')} {compared} {self.column('a')}"
        return f"ARRAY(SELECT s.v FROM b AS s WHERE {where} {order})"

    def lateral(self) -> str:
        """Return the join of a, or of a and another table, with a LATERAL subquery."""
        join = self.random.choice((", LATERAL ({}) AS x", " CROSS JOIN LATERAL ({}) AS x"))
        if self.random.random() < 0.7:
            kind = self.random.choice((" LEFT", " LEFT", ""))
            on = ("TRUE", "TRUE", f"x.x0 > {self.column('a')}", f"x.x1 = a.n AND {self.plain('a')}")
            join = f"{kind} JOIN LATERAL ({{}}) AS x ON {self.random.choice((*on, 'x.x0 IS NULL'))}"
        columns = ", ".join(f"x.x{place}" for place in range(2))
        source = "a"
        if self.random.random() < 0.15:
            source = "a JOIN c ON c.n = a.n"
        joined = join.format(self.lateral_subquery())
        if self.random.random() < 0.2:
            again = f"SELECT COUNT(*) AS m FROM b AS z WHERE z.n {self.random.choice('=<')} x.x0"
            joined += f", LATERAL ({again}) AS y"
            columns += ", y.m"
        where = f" WHERE {self.plain('a')}" if self.random.random() < 0.3 else ""
        return f"SELECT a.k, a.v, a.n, {columns} FROM {source}{joined}{where}"

    def lateral_subquery(self) -> str:
        """Return a subquery with two columns: plain, aggregated, grouped, distinct, or of the first rows."""
        random, table = self.random, self.random.choice(TABLES)
        conditions = []
        if random.random() < 0.8:
            equal = random.choice(("=", "=", "=", "<", "IS NOT DISTINCT FROM"))
            conditions.append(f"{self.column('s')} {equal} {self.column('a')}")
        if random.random() < 0.2:
            conditions.append(f"{self.column('s')} <= {self.column('a')}")
        conditions += [self.plain("s")] if random.random() < 0.3 else []
        conditions += [self.plain("a")] if random.random() < 0.2 else []
        random.shuffle(conditions)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = f"FROM {table} AS s{where}"
        one = random.choice(("s.v", "s.n", "s.v", "s.v + a.n", "COALESCE(s.k, 2)"))
        having = random.choice(("", "", " HAVING COUNT(*) > 1"))
        first = f" ORDER BY x0 NULLS LAST, x1 NULLS LAST LIMIT {random.choice('12')}"
        count = random.choice(("COUNT(*)", "MAX(s.v)", "COUNT(s.v) + MIN(s.n)", "SUM(a.n + s.k)"))
        with_outer = "a." in count
        elements = "UNNEST(ARRAY[a.n, a.v]) AS e (y)"
        return random.choice(
            (
                f"SELECT {one} AS x0, s.k AS x1 {rows}",
                f"SELECT {one} AS x0, s.k AS x1 {rows}{first}",
                f"SELECT {one} AS x0, s.k AS x1 {rows}{first} OFFSET 1",
                f"SELECT DISTINCT {one} AS x0, s.k AS x1 {rows}",
                f"SELECT DISTINCT ON (s.k) {one} AS x0, s.k AS x1 {rows} ORDER BY s.k, x0 NULLS LAST",
                f"SELECT {count} AS x0, COUNT(*) AS x1 {rows}{having}",
                f"SELECT {count} AS x0, COUNT(*){'' if with_outer else ' + a.n'} AS x1 {rows}",
                f"SELECT {one} AS x0, {count} AS x1 {rows} GROUP BY {one}{having}",
                f"SELECT {one} AS x0, {count} AS x1 {rows} GROUP BY {one}{having}{first}",
                f"SELECT {one} AS x0, ROW_NUMBER() OVER (ORDER BY {one}, s.v, s.n) AS x1 {rows}",
                self.parts(f"SELECT {one} AS x0, s.k AS x1 {rows}"),
                self.parts(f"SELECT {one} AS x0, s.k AS x1 {rows}") + first,
                self.parts(f"SELECT {count} AS x0, COUNT(*) AS x1 {rows}"),
                f"WITH w AS (SELECT * FROM {table}) SELECT {one} AS x0, s.k AS x1 FROM w AS s{where}",
                f"SELECT {one} AS x0, e.y AS x1 FROM {elements} JOIN {table} AS s ON s.n = e.y",
                f"SELECT {count} AS x0, COUNT(e.y) AS x1 FROM {elements}, {table} AS s WHERE s.n = e.y",
                f"SELECT x0, x1 FROM (SELECT {one} AS x0, s.k AS x1 {rows}) AS d WHERE d.x0 >= a.n",
            )
        )

    def parts(self, first: str) -> str:
        """Return a set operation of one SELECT and others."""
        operator = self.random.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        other = self.random.choice(
            (
                "SELECT s.v, s.k FROM b AS s",
                f"SELECT s.v, s.n FROM b AS s WHERE {self.column('s')} = {self.column('a')}",
                "SELECT a.n, a.k",
                "SELECT MAX(s.n), a.k FROM b AS s WHERE s.k < a.n",
            )
        )
        return f"{first} {operator} {other}"

    def subquery(self, outer: str, items: str, depth: int) -> str:
        """Return a SELECT, mostly correlated."""
        table, alias = self.random.choice(TABLES), f"s{self.aliases}"
        self.aliases += 1
        if items != "*" and "," not in items and self.random.random() < 0.15:
            return f"SELECT {items} FROM {table} GROUP BY {items} HAVING COUNT(*) > 1"
        if self.random.random() < 0.15:
            rows = f"FROM {table} AS {alias} WHERE {self.column(alias)} = {self.column(outer)}"
            if self.random.random() < 0.5 and "," not in items:
                key = "k" if items == "*" else items
                return f"SELECT {alias}.{key} {rows} GROUP BY {alias}.{key} HAVING COUNT(*) > 1"
            return f"SELECT {items} {rows} UNION SELECT {items} FROM b"
        if items != "*" and "," not in items and self.random.random() < 0.2:
            items = f"{self.column(alias)} + {self.column(outer)}"
        conditions = self.conditions(alias, outer, depth)
        self.random.shuffle(conditions)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {items} FROM {table} AS {alias}{where}"

    def conditions(self, alias: str, outer: str, depth: int) -> list[str]:
        """Return conditions of a subquery, some of which name the outer query, or the one around that."""
        conditions: list[str] = []
        if self.random.random() < 0.6:
            equal = self.random.choice(("=", "=", "=", "<=", "IS NOT DISTINCT FROM"))
            conditions.append(f"{self.column(alias)} {equal} {self.column(outer)}")
            if depth and self.random.random() < 0.3:
                conditions.append(f"{self.column(alias)} = {self.column('a')}")
            if self.random.random() < 0.3:
                conditions.append(f"{self.column(alias)} < {self.column(outer)}")
        if self.random.random() < 0.2:
            conditions.append(self.plain(outer))
        if self.random.random() < 0.4:
            conditions.append(self.plain(alias))
        if depth < 1 and self.random.random() < 0.2:
            conditions.append(self.test(self.random.choice((alias, outer)), depth + 1))
        return conditions
