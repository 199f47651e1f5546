"""Functions with OVER that read the value of one row: `LAG(x)`, `LEAD(x)`, `NTH_VALUE(x, 2)`.

LAG(x, n) is the FIRST_VALUE of the frame of one row, n rows before; its default is the value for frames
without a row. LEAD is the same with n rows after:

    CASE WHEN FIRST_VALUE(TRUE) OVER (… ROWS BETWEEN n PRECEDING AND n PRECEDING)
    THEN FIRST_VALUE(x) OVER (the same) ELSE default END

`LAG(x, n) IGNORE NULLS` is the n-th LAST_VALUE of the preceding rows, which ignores NULLs, and
`LEAD(x, n) IGNORE NULLS` the NTH_VALUE of all rows after, which later rows may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.over.frames import ROWS_MAX, whole_number
from fsql.compiler.binder.report import refusal
from fsql.compiler.bound.over import FOLLOWING_MAX
from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression, Literal
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.functions.calls import call, make_case
from fsql.compiler.logical import FrameEnd, OverCall
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.binder.expressions.clause import ClauseBinder


def bind_lag(
    binder: ClauseBinder,
    arguments: ClauseBinder,
    written: syntax.FunctionCall,
    name: str,
    run: Callable[[OverCall], Expression],
    run_after: Callable[[AggregateCall], Expression],
) -> Expression:
    """Return LAG or LEAD; `arguments` binds its argument.

    `run` returns the value of a running aggregate, and `run_after` that of an aggregate of all rows after.

    Raises:
        Refusal: E2xx to E4xx.
    """
    given = _expressions(written, name, (1, 2, 3))
    if written.ignore_nulls:
        least, most = 1, FOLLOWING_MAX
    else:
        least, most = 0, FOLLOWING_MAX if name == "LEAD" else ROWS_MAX
    number = _number(given[1], name, least, most) if len(given) > 1 else 1
    number = -number if name == "LEAD" else number

    def before(value: Expression) -> Expression:
        first = _one_value(arguments, value, written)
        return run(OverCall(first, FrameEnd.CURRENT_ROW, number, None, number))

    argument = arguments.bind_and_check_size(given[0])
    if written.ignore_nulls:
        nth = None if abs(number) == 1 else float(abs(number))
        if name == "LEAD":
            value = run_after(_one_value(arguments, argument, written, number=nth))
        else:
            last = _one_value(arguments, argument, written, AggregateFunction.LAST_VALUE, nth)
            value = run(OverCall(last, FrameEnd.ONE_PRECEDING))
    else:
        value = before(argument)
    if len(given) < 3:
        return value
    exists = (
        call("is_not_null", value)
        if written.ignore_nulls
        else before(Literal(BOOLEAN, nullable=False, value=True))
    )
    value, default = unify(
        [(value, given[0].span), (binder.bind(given[2]), given[2].span)],
        f"value and default of {name} are {{}} and {{}}",
    )
    return make_case([(exists, value)], default)


def nth_value(arguments: ClauseBinder, written: syntax.FunctionCall) -> AggregateCall:
    """Return the aggregate of NTH_VALUE.

    Raises:
        Refusal: E2xx to E4xx.
    """
    argument, number = _expressions(written, "NTH_VALUE", (2,))
    value = arguments.bind_and_check_size(argument)
    nth = float(_number(number, "NTH_VALUE", 1))
    return _one_value(arguments, value, written, number=nth)


def _one_value(
    arguments: ClauseBinder,
    value: Expression,
    written: syntax.FunctionCall,
    function: AggregateFunction = AggregateFunction.FIRST_VALUE,
    number: float | None = None,
) -> AggregateCall:
    result = aggregate_result(function, value.type)
    if result is None:
        name = written.name.parts[-1].name.upper()
        raise refusal("E401", f"{name} does not take {value.type}", written.arguments[0].span)
    made = AggregateCall(function, value, result, nullable=True, parameter=number)
    arguments.source_spans.add(made, written.span)
    return made


def _expressions(
    written: syntax.FunctionCall, name: str, counts: tuple[int, ...]
) -> list[syntax.Expression]:
    given = []
    for argument in written.arguments:
        if isinstance(argument, syntax.Star):
            raise refusal("E404", f"{name} does not take *", argument.span)
        given.append(argument)
    if len(given) not in counts:
        shown = "1 to 3" if len(counts) > 1 else str(counts[0])
        raise refusal(
            "E401", f"function {name} takes {shown} arguments, not {len(given)}", written.span
        )
    return given


def _number(written: syntax.Expression, name: str, least: int, most: int = ROWS_MAX) -> int:
    number = whole_number(written)
    if number is None or not least <= number <= most:
        raise refusal(
            "E405",
            f"the second argument of {name} must be a literal from {least} to {most:,}",
            written.span,
            help=f"write {name}(x, 2)",
        )
    return number
