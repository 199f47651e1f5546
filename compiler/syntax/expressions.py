"""Expressions without calls: values, operators, subqueries, CASE and CAST."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import Syntax

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.syntax import Expression
    from fsql.compiler.syntax.names import Identifier, TypeName
    from fsql.compiler.syntax.queries import Query

# Values.


@dataclass(frozen=True, slots=True)
class ColumnReference(Syntax):
    """`a`, `t.a`, `t.a.field`: only the binder determines which parts are table, column and fields."""

    parts: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class NumberLiteral(Syntax):
    """A number without its sign, as written: its form determines whether it is exact."""

    text: str


@dataclass(frozen=True, slots=True)
class StringLiteral(Syntax):
    """A string; `value` is unescaped."""

    value: str


@dataclass(frozen=True, slots=True)
class BytesLiteral(Syntax):
    """`X'0aff'`; the parser does not check the digits."""

    digits: str


@dataclass(frozen=True, slots=True)
class BooleanLiteral(Syntax):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class NullLiteral(Syntax):
    """NULL."""


TimeType = OneOf["TIMESTAMP", "TIMESTAMP_LTZ", "DATE", "TIME"]


@dataclass(frozen=True, slots=True)
class TimeLiteral(Syntax):
    """`TIMESTAMP '2024-01-31 23:59:59'`, `DATE '…'`, `TIME '…'`; the parser does not check the text."""

    type: TimeType
    value: StringLiteral


Unit = OneOf[
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
]
"""Units of time; in the text they can also be plural."""

LongUnit = OneOf["DECADE", "CENTURY", "MILLENNIUM"]
"""Units to which times are rounded, and that no interval has."""


@dataclass(frozen=True, slots=True)
class IntervalLiteral(Syntax):
    """`INTERVAL '4' SECOND`, `INTERVAL '1:30' HOUR TO MINUTE`; the parser does not check the text.

    `unit` is None if the text contains the units: `INTERVAL '4 seconds'`.
    """

    value: StringLiteral
    unit: Unit | None
    to: Unit | None = None
    negative: bool = False


@dataclass(frozen=True, slots=True)
class ArrayConstructor(Syntax):
    """`ARRAY[a, b]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class RowConstructor(Syntax):
    """`ROW(a, b)` or `(a, b)`; `STRUCT(x := a, y := b)` has the names of the fields."""

    items: tuple[Expression, ...]
    names: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class MapConstructor(Syntax):
    """`MAP['k', v, …]`: keys and values in turn, as written."""

    items: tuple[Expression, ...]


# Operators.


Sign = OneOf["-", "+", "~"]


@dataclass(frozen=True, slots=True)
class Unary(Syntax):
    """`-a`, `+a`, `~a`."""

    operator: Sign
    operand: Expression


ChainOperator = OneOf["+", "-", "||", "&", "|", "#", "<<", ">>", "*", "/", "%", "^"]


@dataclass(frozen=True, slots=True)
class ChainLink(Syntax):
    """An operator and its right operand."""

    operator: ChainOperator
    operand: Expression


@dataclass(frozen=True, slots=True)
class Chain(Syntax):
    """`first + a - b`: operators of one precedence, applied from the left."""

    first: Expression
    links: tuple[ChainLink, ...]


@dataclass(frozen=True, slots=True)
class Not(Syntax):
    """`NOT p`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Logical(Syntax):
    """`p AND q AND …` or `p OR q OR …`, with two or more operands."""

    operator: OneOf["AND", "OR"]
    operands: tuple[Expression, ...]


ComparisonOperator = OneOf["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Comparison(Syntax):
    """`a < b`; `!=` is `<>`."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class IsDistinct(Syntax):
    """`a IS [NOT] DISTINCT FROM b`."""

    left: Expression
    right: Expression
    negated: bool


IsValue = OneOf["NULL", "TRUE", "FALSE", "UNKNOWN"]


@dataclass(frozen=True, slots=True)
class Is(Syntax):
    """`a IS [NOT] NULL`, and TRUE, FALSE, UNKNOWN."""

    operand: Expression
    value: IsValue
    negated: bool


@dataclass(frozen=True, slots=True)
class Between(Syntax):
    """`a [NOT] BETWEEN [SYMMETRIC] low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool
    symmetric: bool


@dataclass(frozen=True, slots=True)
class InList(Syntax):
    """`a [NOT] IN (b, c)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class InSubquery(Syntax):
    """`a [NOT] IN (SELECT …)`."""

    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True, slots=True)
class QuantifiedComparison(Syntax):
    """`a < ANY (SELECT …)`; with `every`, `a < ALL (SELECT …)`."""

    operator: ComparisonOperator
    operand: Expression
    query: Query
    every: bool


@dataclass(frozen=True, slots=True)
class Exists(Syntax):
    """`EXISTS (SELECT …)`."""

    query: Query


@dataclass(frozen=True, slots=True)
class ArraySubquery(Syntax):
    """`ARRAY(SELECT …)`."""

    query: Query


@dataclass(frozen=True, slots=True)
class ScalarSubquery(Syntax):
    """`(SELECT …)` as a value."""

    query: Query


@dataclass(frozen=True, slots=True)
class Like(Syntax):
    """`a [NOT] LIKE pattern [ESCAPE e]`; with `ignore_case`, ILIKE."""

    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class LikeAny(Syntax):
    """`a [NOT] LIKE ANY (p, q)`; with `all_of`, LIKE ALL."""

    operand: Expression
    patterns: tuple[Expression, ...]
    all_of: bool
    negated: bool
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class WhenClause(Syntax):
    """`WHEN condition THEN result`; after `CASE a` there may be several conditions, `WHEN b, c`."""

    conditions: tuple[Expression, ...]
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Syntax):
    """`CASE [operand] WHEN … THEN … ELSE otherwise END`."""

    operand: Expression | None
    branches: tuple[WhenClause, ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Cast(Syntax):
    """`CAST(a AS type)`; with `safe`, TRY_CAST, which returns NULL if CAST fails."""

    operand: Expression
    type: TypeName
    safe: bool


@dataclass(frozen=True, slots=True)
class Subscript(Syntax):
    """`a[index]`."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class ArrowAccess(Syntax):
    """`row->field`; of a text with JSON, the value whose key the column `field` has."""

    operand: Expression
    field: Identifier


@dataclass(frozen=True, slots=True)
class EventTime(Syntax):
    """The event-time column of FROM, for a window that names no column; `grace` is its GRACE PERIOD."""

    grace: IntervalLiteral | None = None


@dataclass(frozen=True, slots=True)
class FieldAccess(Syntax):
    """`f(x).field`, `a[1].field`; after bare names the field is a part of the ColumnReference."""

    operand: Expression
    field: Identifier


@dataclass(frozen=True, slots=True)
class AtTimeZone(Syntax):
    """`a AT TIME ZONE zone`."""

    operand: Expression
    zone: Expression


@dataclass(frozen=True, slots=True)
class Refused(Syntax):
    """An expression that means nothing here, with what is said of it where it is bound."""

    diagnostic: Diagnostic
