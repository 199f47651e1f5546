"""Aggregate calls with what their functions need, and what is read of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import OF_TWO, AggregateCall, AggregateFunction, Call, Literal
from fsql.compiler.sqltypes import BIGINT, Kind

if TYPE_CHECKING:
    from random import Random

    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType

F = AggregateFunction
ORDERED: Final = frozenset({F.ARRAY_AGG, F.FIRST_VALUE, F.LAST_VALUE})
DRAWN_FUNCTIONS: Final = [function for function in F if function is not F.M4]
"""The functions of drawn plans; `test_m4` draws the calls of M4."""
PERCENTILES: Final = frozenset({F.PERCENTILE_CONT, F.PERCENTILE_DISC})


def drawn_call(
    random: Random,
    function: AggregateFunction,
    argument: Expression | None,
    result: SqlType | None,
    *,
    retractable: bool,
    single: bool = False,
) -> AggregateCall | None:
    """Return a call; None if the function does not take the argument, or is none of GROUP BY.

    With `retractable` it does not go by the order of rows; with `single` it has one argument.
    """
    if result is None or function is F.MATCH_RECOGNIZE:
        return None
    distinct = argument is not None and function not in ORDERED and random.random() < 0.2
    others: tuple[Expression, ...] = ()
    directions: tuple[tuple[bool, bool], ...] = ()
    parameter = random.choice((0.0, 0.25, 0.5, 0.9, 1.0)) if function in PERCENTILES else None
    if function in OF_TWO:
        if single or argument is None or argument.type.kind not in {Kind.BIGINT, Kind.DOUBLE}:
            return None
        others, distinct = (argument,), False
    elif (
        function in ORDERED
        and argument is not None
        and not single
        and (retractable or random.random() < 0.5)
    ):
        others = (argument,)
        directions = ((random.random() < 0.5, random.random() < 0.5),)
    if function is F.PERCENTILE_DISC and argument is not None and not single:
        # PERCENTILE_DISC with DESC.
        others, directions = random.choice((((), ()), ((argument,), ((True, True),))))
    if function in ORDERED and single and retractable:
        return None
    return AggregateCall(
        function,
        argument,
        result,
        nullable=True,
        distinct=distinct,
        others=others,
        directions=directions,
        parameter=parameter,
    )


def whole_or_slice(random: Random, column: Expression) -> Expression:
    """Return a column; of an array sometimes only the first or the last elements."""
    if column.type.element is None or random.random() < 0.5:
        return column
    first, number = (
        Literal(BIGINT, nullable=False, value=each) for each in (1, random.choice((1, 2, 3)))
    )
    last = Literal(BIGINT, nullable=False, value=-random.choice((1, 2)))
    bounds = random.choice(((first, number), (last,)))
    return Call(column.type, column.nullable, "array_slice", (column, *bounds))
