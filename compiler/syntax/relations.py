"""The relations of FROM: tables, subqueries, table functions and joins."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import Syntax

if TYPE_CHECKING:
    from fsql.compiler.syntax import Expression, Relation
    from fsql.compiler.syntax.expressions import IntervalLiteral
    from fsql.compiler.syntax.names import Identifier, QualifiedName
    from fsql.compiler.syntax.queries import Query
    from fsql.compiler.syntax.statements import Hint


@dataclass(frozen=True, slots=True)
class TableAlias(Syntax):
    """`AS t(a, b)`; without columns the relation keeps its own names."""

    name: Identifier
    columns: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class TableReference(Syntax):
    """A table, view or CTE; with `system_time`, `FOR SYSTEM_TIME AS OF …`.

    With `is_file`, it is a file, whose path is the name.
    """

    name: QualifiedName
    system_time: Expression | None = None
    alias: TableAlias | None = None
    is_file: bool = False
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived(Syntax):
    """`[LATERAL] (query) AS t`."""

    query: Query
    lateral: bool
    alias: TableAlias | None = None


@dataclass(frozen=True, slots=True)
class Unnest(Syntax):
    """`UNNEST(array, …) [WITH ORDINALITY] AS t(a, b)`; `others` are the arrays after the first.

    With `whole`, an element that is a ROW is one column.
    """

    array: Expression
    ordinality: bool
    alias: TableAlias | None = None
    others: tuple[Expression, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TableArgument(Syntax):
    """`TABLE x [PARTITION BY …]`, or `TABLE (query)`, as an argument of a table function."""

    table: QualifiedName | Query
    partition_by: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Descriptor(Syntax):
    """`DESCRIPTOR(column, …)` as an argument of a table function."""

    columns: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class NamedArgument(Syntax):
    """`SIZE => INTERVAL '1' HOUR` as an argument of a table function."""

    name: Identifier
    value: Expression | TableArgument | Descriptor


@dataclass(frozen=True, slots=True)
class TableFunction(Syntax):
    """`[LATERAL] TABLE(HOP(TABLE x, DESCRIPTOR(c), …)) [WITH ORDINALITY]` or `HOP(x, c, …)`.

    In the short form, table and column are ColumnReferences: the binder determines their meaning by the
    function.
    """

    name: QualifiedName
    arguments: tuple[Expression | TableArgument | Descriptor | NamedArgument, ...]
    lateral: bool
    alias: TableAlias | None = None
    ordinality: bool = False


JoinKind = OneOf["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "CROSS", "ASOF", "ASOF LEFT"]


@dataclass(frozen=True, slots=True)
class Within(Syntax):
    """`WITHIN 1 HOUR`, or `WITHIN (1 HOUR, 10 MINUTES) [GRACE PERIOD 1 MINUTE]`."""

    before: IntervalLiteral
    after: IntervalLiteral
    grace: IntervalLiteral | None = None


@dataclass(frozen=True, slots=True)
class JoinClause(Syntax):
    """`kind JOIN right ON condition`, or USING columns; the span begins at the kind.

    With `within`, the event time of a row of the right is at most so long before and after that of the left.
    """

    kind: JoinKind
    right: Relation
    condition: Expression | None
    using: tuple[Identifier, ...]
    natural: bool
    within: Within | None = None


@dataclass(frozen=True, slots=True)
class Joined(Syntax):
    """`first JOIN a … JOIN b …`, applied from the left."""

    first: Relation
    joins: tuple[JoinClause, ...]
