"""Functions that take a lambda: TRANSFORM, FILTER, REDUCE and similar ones, over arrays and maps.

The body of a lambda is bound like any expression, with a placeholder for each parameter.  Then it is closed:
its parameters, and the values of the row that it captures, become the columns over which it is computed.  A
map is the array of its entries, and its keys and values are their fields.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.binder.expressions.lambda_parameters import Parameters
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.bound.pending import (
    AggregateValue,
    GroupingValue,
    ParameterValue,
    RunningValue,
    replace_pending,
)
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import (
    ColumnRef,
    Expression,
    FieldAccess,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
)
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.functions.coercion import coercible, common_type
from fsql.compiler.sqltypes import (
    BOOLEAN,
    DECIMAL_DIGITS_MAX,
    STRUCTURED,
    Kind,
    array_of,
    decimal_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.sqltypes import SqlType


FORMS: Final = {
    "TRANSFORM": "(array, x -> a) or (map, (k, v) -> a, (k, v) -> b)",
    "FILTER": "(array, x -> condition) or (map, (k, v) -> condition)",
    "REDUCE": "(array, start, (total, x) -> a) or (map, start, (total, k, v) -> a)",
    "MATCH": "(array, x -> condition)",
    "OF_MAP": "(map, (k, v) -> a)",
}


class _Call(NamedTuple):
    """A call that is being bound."""

    binder: ClauseBinder
    written: syntax.FunctionCall
    name: str
    form: str

    def refusal(self, message: str | None = None) -> Refusal:
        """Return the refusal of the arguments."""
        form = f"it is {self.name}{FORMS[self.form]}"
        message = message or f"function {self.name} does not take these arguments"
        return refusal("E401", message, self.written.span, note=form)

    def array(self, *, map_: bool) -> tuple[Expression, bool]:
        """Return the first argument, and whether it is a map, as the array of its entries."""
        first = self.written.arguments[0] if self.written.arguments else None
        if first is None or isinstance(first, syntax.Star | syntax.Lambda):
            raise self.refusal()
        bound = self.binder.bind(first)
        if bound.type.kind is Kind.MAP and map_:
            return call("map_entries", bound), True
        if bound.type.kind is not Kind.ARRAY or self.form == "OF_MAP":
            raise refusal(
                "E401",
                f"function {self.name} does not take {bound.type}",
                first.span,
                f"this is {bound.type}",
                note=f"it is {self.name}{FORMS[self.form]}",
            )
        return bound, False

    def lambdas(self, count: int) -> list[syntax.Lambda]:
        """Return the lambdas: all arguments but the first."""
        found = self.written.arguments[1:]
        lambdas = [each for each in found if isinstance(each, syntax.Lambda)]
        if len(lambdas) != count or len(found) != count:
            raise self.refusal()
        return lambdas

    def body(
        self, written: syntax.Lambda, names: Sequence[Expression]
    ) -> tuple[ClauseBinder, syntax.Expression]:
        """Return the function that binds the body of a lambda with parameters that stand for `names`."""
        if len(written.parameters) != len(names):
            raise refusal(
                "E401",
                f"the lambda of {self.name} has {len(names)} parameter{'s'[: len(names) > 1]} here,"
                f" not {len(written.parameters)}",
                written.span,
                note=f"it is {self.name}{FORMS[self.form]}",
            )
        values = dict(self.binder.parameters.values)
        own: dict[str, syntax.Identifier] = {}
        for parameter, value in zip(written.parameters, names, strict=True):
            key = parameter.name if parameter.quoted else parameter.name.lower()
            if key in own:
                raise refusal(
                    "E401",
                    f'two parameters of the lambda are named "{parameter.name}"',
                    parameter.span,
                    secondary=(Label(own[key].span, "the first"),),
                )
            own[key] = parameter
            values[key] = value
        count = self.binder.parameters.placeholders + len(names)
        inner = replace(
            self.binder,
            clause="a lambda",
            parameters=Parameters(values, count, self.binder.parameters.kinds),
            subqueries=None,
        )
        return inner, written.body

    def placeholder(self, kind: SqlType, index: int = 0) -> ParameterValue:
        """Return the placeholder of a parameter."""
        return ParameterValue(
            kind, nullable=True, index=self.binder.parameters.placeholders + index
        )

    def over(
        self,
        function: LambdaFunction,
        arguments: tuple[Expression, ...],
        own: tuple[ParameterValue, ...],
        body: Expression,
    ) -> LambdaCall:
        """Return the call of a function with a lambda."""
        closed, captured = _close_body(body, own, self.binder.source_spans)
        kind = {
            LambdaFunction.TRANSFORM: lambda: array_of(body.type),
            LambdaFunction.FILTER: lambda: arguments[0].type,
            LambdaFunction.ANY_MATCH: lambda: BOOLEAN,
            LambdaFunction.REDUCE: lambda: body.type,
        }[function]()
        nullable = arguments[0].nullable or function in {
            LambdaFunction.ANY_MATCH,
            LambdaFunction.REDUCE,
        }
        return LambdaCall(kind, nullable, function, arguments, captured, closed)


_LEAVES: Final = (ColumnRef, AggregateValue, RunningValue, GroupingValue)


def _close_body(
    body: Expression, own: tuple[ParameterValue, ...], source_spans: SourceSpans
) -> tuple[LambdaBody, tuple[Expression, ...]]:
    """Return the body over its parameters and the captured values, and these values."""
    captured: dict[Expression, int] = {}

    def replacement(part: Expression) -> Expression | None:
        if part in own:
            return ColumnRef(part.type, nullable=True, index=own.index(part))
        if isinstance(part, _LEAVES):
            index = captured.setdefault(part, len(captured))
            return ColumnRef(part.type, nullable=True, index=len(own) + index)
        return None

    closed = replace_pending(body, replacement, source_spans)
    widened = with_nullability(closed, lambda _index: True)
    source_spans.copy(closed, widened)
    return LambdaBody(widened), tuple(captured)


def bind_lambda_call(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    """Bind the call of a function that takes a lambda.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if binder.navigations is not None:
        raise not_implemented("a lambda in MATCH_RECOGNIZE", written.span)
    if not binder.parameters.values:
        binder = replace(binder, parameters=Parameters({}, 0, {}))
    form, bind = _FUNCTIONS[name]
    return bind(_Call(binder, written, name, form))


