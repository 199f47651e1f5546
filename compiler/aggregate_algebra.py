"""The algebra of aggregates: how the parts of a group make the whole.

An aggregate is `lower(combine(lift(row), lift(row), …))` with an identity, the state of no rows.  What
`combine` takes and returns is a **partial**.  An aggregate **merges** if the partials of the parts of a
group, each computed alone, combine to that of the group, whichever rows are in which part.  For that
`combine` has to be associative and commutative, since the rows of the parts are interleaved in the total
order.  (Of an aggregate in the total order the partial would need the positions of its rows.)

What merges can also be taken out again, `combine(combine(a, b), inverse(b)) = a`, because all states are
exact: integers of any size, sums of DOUBLE that are not rounded, multisets of values with weights.

| partial  | what it is                               | inverse           | of                               |
|----------|------------------------------------------|-------------------|----------------------------------|
| counts   | the number of rows                       | subtract          | COUNT, REGR_COUNT                |
| sums     | exact sums, and counts                   | subtract          | SUM, AVG, variances, regressions,|
|          |                                          |                   | bits by place                    |
| extreme  | a value; the whole is a multiset of them | remove the value  | MIN, MAX, a row by ORDER BY      |
| multiset | the values, each with its weight         | remove the values | MODE, percentiles, arrays with   |
|          |                                          |                   | ORDER BY                         |
| set      | the same; weights do not show            | remove the values | DISTINCT                         |
| sequence | the rows in the total order              | none              | FIRST, LAST, arrays, Python      |
| points   | four points, ties by the total order     | none              | M4                               |

Combining the partial of an idempotent aggregate twice changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import FLOATING, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import AggregateCall


@dataclass(frozen=True, slots=True)
class Algebra:
    """The laws that `combine` obeys, besides those for all: it is associative, and has an identity."""

    commutative: bool = True
    invertible: bool = True
    idempotent: bool = False

    @property
    def merges(self) -> bool:
        """Return whether partials of parts of a group that are interleaved combine to that of the group."""
        return self.commutative


_COUNTS: Final = Algebra()
_SUMS: Final = Algebra()
_EXTREME: Final = Algebra(idempotent=True)
_SET: Final = Algebra(idempotent=True)
_MULTISET: Final = Algebra()
_SEQUENCE: Final = Algebra(commutative=False, invertible=False)

_F = AggregateFunction
ALGEBRAS: Final[Mapping[AggregateFunction, Algebra]] = {
    **dict.fromkeys((_F.COUNT, _F.REGR_COUNT), _COUNTS),
    **dict.fromkeys((_F.SUM, _F.AVG), _SUMS),
    **dict.fromkeys((_F.VAR_POP, _F.VAR_SAMP, _F.STDDEV_POP, _F.STDDEV_SAMP), _SUMS),
    **dict.fromkeys((_F.COVAR_POP, _F.COVAR_SAMP, _F.CORR), _SUMS),
    **dict.fromkeys((_F.REGR_AVGX, _F.REGR_AVGY, _F.REGR_SXX, _F.REGR_SYY, _F.REGR_SXY), _SUMS),
    **dict.fromkeys((_F.REGR_SLOPE, _F.REGR_INTERCEPT, _F.REGR_R2), _SUMS),
    **dict.fromkeys((_F.BIT_AND, _F.BIT_OR, _F.BIT_XOR), _SUMS),
    **dict.fromkeys((_F.MIN, _F.MAX), _EXTREME),
    **dict.fromkeys((_F.MODE, _F.PERCENTILE_CONT, _F.PERCENTILE_DISC), _MULTISET),
    **dict.fromkeys((_F.FIRST_VALUE, _F.LAST_VALUE, _F.ARRAY_AGG), _SEQUENCE),
    **dict.fromkeys((_F.PYTHON, _F.PROGRAM, _F.MATCH_RECOGNIZE, _F.M4), _SEQUENCE),
}
"""The algebra of each function over all values in the total order: without DISTINCT and ORDER BY."""


def algebra_of(call: AggregateCall) -> Algebra:
    """Return the algebra of a call over rows that are never removed."""
    algebra = ALGEBRAS[call.function]
    if algebra is _EXTREME and call.type.kind is not Kind.DOUBLE and call.type.contains(*FLOATING):
        # Of values that differ in the sign of a zero within them, the one that came last is the result.
        return _SEQUENCE
    if call.by_position:
        return _SEQUENCE
    if call.function in {_F.FIRST_VALUE, _F.LAST_VALUE} and call.directions:
        return _EXTREME
    if call.distinct and (algebra.merges or call.function is _F.ARRAY_AGG):
        return _SET
    if call.function is _F.ARRAY_AGG and call.directions:
        return _MULTISET
    return algebra
