"""Simplifies CASE, COALESCE and tests for NULL that constants or NOT NULL decide."""

from __future__ import annotations

from fsql.compiler.expression import Call, Case, Expression, Literal
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.sqltypes import BOOLEAN


def simplify_case(node: Case) -> Expression | None:
    """Drop the branches of CASE that no row takes, and those after one that every row takes.

    | CASE WHEN FALSE (or NULL) THEN x WHEN … → CASE WHEN …                      |
    | CASE … WHEN TRUE THEN x … END → CASE … ELSE x END                          |
    | CASE ELSE x END → x                                                        |
    | CASE WHEN c THEN x … ELSE x END → x, if all results are x and no c fails   |
    """
    branches: list[tuple[Expression, Expression]] = []
    otherwise = node.otherwise
    for condition, result in node.branches:
        if not isinstance(condition, Literal):
            branches.append((condition, result))
        elif condition.value is True:
            otherwise = result
            break
    if all(result is otherwise and not fallible(condition) for condition, result in branches):
        return otherwise
    kept = tuple(branches)
    if kept == node.branches and otherwise is node.otherwise:
        return None
    return Case(node.type, node.nullable, kept, otherwise)


def simplify_coalesce(node: Call) -> Expression | None:
    """Drop the arguments of COALESCE that are NULL, and those after one that never is.

    | COALESCE(NULL, x, …) → COALESCE(x, …)        | COALESCE(x) → x                  |
    | COALESCE(x, y, …) → COALESCE(x), if x is NOT NULL                               |
    """
    if node.function != "coalesce":
        return None
    kept: list[Expression] = []
    for argument in node.arguments:
        if not (isinstance(argument, Literal) and argument.value is None):
            kept.append(argument)
            if not argument.nullable:
                break
    match kept:
        case []:
            return Literal(node.type, nullable=True, value=None)
        case [only]:
            return only
        case _ if len(kept) == len(node.arguments):
            return None
        case _:
            return Call(node.type, node.nullable, node.function, tuple(kept))


def simplify_null_test(node: Call) -> Expression | None:
    """`x IS NULL` → `FALSE` and `x IS NOT NULL` → `TRUE`, if x is never NULL and cannot fail."""
    if node.function not in {"is_null", "is_not_null"}:
        return None
    (operand,) = node.arguments
    if operand.nullable or fallible(operand):
        return None
    return Literal(BOOLEAN, nullable=False, value=node.function == "is_not_null")
