"""Expressions that are written like functions: IF, NULLIF, NVL2, DECODE and others."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.expressions.predicates import compare
from fsql.compiler.binder.expressions.typed_calls import regexp_match
from fsql.compiler.binder.expressions.zoned_texts import convert_tz, to_timestamp_ltz
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import call, make_case
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, NULL, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.text.source import Span

    Placed = tuple[Expression, Span]
    """An expression and its span."""


def _nullif(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return NULLIF(a, b): NULL if a equals b, else a."""
    (value, span), other = placed
    equal = compare("=", (value, span), other)
    return make_case([(equal, Literal(value.type, nullable=True, value=None))], value)


def _choose(condition: Expression, results: Sequence[Placed], name: str) -> Expression:
    taken, otherwise = unify(results, f"results of {name} are {{}} and {{}}")
    return make_case([(condition, taken)], otherwise)


def _if(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return IF(condition, a, b)."""
    (condition, span), *results = placed
    if condition.type.kind not in {Kind.BOOLEAN, Kind.NULL}:
        message = f"condition must be BOOLEAN, not {condition.type}"
        raise refusal("E207", message, span, f"this is {condition.type}")
    return _choose(coerce(condition, BOOLEAN), results, "IF")


def _nvl2(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return NVL2(x, a, b): a if x is not NULL, else b."""
    (value, _), *results = placed
    return _choose(call("is_not_null", value), results, "NVL2")


def _equal_null(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return EQUAL_NULL(a, b): a comparison that treats NULL as a value."""
    left, right = placed
    return _same(left, right)


def _same(left: Placed, right: Placed) -> Expression:
    if NULL in {left[0].type, right[0].type}:
        value = left[0] if right[0].type == NULL else right[0]
        return call("is_null", value)
    equal = compare("=", left, right)
    if not (left[0].nullable or right[0].nullable):
        return equal
    both_null = call("and", call("is_null", left[0]), call("is_null", right[0]))
    return call("coalesce", equal, both_null)


def _decode(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return DECODE(x, a, result, …, otherwise): the result of the first a equal to x, as NULL is to NULL."""
    operand, *rest = placed
    count = len(rest) // 2
    otherwise = (
        rest[-1] if len(rest) % 2 else (Literal(NULL, nullable=True, value=None), operand[1])
    )
    results = unify([*rest[1 : 2 * count : 2], otherwise], "results of DECODE are {} and {}")
    tests = [_same(operand, wanted) for wanted in rest[: 2 * count : 2]]
    return make_case(list(zip(tests, results, strict=False)), results[-1])


def _typeof(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
    """Return TYPEOF(x): the name of its type."""
    return Literal(STRING, nullable=False, value=str(placed[0][0].type))


def _count(test: str) -> Callable[[ClauseBinder, Sequence[Placed]], Expression]:
    """Return a function that counts the arguments that pass a test for NULL."""

    def made(_binder: ClauseBinder, placed: Sequence[Placed]) -> Expression:
        one, none = (Literal(BIGINT, nullable=False, value=value) for value in (1, 0))
        counts: list[Expression] = [
            make_case([(call(test, value), one)], none) for value, _ in placed
        ]
        return reduce(lambda total, each: call("add", total, each), counts)

    return made


class Form(NamedTuple):
    """The minimum and maximum number of arguments of a form, and the function that binds it."""

    least: int
    most: int
    make: Callable[[ClauseBinder, Sequence[Placed]], Expression]

    @property
    def takes(self) -> str:
        """Return the number of arguments that the form takes, for messages."""
        exactly = "" if self.least == self.most else "at least "
        return f"{exactly}{self.least} argument{'s'[: self.least > 1]}"


_MANY: Final = 10_000

FORMS: Final[Mapping[str, Form]] = {
    "IF": Form(3, 3, _if),
    "IIF": Form(3, 3, _if),
    "NULLIF": Form(2, 2, _nullif),
    "NVL2": Form(3, 3, _nvl2),
    "EQUAL_NULL": Form(2, 2, _equal_null),
    "DECODE": Form(3, _MANY, _decode),
    "TYPEOF": Form(1, 1, _typeof),
    "NUM_NULLS": Form(1, 100, _count("is_null")),
    "NUM_NONNULLS": Form(1, 100, _count("is_not_null")),
    "TO_TIMESTAMP_LTZ": Form(1, 3, to_timestamp_ltz),
    "CONVERT_TZ": Form(3, 3, convert_tz),
    "REGEXP_MATCH": Form(2, 3, regexp_match),
}
"""The forms by name."""


def bind_form(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    """Bind a call that stands for an expression.

    Raises:
        Refusal: E401 if it has too many or too few arguments.
    """
    form = FORMS[name]
    if not form.least <= len(written.arguments) <= form.most:
        raise refusal("E401", f"function {name} takes {form.takes}", written.span)
    placed = []
    for argument in written.arguments:
        if isinstance(argument, syntax.Star):
            raise refusal("E404", "only COUNT takes *", argument.span)
        placed.append((binder.bind(argument), argument.span))
    return form.make(binder, placed)
