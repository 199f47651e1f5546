"""Three-valued Boolean algebra that preserves failures and lazy evaluation.

`AND` and `OR` evaluate from left to right, up to the first operand that decides.  So an operand may be
removed if an earlier one makes it irrelevant, or if it is irrelevant and cannot fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fsql.compiler.expression import Call, Expression, InSet, Literal
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.sqltypes import BOOLEAN

_DECIDED_BY: Final = {"and": False, "or": True}
_OPPOSITE: Final = {
    "eq": "ne",
    "ne": "eq",
    "lt": "ge",
    "ge": "lt",
    "gt": "le",
    "le": "gt",
    "is_null": "is_not_null",
    "is_not_null": "is_null",
}
"""Values are totally ordered (NaN is the greatest), so exactly one of each pair holds."""
_DUAL: Final = {"and": "or", "or": "and"}


def simplify_connective(node: Call) -> Expression | None:
    """Apply the laws of `AND`, and their duals for `OR`.

    | TRUE AND x → x   | FALSE AND x → FALSE                        | x AND x → x |
    | x AND TRUE → x   | x AND FALSE → FALSE, if x cannot fail      |             |
    """
    if node.function not in _DECIDED_BY:
        return None
    decisive = _DECIDED_BY[node.function]
    left, right = node.arguments
    if left is right or _is(right, value=not decisive):
        return left
    if _is(left, value=not decisive):
        return right
    if _is(left, value=decisive):
        return left
    return right if _is(right, value=decisive) and not fallible(left) else None


def simplify_not(node: Call) -> Expression | None:
    """Move NOT inwards until it is eliminated or precedes a column or call.

    | NOT NOT x → x            | NOT (x AND y) → NOT x OR NOT y  | NOT x IN (1, 2) → x NOT IN (1, 2) |
    | NOT x < y → x >= y       | NOT (x OR y) → NOT x AND NOT y  |                                   |
    """
    operand = node.arguments[0] if node.arguments else None
    if node.function == "not" and isinstance(operand, InSet):
        return replace(operand, negated=not operand.negated)
    if node.function != "not" or not isinstance(operand, Call):
        return None
    if operand.function == "not":
        return operand.arguments[0]
    if opposite := _OPPOSITE.get(operand.function):
        return Call(BOOLEAN, operand.nullable, opposite, operand.arguments)
    if dual := _DUAL.get(operand.function):
        # NOT itself decides nothing: both chains end at the same operand.
        negated = tuple(Call(BOOLEAN, x.nullable, "not", (x,)) for x in operand.arguments)
        return Call(BOOLEAN, operand.nullable, dual, negated)
    return None


def _is(expression: Expression, *, value: bool) -> bool:
    return isinstance(expression, Literal) and expression.value is value
