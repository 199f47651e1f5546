"""Bound scalar expressions: typed, resolved to column indexes, free of names and spans.

An expression is evaluated over one row of its operator's input.  It either has a value or *fails*
(division by zero, overflow, an impossible cast): a failure belongs to the row, and the row then
becomes an error row at its position.  Evaluation is lazy by row exactly where SQL text
suggests it; this is part of the meaning, not an optimisation:

* `and`, `or` evaluate left to right; the right side cannot fail a row that the left side decided
  (FALSE AND x, TRUE OR x).  A NULL left side decides nothing.
* `Case` evaluates a condition only on rows that no earlier branch took, and a branch only on the rows
  that took it.
* `coalesce` evaluates an argument only on rows where all earlier ones were NULL.

Everything else fails if any argument fails (the leftmost failing argument is the one reported), and
is NULL if any argument is NULL, unless the function's row in the table states otherwise.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from fsql.compiler.node import Node, walk
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.row_pattern import RowPattern
    from fsql.compiler.sqltypes import SqlType

Value = bool | int | float | str | tuple["Value", ...] | None
"""A SQL value outside of Arrow; `fsql.compiler.sqltypes` lists the Python types."""


@dataclass(frozen=True, eq=False)
class Expression(Node):
    """The base of bound expressions; every one has a `type` and states whether it may be NULL."""

    type: SqlType
    nullable: bool


@dataclass(frozen=True, eq=False)
class ColumnRef(Expression):
    """The value of the input column at `index`."""

    index: int


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A constant."""

    value: Value


@dataclass(frozen=True, eq=False)
class Call(Expression):
    """A call of a scalar function or operator, by its name in `fsql.compiler.functions`.

    The arguments already have the types of one signature in that table: coercions are explicit.
    """

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Cast(Expression):
    """`CAST(argument AS type)`; also every implicit coercion, which never fails."""

    argument: Expression


@dataclass(frozen=True, eq=False)
class TryCast(Expression):
    """`TRY_CAST(argument AS type)`: NULL where the cast fails; a failure of `argument` remains one."""

    argument: Expression


@dataclass(frozen=True, eq=False)
class Case(Expression):
    """`CASE WHEN condition THEN result … ELSE otherwise END`; results have the type of the whole."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, eq=False)
class FieldAccess(Expression):
    """The field at `index` of `argument`, a ROW; NULL where the row is NULL."""

    argument: Expression
    index: int


@dataclass(frozen=True, eq=False)
class InSet(Expression):
    """Whether `argument` is, or `negated` is not, equal to one of `values`: `x IN (1, 2, 3)`.

    The values, in their written order, are constants of the argument's type, which has no parts.  The result
    is NULL if the argument is, and if it is equal to none of them while one of them is NULL.
    """

    argument: Expression
    values: tuple[Value, ...]
    negated: bool = False


class LambdaFunction(enum.Enum):
    """The functions that take a lambda; the member's value is the name in plans."""

    TRANSFORM = "TRANSFORM"
    FILTER = "FILTER"
    ANY_MATCH = "ANY_MATCH"
    REDUCE = "REDUCE"


@dataclass(frozen=True)
class LambdaBody:
    """The expression after the arrow of a lambda.

    Its columns are the parameters, and then what the call has `captured`.  It is not a node, so that what
    looks for the columns of an expression, or replaces them, does not enter it.
    """

    expression: Expression


@dataclass(frozen=True, eq=False)
class LambdaCall(Expression):
    """A lambda applied to the elements of an array, the first of `arguments`, in their order.

    `captured` are evaluated once a row, like the arguments and after them; NULL of a NULL array.
    The others are evaluated for every element, and the first that fails fails the row.

    * TRANSFORM is the array of the values of the body, FILTER that of the elements on which it is TRUE.
    * ANY_MATCH is TRUE if the body is TRUE on any element, else NULL if it is NULL on any, else FALSE.
    * REDUCE begins with the second argument, and replaces it by the body over it and each element.
    """

    function: LambdaFunction
    arguments: tuple[Expression, ...]
    captured: tuple[Expression, ...]
    body: LambdaBody


def walk_with_bodies(node: Node) -> Iterator[Node]:
    """Yield what `walk` does, and the nodes of the bodies of lambdas."""
    for each in walk(node):
        yield each
        if isinstance(each, LambdaCall):
            yield from walk_with_bodies(each.body.expression)


