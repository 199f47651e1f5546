"""Chains of operators, and `||`, which joins texts, bytes and arrays, as CONCAT does.

What stands beside a text becomes one.  Adjacent texts become one balanced tree, since there
can be many.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.operators import bind_arithmetic, bind_link, unify
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import Call, Expression
from fsql.compiler.functions.calls import combine_balanced, make_call, make_cast
from fsql.compiler.functions.casts import castable
from fsql.compiler.sqltypes import BYTES, NULL, STRING, STRUCTURED, TEXTUAL, Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.binder.expressions.operators import Placed
    from fsql.compiler.text.source import Span


_DOCUMENTS: Final = frozenset({"json_document"})
"""What `x::jsonb` of a text is: `||` of these is refused, since elsewhere it merges them."""


def bind_chain(binder: ClauseBinder, chain: syntax.Chain) -> Expression:
    """Bind `a || b & c`, or `a + b - c`: operators of one precedence, from the left."""
    if all(link.operator != "||" for link in chain.links):
        return bind_arithmetic(binder, chain)
    joined: list[Placed] = [(binder.bind(chain.first), chain.first.span)]
    for link in chain.links:
        operand, span = binder.bind(link.operand), link.operand.span
        if link.operator == "||":
            joined.append((operand, span))
        else:
            left, left_span = _join(joined), joined[0][1].to(joined[-1][1])
            joined = [(bind_link(link, left, operand, left_span), left_span.to(span))]
    return _join(joined)


def _join(operands: Sequence[Placed]) -> Expression:
    """Return `a || b || c`.

    Raises:
        Refusal: E206 for operands that are not joined.
    """
    joined: list[Placed] = []
    for right in operands:
        _check_document(*right)
        _add(joined, right)
    return combine_balanced("concat", [expression for expression, _ in joined])


def _add(joined: list[Placed], right: Placed) -> None:
    """Add one to the operands so far, which are those of a text or of bytes, or one array.

    Raises:
        Refusal: E206.
    """
    if not joined:
        joined.append(right)
        return
    left = _type_of(joined)
    operand, span = right
    kinds = {left.kind, operand.type.kind}
    if Kind.ARRAY in kinds:
        joined[:] = [(_join_arrays(joined, right), joined[0][1].to(span))]
    elif kinds <= {Kind.STRING, Kind.NULL} or kinds <= {Kind.BYTES, Kind.NULL}:
        joined.append(right)
    elif kinds == {*TEXTUAL} or Kind.STRING not in kinds:
        raise _mismatch(joined, left, right)
    elif left == STRING:
        joined.append((_as_text(right, joined), span))
    else:
        # One value that is not a text stands before the first text.
        joined[:] = [(_as_text(each, [right]), each[1]) for each in joined]
        joined.append(right)


def _type_of(joined: Sequence[Placed]) -> SqlType:
    """Return the type of the operands so far, NULL if all of them are."""
    types = (expression.type for expression, _ in joined)
    return next((type_ for type_ in types if type_.kind is not Kind.NULL), NULL)


def _as_text(placed: Placed, others: Sequence[Placed]) -> Expression:
    operand, _ = placed
    if not castable(operand.type, STRING):
        raise _mismatch(others, _type_of(others), placed)
    return make_cast(operand, STRING)


def _join_arrays(joined: list[Placed], right: Placed) -> Expression:
    """Return the concatenation of two arrays, or an array with an element more.

    Raises:
        Refusal: E206 if the types do not fit.
    """
    left_type = _type_of(joined)
    left = combine_balanced("concat", [expression for expression, _ in joined])
    operand, span = right
    made = None
    if left_type.kind is operand.type.kind:
        # ARRAY[1] becomes an array of the other's elements.
        with suppress(Refusal):
            made = make_call("array_concat", *unify([(left, joined[0][1]), (operand, span)]))
    elif Kind.NULL in {left_type.kind, operand.type.kind}:
        made = make_call("array_concat", left, operand)
    if made is None and left_type.kind is Kind.ARRAY:
        made = make_call("array_append", left, operand)
    if made is None and operand.type.kind is Kind.ARRAY:
        made = make_call("array_prepend", operand, left)
    if made is None:
        raise _mismatch(joined, left_type, right)
    return made


def _check_document(operand: Expression, span: Span) -> None:
    """Refuse `||` of JSON documents, whose texts would not be one when joined."""
    if isinstance(operand, Call) and operand.function in _DOCUMENTS:
        raise refusal(
            "E206",
            'operator "||" does not take JSON',
            span,
            "this is JSON",
            help="use JSON_MERGE_PATCH(a, b), or cast it to join texts: CAST(… AS STRING)",
        )


def _mismatch(joined: Sequence[Placed], left: SqlType, right: Placed) -> Refusal:
    operand, span = right
    before = joined[0][1].to(joined[-1][1])
    return refusal(
        "E206",
        f'operator "||" does not take {left} and {operand.type}',
        span,
        f"this is {operand.type}",
        secondary=(Label(before, f"this is {left}"),),
        help=_help(left, operand.type),
    )


def _help(left: SqlType, right: SqlType) -> str | None:
    if {left.kind, right.kind} == {*TEXTUAL}:
        return f"cast one: CAST(… AS {left})"
    if Kind.ARRAY in {left.kind, right.kind} or BYTES in {left, right}:
        return None
    return "cast one to text: CAST(… AS STRING)"


def texts_of(arguments: Sequence[Expression]) -> list[Expression]:
    """Return arguments of CONCAT as texts, unless one is BYTES or has parts."""
    if any(argument.type.kind in {*STRUCTURED, Kind.BYTES} for argument in arguments):
        return list(arguments)
    if not all(castable(argument.type, STRING) for argument in arguments):
        return list(arguments)
    return [
        argument if argument.type.kind is Kind.NULL else make_cast(argument, STRING)
        for argument in arguments
    ]
