"""Predicates as conjunctions, and which conjuncts may leave.

AND is associative, also in evaluation and failures: it is evaluated from left to right up to the first
operand that is FALSE.  After an operand that is NULL, the next operand is evaluated.  So a conjunct that is
moved away from the others, to drop rows before they are evaluated, changes the rows on which they are
evaluated: it drops the rows on which it is NULL as well as those on which it is FALSE, and it drops rows
before the earlier conjuncts are evaluated.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from fsql.compiler.expression import Call, Expression
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def conjuncts(predicate: Expression) -> list[Expression]:
    """Return the operands of a conjunction of any shape, left to right."""
    found: list[Expression] = []
    waiting = [predicate]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Call) and operand.function == "and":
            waiting.extend(reversed(operand.arguments))
        else:
            found.append(operand)
    return found


def conjunction(operands: Sequence[Expression]) -> Expression:
    """Return the conjunction of at least one operand, in their order."""
    return reduce(
        lambda left, right: Call(BOOLEAN, left.nullable or right.nullable, "and", (left, right)),
        operands,
    )


def split_movable(
    predicate: Expression, goes: Callable[[Expression], bool]
) -> tuple[list[Expression], list[Expression]]:
    """Return the conjuncts that may be moved to where they drop rows earlier, and the others.

    A conjunct is moved if `goes` returns that its columns are available there, and if that does not change
    which rows fail: it cannot fail itself (there may be other rows there), no conjunct before it can
    fail (it would not be evaluated on the dropped rows), and either it is never NULL or no conjunct after it
    can fail (these are now evaluated on rows on which it is NULL).
    """
    operands = conjuncts(predicate)
    failing = [index for index, operand in enumerate(operands) if fallible(operand)]
    first, last = (failing[0], failing[-1]) if failing else (len(operands), -1)
    leaving: list[Expression] = []
    staying: list[Expression] = []
    for index, operand in enumerate(operands):
        safe = index < first and (index > last or not operand.nullable)
        (leaving if safe and goes(operand) else staying).append(operand)
    return leaving, staying