class AggregateFunction(enum.Enum):
    """The aggregate functions; the member's value is the name in SQL."""

    COUNT = "COUNT"
    SUM = "SUM"
    MIN = "MIN"
    MAX = "MAX"
    AVG = "AVG"
    ARRAY_AGG = "ARRAY_AGG"
    VAR_POP = "VAR_POP"
    VAR_SAMP = "VAR_SAMP"
    STDDEV_POP = "STDDEV_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    COVAR_POP = "COVAR_POP"
    COVAR_SAMP = "COVAR_SAMP"
    CORR = "CORR"
    REGR_COUNT = "REGR_COUNT"
    REGR_AVGX = "REGR_AVGX"
    REGR_AVGY = "REGR_AVGY"
    REGR_SXX = "REGR_SXX"
    REGR_SYY = "REGR_SYY"
    REGR_SXY = "REGR_SXY"
    REGR_SLOPE = "REGR_SLOPE"
    REGR_INTERCEPT = "REGR_INTERCEPT"
    REGR_R2 = "REGR_R2"
    BIT_AND = "BIT_AND"
    BIT_OR = "BIT_OR"
    BIT_XOR = "BIT_XOR"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    MODE = "MODE"
    PERCENTILE_CONT = "PERCENTILE_CONT"
    PERCENTILE_DISC = "PERCENTILE_DISC"
    M4 = "M4"
    MATCH_RECOGNIZE = "MATCH_RECOGNIZE"
    PYTHON = "PYTHON"
    PROGRAM = "PROGRAM"


OF_ORDER: Final = frozenset(
    {
        AggregateFunction.MODE,
        AggregateFunction.PERCENTILE_CONT,
        AggregateFunction.PERCENTILE_DISC,
    }
)
"""The functions that need all values of a group in order."""

OF_TWO: Final = frozenset(
    {
        *(AggregateFunction.COVAR_POP, AggregateFunction.COVAR_SAMP, AggregateFunction.CORR),
        *(each for each in AggregateFunction if each.value.startswith("REGR_")),
    }
)
"""The functions of two numbers, `f(y, x)`."""


@dataclass(frozen=True, eq=False)
class AggregateCall(Node):
    """One aggregate over the rows of a group.

    `argument` is None for COUNT(*).  Rows whose argument is NULL are ignored, except by COUNT(*)
    and ARRAY_AGG.  Over no (non-NULL) rows COUNT is 0 and the others are NULL.  Results:
    COUNT BIGINT; SUM of INT or BIGINT is BIGINT (overflow is judged on the state after the group of
    changes), SUM of DOUBLE the correctly rounded exact sum; AVG is DOUBLE, the exact sum divided by
    the count, rounded once for integers and as `SUM / COUNT` in DOUBLE for DOUBLE; MIN, MAX and
    ARRAY_AGG have the argument's type.  With `distinct`, values that are equal count once.

    `others` are further arguments: the independent variable of CORR and its like, or the keys of ORDER BY,
    each with a direction (descending, NULLs first); rows that tie are ordered by the argument.  `parameter`
    is the fraction of a percentile; with it a FIRST_VALUE in the total order is NTH_VALUE, and a LAST_VALUE
    is the n-th last value; of ARRAY_AGG only the first values are read, or the last if it is negative, and
    others may be left out.  With `ignore_nulls` ARRAY_AGG ignores NULLs too.  MATCH_RECOGNIZE, which is a
    running aggregate only, has the measures of the matches of `pattern` that its last row decides, in their
    order; NULL if it decides none.

    With `by_position`, rows that tie by `directions` are in the total order.  M4 is over points, their values
    and, in `others`, their times: the first, the last, the least and the greatest one, or with a `chart`
    those of each of its columns, in the order of the line.  Points whose value or time is NULL or not finite
    are ignored.

    PYTHON has the accumulator of the function that is called `python` in plans, over one argument, the row of
    them if the function takes several.  The rows are accumulated in the total order, or `in_value_order`, as
    they are if rows are removed.  PROGRAM, which is a running aggregate only, has the value of the last event
    of the program that is called `python`, over the row of its tag and its columns.
    """

    function: AggregateFunction
    argument: Expression | None
    type: SqlType
    nullable: bool
    distinct: bool = False
    others: tuple[Expression, ...] = ()
    directions: tuple[tuple[bool, bool], ...] = ()
    parameter: float | None = None
    ignore_nulls: bool = False
    pattern: RowPattern | None = None
    python: str | None = None
    in_value_order: bool = False
    by_position: bool = False
    chart: tuple[int, ...] | None = None
    """Of M4: the time at which the chart begins and that at which it ends, as integers of the type of times,
    its width in pixels, and its height; without a height, points have their times and values."""

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """Return all arguments; none for COUNT(*)."""
        return self.others if self.argument is None else (self.argument, *self.others)