def refuse_lambda(_binder: ClauseBinder, written: syntax.Lambda) -> Expression:
    """Refuse a lambda where none is allowed.

    Raises:
        Refusal: E401.
    """
    raise refusal(
        "E401",
        "a lambda is not allowed here",
        written.span,
        note="TRANSFORM, FILTER, REDUCE and related functions take one after an array or a map",
        help="arguments have no names here: write f(a, b)",
    )


def _transform(bound: _Call) -> Expression:
    array, is_map = bound.array(map_=True)
    if is_map:
        return _transform_entries(bound, array, bound.lambdas(2))
    (written,) = bound.lambdas(1)
    own = bound.placeholder(_element(array))
    body = _value(*bound.body(written, [own]))
    return bound.over(LambdaFunction.TRANSFORM, (array,), (own,), body)


def _transform_keys(bound: _Call) -> Expression:
    array, _ = bound.array(map_=True)
    (written,) = bound.lambdas(1)
    return _transform_entries(bound, array, [written, None])


def _transform_values(bound: _Call) -> Expression:
    array, _ = bound.array(map_=True)
    (written,) = bound.lambdas(1)
    return _transform_entries(bound, array, [None, written])


def _transform_entries(
    bound: _Call, entries: Expression, lambdas: Sequence[syntax.Lambda | None]
) -> Expression:
    """Return the map of entries whose keys and values are those of two lambdas; None keeps them."""
    own = bound.placeholder(_element(entries))
    fields = _fields(own)
    parts = [
        field if written is None else _value(*bound.body(written, fields))
        for written, field in zip(lambdas, fields, strict=True)
    ]
    if parts[0].type.kind in STRUCTURED:
        assert lambdas[0] is not None
        raise refusal("E206", f"key of a MAP cannot be {parts[0].type}", lambdas[0].body.span)
    body = call("row", *parts)
    return call("map_from_entries", bound.over(LambdaFunction.TRANSFORM, (entries,), (own,), body))


def _filter(bound: _Call) -> Expression:
    array, is_map = bound.array(map_=True)
    (written,) = bound.lambdas(1)
    own = bound.placeholder(_element(array))
    inner, condition = bound.body(written, _fields(own) if is_map else [own])
    body = inner.bind_condition(condition)
    made = bound.over(LambdaFunction.FILTER, (array,), (own,), body)
    return call("map_from_entries", made) if is_map else made


def _any(bound: _Call, *, negated: bool = False) -> Expression:
    array, _ = bound.array(map_=False)
    (written,) = bound.lambdas(1)
    own = bound.placeholder(_element(array))
    inner, condition = bound.body(written, [own])
    body = inner.bind_condition(condition)
    body = call("not", body) if negated else body
    return bound.over(LambdaFunction.ANY_MATCH, (array,), (own,), body)


