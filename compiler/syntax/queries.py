"""Queries: SELECT and its clauses, VALUES, set operations, WITH."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import Syntax

if TYPE_CHECKING:
    from fsql.compiler.syntax import Expression, QueryBody, Relation
    from fsql.compiler.syntax.calls import Star, WindowSpecification
    from fsql.compiler.syntax.expressions import RowConstructor
    from fsql.compiler.syntax.names import Identifier
    from fsql.compiler.syntax.statements import Hint


@dataclass(frozen=True, slots=True)
class SelectItem(Syntax):
    """`expression [AS alias]`.

    `name` is that of an expression without an alias for which this one stands, and is not written.
    """

    expression: Expression
    alias: Identifier | None
    name: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OrderItem(Syntax):
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`; `nulls_first` is None if it is not given."""

    expression: Expression
    descending: bool
    nulls_first: bool | None


GroupingKind = OneOf["GROUPING SETS", "CUBE", "ROLLUP"]


@dataclass(frozen=True, slots=True)
class GroupingSets(Syntax):
    """`GROUPING SETS (…)`, `CUBE (…)`, `ROLLUP (…)`; `(a, b)` inside is one set, and so is `a`."""

    kind: GroupingKind
    sets: tuple[tuple[Expression, ...] | GroupingSets, ...]


@dataclass(frozen=True, slots=True)
class NamedWindow(Syntax):
    """`name AS (…)` in a WINDOW clause."""

    name: Identifier
    window: WindowSpecification


@dataclass(frozen=True, slots=True)
class Emit(Syntax):
    """`EMIT CHANGES`, `EMIT FINAL`: when the SELECT before it releases its rows."""

    mode: OneOf["CHANGES", "FINAL"]


@dataclass(frozen=True, slots=True)
class Select(Syntax):
    """One SELECT.  `relations` are those between commas in FROM, empty without FROM.

    `group_by` is None without GROUP BY, and `()` for `GROUP BY ()`: one group.  `distinct_on` are the
    expressions of `DISTINCT ON (…)`, with which `distinct` is False.  With `group_by_all` it is GROUP BY ALL,
    and `group_by` is empty.  `repartition` are the keys of PARTITION BY behind GROUP BY.
    """

    distinct: bool
    items: tuple[SelectItem | Star, ...]
    relations: tuple[Relation, ...] = ()
    where: Expression | None = None
    group_by: tuple[Expression | GroupingSets, ...] | None = None
    having: Expression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: Expression | None = None
    emit: Emit | None = None
    distinct_on: tuple[Expression, ...] = ()
    hints: tuple[Hint, ...] = ()
    group_by_all: bool = False
    repartition: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Values(Syntax):
    """`VALUES (a, b), (c, d)`."""

    rows: tuple[RowConstructor, ...]


SetOperator = OneOf["UNION", "INTERSECT", "EXCEPT"]


@dataclass(frozen=True, slots=True)
class SetTerm(Syntax):
    """`UNION ALL right`; the span begins at the operator."""

    operator: SetOperator
    all: bool
    right: QueryBody


@dataclass(frozen=True, slots=True)
class SetOperation(Syntax):
    """`first UNION a EXCEPT b`, applied from the left; INTERSECT, which has higher precedence, is inside."""

    first: QueryBody
    terms: tuple[SetTerm, ...]


@dataclass(frozen=True, slots=True)
class CommonTable(Syntax):
    """`name(columns) AS (query)` in WITH."""

    name: Identifier
    columns: tuple[Identifier, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Query(Syntax):
    """`WITH … body ORDER BY … LIMIT … OFFSET …`."""

    body: QueryBody
    common_tables: tuple[CommonTable, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None
