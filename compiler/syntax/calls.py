"""Calls of functions, and windows of OVER."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from typing import Literal as OneOf

from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import QualifiedName, Syntax

if TYPE_CHECKING:
    from fsql.compiler.syntax import Expression
    from fsql.compiler.syntax.expressions import LongUnit, Unit
    from fsql.compiler.syntax.names import Identifier, TypeName
    from fsql.compiler.syntax.queries import OrderItem, SelectItem
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class Star(Syntax):
    """`*` or `t.*`, in a select list or as the argument of COUNT.

    `without` are the columns of EXCLUDE or EXCEPT, `replaced` the items of REPLACE.  `relations` are those
    that are written before the columns, None where there is none; it may be shorter than `without`.
    """

    qualifier: tuple[Identifier, ...] = ()
    without: tuple[Identifier, ...] = ()
    replaced: tuple[SelectItem, ...] = ()
    relations: tuple[Identifier | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Lambda(Syntax):
    """`x -> a`, `(x, y) -> a`, with `=>` as well: an argument of the functions in `TAKE_LAMBDAS`."""

    parameters: tuple[Identifier, ...]
    body: Expression


TAKE_LAMBDAS: Final = frozenset(
    {
        *("TRANSFORM", "LIST_TRANSFORM", "ARRAY_TRANSFORM", "LIST_APPLY", "ARRAY_APPLY"),
        *("FILTER", "LIST_FILTER", "ARRAY_FILTER", "REDUCE", "LIST_REDUCE", "ARRAY_REDUCE"),
        *("ANY_MATCH", "ALL_MATCH", "NONE_MATCH"),
        *("TRANSFORM_KEYS", "TRANSFORM_VALUES", "MAP_FILTER"),
    }
)
"""The functions after whose first argument `x ->` begins a lambda; for others `->` is an access to JSON."""


@dataclass(frozen=True, slots=True)
class FunctionCall(Syntax):
    """`f([DISTINCT] a, … [ORDER BY …]) [FILTER (WHERE p)] [IGNORE | RESPECT NULLS] [OVER …]`.

    Forms with keywords inside are calls, too: `SUBSTRING(s FROM 2 FOR 3)` is SUBSTRING(s, 2, 3), `POSITION(a
    IN b)` is POSITION(a, b), CURRENT_TIMESTAMP a call without arguments.
    """

    name: QualifiedName
    arguments: tuple[Expression | Star, ...]
    distinct: bool = False
    order_by: tuple[OrderItem, ...] = ()
    filter: Expression | None = None
    ignore_nulls: bool = False
    respect_nulls: bool = False
    over: WindowSpecification | Identifier | None = None

    @property
    def has_clauses(self) -> bool:
        """Return whether there is more than the arguments: DISTINCT, FILTER, OVER and the like."""
        return self != FunctionCall(self.span, self.name, self.arguments)

    @classmethod
    def of(cls, span: Span, name: str, *arguments: Expression | Star) -> FunctionCall:
        """Return `name(a, …)`, all at one place of the text."""
        return cls(span, QualifiedName.of(span, name), arguments)


JsonEvent = OneOf["EMPTY", "ERROR"]


@dataclass(frozen=True, slots=True)
class JsonClause(Syntax):
    """`NULL ON EMPTY`, `ERROR ON ERROR`, `DEFAULT value ON EMPTY`; `word` is what it begins with.

    Of `EMPTY ARRAY` and `EMPTY OBJECT` it is the second word.
    """

    event: JsonEvent
    word: str
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class JsonAccess(Syntax):
    """`JSON_VALUE(j, path [RETURNING type] clauses)`; also JSON_QUERY and JSON_EXISTS, which have no type."""

    call: FunctionCall
    returned: TypeName | None
    clauses: tuple[JsonClause, ...]


@dataclass(frozen=True, slots=True)
class Extract(Syntax):
    """`EXTRACT(unit FROM a)`; the unit is a word such as DOW, in upper case."""

    unit: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class RoundTime(Syntax):
    """`FLOOR(a TO unit)`, `CEIL(a TO unit)`."""

    direction: OneOf["FLOOR", "CEIL"]
    operand: Expression
    unit: Unit | LongUnit


TrimSide = OneOf["BOTH", "LEADING", "TRAILING"]


@dataclass(frozen=True, slots=True)
class Trim(Syntax):
    """`TRIM([BOTH | LEADING | TRAILING] [characters] FROM a)`; the plain form is a FunctionCall."""

    side: TrimSide
    characters: Expression | None
    operand: Expression


@dataclass(frozen=True, slots=True)
class WindowSpecification(Syntax):
    """`(PARTITION BY … ORDER BY … frame)`, in OVER or in a WINDOW clause; `base` names another window."""

    base: Identifier | None
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None


FrameUnit = OneOf["ROWS", "RANGE", "GROUPS"]
FrameSide = OneOf["PRECEDING", "CURRENT ROW", "FOLLOWING"]
FrameExclusion = OneOf["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"]


@dataclass(frozen=True, slots=True)
class Frame(Syntax):
    """`ROWS BETWEEN start AND end`; without BETWEEN, `end` is None and means the current row."""

    unit: FrameUnit
    start: FrameBound
    end: FrameBound | None
    excluded: FrameExclusion | None = None


@dataclass(frozen=True, slots=True)
class FrameBound(Syntax):
    """One end of a frame; `offset` is None for UNBOUNDED and CURRENT ROW."""

    side: FrameSide
    offset: Expression | None