def _reduce(bound: _Call) -> Expression:
    array, is_map = bound.array(map_=True)
    others = bound.written.arguments[1:]
    if len(others) == 2 and isinstance(others[0], syntax.Lambda):
        others = others[::-1]  # the start comes first or last
    if len(others) != 2:
        raise bound.refusal()
    start_text, written = others
    if not isinstance(written, syntax.Lambda) or isinstance(start_text, syntax.Star):
        raise bound.refusal()
    start = bound.binder.bind(start_text)
    if start.type.kind is Kind.NULL:
        help_ = "cast it: CAST(NULL AS BIGINT)"
        raise refusal("E206", "the start value NULL has no type", start_text.span, help=help_)
    element = bound.placeholder(_element(array), 1)
    given: Sequence[Expression] = _fields(element) if is_map else [element]
    kinds, kind = bound.binder.parameters.kinds, start.type
    known = kinds.get(bound.written.span)
    if known is not None and common_type([kind, known]) == known:
        kind = known
    total, body = _step(bound, written, kind, given)
    wider = _accumulator_type(kind, body.type)
    if wider is None:
        raise refusal(
            "E206",
            f"{bound.name} starts with {start.type}, and its lambda returns {body.type}",
            written.body.span,
            f"this is {body.type}",
            secondary=(Label(start_text.span, f"this is {start.type}"),),
            help="cast one of them",
        )
    if wider != kind:
        kind = wider
        total, body = _step(bound, written, kind, given)
    kinds[bound.written.span] = kind
    if not coercible(body.type, kind) and not {body.type.kind, kind.kind} <= {Kind.DECIMAL}:
        raise refusal(
            "E206",
            f"the lambda of {bound.name} returns {body.type} of {kind}",
            written.body.span,
            f"this is {body.type}",
            help=f"cast it: CAST(… AS {kind})",
            quote=written.body.span,
        )
    arguments = (array, make_cast(start, kind))
    return bound.over(LambdaFunction.REDUCE, arguments, (total, element), make_cast(body, kind))


def _step(
    bound: _Call, written: syntax.Lambda, kind: SqlType, given: Sequence[Expression]
) -> tuple[ParameterValue, Expression]:
    """Return the placeholder of an accumulator of a type, and the body of REDUCE with it."""
    total = bound.placeholder(kind)
    return total, _value(*bound.body(written, [total, *given]))


def _accumulator_type(start: SqlType, result: SqlType) -> SqlType | None:
    """Return the type that accumulators need; a DECIMAL has the digits of the type of SUM."""
    common = common_type([start, result])
    if common is not None and common.kind is Kind.DECIMAL:
        return decimal_type(DECIMAL_DIGITS_MAX, common.scale)
    return common


def _element(array: Expression) -> SqlType:
    assert array.type.element is not None
    return array.type.element


def _fields(entry: Expression) -> list[Expression]:
    """Return the key and the value of an entry of a map."""
    return [
        FieldAccess(kind, nullable=True, argument=entry, index=index)
        for index, kind in enumerate(entry.type.field_types)
    ]


def _value(inner: ClauseBinder, body: syntax.Expression) -> Expression:
    bound = inner.bind(body)
    if bound.type.kind is Kind.NULL:
        help_ = "cast it: CAST(NULL AS STRING)"
        raise refusal("E206", "a lambda that returns NULL has no type", body.span, help=help_)
    return bound


_TRANSFORM: Final = ("TRANSFORM", _transform)
_FILTER: Final = ("FILTER", _filter)
_REDUCE: Final = ("REDUCE", _reduce)
_FUNCTIONS: Final[Mapping[str, tuple[str, Callable[[_Call], Expression]]]] = {
    **dict.fromkeys(("TRANSFORM", "LIST_TRANSFORM", "ARRAY_TRANSFORM"), _TRANSFORM),
    **dict.fromkeys(("LIST_APPLY", "ARRAY_APPLY"), _TRANSFORM),
    **dict.fromkeys(("FILTER", "LIST_FILTER", "ARRAY_FILTER"), _FILTER),
    **dict.fromkeys(("REDUCE", "LIST_REDUCE", "ARRAY_REDUCE"), _REDUCE),
    "ANY_MATCH": ("MATCH", _any),
    "ALL_MATCH": ("MATCH", lambda bound: call("not", _any(bound, negated=True))),
    "NONE_MATCH": ("MATCH", lambda bound: call("not", _any(bound))),
    "TRANSFORM_KEYS": ("OF_MAP", _transform_keys),
    "TRANSFORM_VALUES": ("OF_MAP", _transform_values),
    "MAP_FILTER": ("OF_MAP", _filter),
}
assert _FUNCTIONS.keys() == syntax.TAKE_LAMBDAS
