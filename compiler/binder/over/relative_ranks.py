"""Ranks in proportion to the rows of a partition: NTILE, PERCENT_RANK and CUME_DIST.

They are computed from a rank and the number of rows of the whole partition:

    PERCENT_RANK()  =  (RANK() - 1) / (COUNT(*) of the partition - 1), 0 for a single row
    CUME_DIST()     =  (COUNT(*) of the partition - (RANK() in the opposite order - 1)) / that COUNT(*)
    NTILE(n)        =  the bucket of ROW_NUMBER(); the first have one more row if n does not divide them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.over.frames import whole_number
from fsql.compiler.binder.over.rank import refuse_frame
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import call, make_case
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.logical import RankFunction
from fsql.compiler.sqltypes import BIGINT, DOUBLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Expression


_ONE: Final = Literal(BIGINT, nullable=False, value=1)
_NONE: Final = Literal(DOUBLE, nullable=False, value=0.0)


def bind_relative_rank(
    written: syntax.FunctionCall,
    name: str,
    rank: Callable[[RankFunction], Expression],
    opposite: Callable[[], Expression],
    total: Expression,
) -> Expression:
    """Return the value from a rank, the RANK() in the `opposite` order, and the `total` of the partition.

    Raises:
        Refusal: E401, E405.
    """
    if name == "NTILE":
        return _bucket(rank(RankFunction.ROW_NUMBER), total, _buckets(written))
    if written.arguments:
        raise refusal("E401", f"function {name} takes no arguments", written.span)
    if name == "CUME_DIST":
        # What is after the row is before it in the opposite order; its peers are in neither.
        after = call("subtract", opposite(), _ONE)
        up_to = call("subtract", total, after)
        return call("divide", coerce(up_to, DOUBLE), coerce(total, DOUBLE))
    before = call("subtract", rank(RankFunction.RANK), _ONE)
    others = call("subtract", total, _ONE)
    share = call("divide", coerce(before, DOUBLE), coerce(others, DOUBLE))
    return make_case([(call("gt", total, _ONE), share)], _NONE)


def check_relative_rank(
    written: syntax.FunctionCall, name: str, window: syntax.WindowSpecification
) -> None:
    """Check the clauses of the function.

    Raises:
        Refusal: E404.
    """
    refuse_frame(name, window)
    if not window.order_by:
        raise refusal(
            "E404",
            f"function {name} requires ORDER BY",
            written.span,
            help=f"write {name}({'2' if name == 'NTILE' else ''}) OVER (… ORDER BY …)",
        )


def _buckets(written: syntax.FunctionCall) -> Expression:
    if len(written.arguments) != 1:
        raise refusal(
            "E401", f"function NTILE takes 1 argument, not {len(written.arguments)}", written.span
        )
    (argument,) = written.arguments
    number = None if isinstance(argument, syntax.Star) else whole_number(argument)
    if not number:
        raise refusal(
            "E405",
            "the argument of NTILE must be a literal from 1 to 1,000,000",
            argument.span,
            help="write NTILE(4)",
        )
    return Literal(BIGINT, nullable=False, value=number)


def _bucket(number: Expression, total: Expression, buckets: Expression) -> Expression:
    """Return the bucket of a row by its number; `greater` buckets have `size` + 1 rows."""
    before = call("subtract", number, _ONE)
    size, greater = call("divide", total, buckets), call("modulo", total, buckets)
    in_greater = call("multiply", greater, call("add", size, _ONE))
    first = call("divide", before, call("add", size, _ONE))
    # If the other buckets have no rows, their size is 0, by which nothing is divided.
    later = call("divide", call("subtract", before, in_greater), size)
    bucket = make_case([(call("lt", before, in_greater), first)], call("add", greater, later))
    return call("add", bucket, _ONE)
