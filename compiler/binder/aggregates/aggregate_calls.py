"""Calls of aggregates: from syntax to `AggregateCall`.

Synonyms, and aggregates that are defined in terms of others, become one call: COUNT_IF(p) is COUNT of a CASE,
BOOL_AND is MIN, MAX_BY(x, y) is FIRST_VALUE(x ORDER BY y DESC), STRING_AGG joins the elements of an
ARRAY_AGG, and MAP_AGG makes a map of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.aggregates.kept_nulls import keeps_nulls
from fsql.compiler.binder.aggregates.line_chart import make_m4
from fsql.compiler.binder.aggregates.percentiles import MEDIANS, percentile_parts
from fsql.compiler.binder.aggregates.python_aggregates import make_python_aggregate, python_result
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.bound.aggregates import COLLECTING, unwrap_rows
from fsql.compiler.expression import (
    OF_TWO,
    AggregateCall,
    AggregateFunction,
    Call,
    Case,
    Expression,
    Literal,
)
from fsql.compiler.functions.aggregates import (
    AGGREGATES,
    LAST_OF_TIES,
    TAKES,
    accumulator_type,
    aggregate_nullable,
    aggregate_result,
)
from fsql.compiler.functions.calls import call, combine_balanced, make_cast
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.documents import as_document, has_document
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.python_aggregates import PythonAggregate
from fsql.compiler.sqltypes import BOOLEAN, STRING, STRUCTURED, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Value

    Directions = tuple[tuple[bool, bool], ...]


_BY_VALUE: Final = frozenset(
    {
        *(AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.BIT_AND),
        *(AggregateFunction.BIT_OR, AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE),
    }
)
"""The functions whose result does not depend on how often a value occurs."""
_PERCENTILES: Final = frozenset(
    {AggregateFunction.PERCENTILE_CONT, AggregateFunction.PERCENTILE_DISC}
)
_JOINED: Final = frozenset({"STRING_AGG", "LISTAGG"})
"""The names of ARRAY_AGG whose elements are joined to a text."""
OF_ENTRIES: Final = frozenset({"MAP_AGG", "JSON_OBJECTAGG", "JSON_OBJECT_AGG"})
"""The names of ARRAY_AGG whose elements are the entries of a map."""
_OF_JSON: Final = frozenset({"JSON_AGG", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "JSON_OBJECT_AGG"})
"""The names of ARRAY_AGG whose array or map becomes a JSON text."""
COMPLETED: Final = _JOINED | OF_ENTRIES | _OF_JSON
"""The names of ARRAY_AGG whose result a function computes from the array; all but JSON_AGG ignore NULLs."""
_OF_CONDITION: Final = frozenset(
    {"COUNT_IF", "COUNTIF", "BOOL_AND", "EVERY", "LOGICAL_AND", "BOOL_OR", "LOGICAL_OR"}
)
_BY: Final = {
    "ARG_MIN": False,
    "MIN_BY": False,
    "ARG_MAX": True,
    "MAX_BY": True,
    "ARG_MIN_LAST": True,
    "ARG_MAX_LAST": False,
}
"""Names of FIRST_VALUE, and of LAST_VALUE, ordered by a second argument; whether descending."""
_DISTINCT_COUNTS: Final = frozenset({"APPROX_COUNT_DISTINCT", "APPROX_DISTINCT", "COUNT_DISTINCT"})


def make_aggregate(
    arguments: ClauseBinder, written: syntax.FunctionCall, *, empty: bool, append_only: bool
) -> AggregateCall:
    """Return the aggregate; `arguments` binds its arguments, `empty` states whether there may be no rows.

    Unless `append_only`, rows may be removed from the group.

    Raises:
        Refusal: E2xx to E4xx.
    """
    name = written.name.parts[-1].name.upper()
    python = _in_python(arguments, name)
    if python is not None:
        return make_python_aggregate(arguments, written, python, append_only=append_only)
    function = AGGREGATES[name]
    _check_respect_nulls(function, name, written)
    if function is AggregateFunction.M4:
        return _with_filter(arguments, make_m4(arguments, written), written)
    argument, others, directions, parameter = _parts(arguments, function, name, written)
    if name in _JOINED and argument is not None:
        argument = _text(argument, name, written)
    ignores = function is AggregateFunction.ARRAY_AGG and (
        written.ignore_nulls or (name in COMPLETED and name != "JSON_AGG")
    )
    if keeps_nulls(written, function, ignores=ignores) and argument is not None:
        if written.distinct:
            raise not_implemented(
                f"{name} of DISTINCT values and NULL",
                written.span,
                help="add IGNORE NULLS after FILTER (…)",
            )
        ignores = function is AggregateFunction.ARRAY_AGG
        argument = argument if argument.type.kind is Kind.NULL else call("row", argument)
    if written.filter is not None:
        argument = _apply_filter(arguments, argument, written.filter)
    argument = argument and coerce(argument, accumulator_type(function, argument.type))
    if function in OF_TWO:
        others = tuple(coerce(each, accumulator_type(function, each.type)) for each in others)
    result = aggregate_result(function, None if argument is None else argument.type)
    if result is None:
        raise _does_not_take(function, name, argument, written)
    nullable = ignores or aggregate_nullable(
        function, argument_nullable=argument is not None and argument.nullable, grouped=not empty
    )
    distinct = (written.distinct and function not in _BY_VALUE) or name in _DISTINCT_COUNTS
    made = AggregateCall(
        *(function, argument, result, nullable, distinct, others, directions, parameter, ignores),
        by_position=name in LAST_OF_TIES,
    )
    arguments.source_spans.add(made, written.span)
    return made


def _check_respect_nulls(
    function: AggregateFunction, name: str, written: syntax.FunctionCall
) -> None:
    if written.ignore_nulls and function not in COLLECTING:
        raise not_implemented("IGNORE NULLS", written.span)
    if written.respect_nulls and (function not in COLLECTING or name in COMPLETED or name in _BY):
        raise not_implemented(
            "RESPECT NULLS",
            written.span,
            help=f"{name} ignores NULLs: omit RESPECT NULLS",
        )


def complete_value(
    arguments: ClauseBinder, written: syntax.FunctionCall, collected: Expression
) -> Expression:
    """Return what is computed from the aggregate's value: the map of MAP_AGG, the text of STRING_AGG.

    Raises:
        Refusal: E403.
    """
    name = written.name.parts[-1].name.upper()
    python = _in_python(arguments, name)
    if python is not None:
        return python_result(python, collected)
    ignores = written.ignore_nulls or (name in COMPLETED and name != "JSON_AGG")
    if name in AGGREGATES and keeps_nulls(written, AGGREGATES[name], ignores=ignores):
        collected = unwrap_rows(collected)
    if name in OF_ENTRIES:
        collected = call("map_from_entries", collected)
    if name in _OF_JSON:
        value = _whole(arguments, written.arguments[-1])
        documents = has_document(value, arguments.json_texts)
        return call("json_of_documents" if documents else "json_string", collected)
    if name not in _JOINED:
        return collected
    separator: Value = ","
    if len(written.arguments) > 1:
        given = _whole(arguments, written.arguments[1])
        separator = constant_value(given)
        if not isinstance(separator, str):
            raise refusal(
                "E403",
                f"separator of {name} is not constant",
                written.arguments[1].span,
                help=f"write a text, {name}(s, ', '); join others to the values: {name}(k || s, '')",
            )
    literal = Literal(STRING, nullable=False, value=separator)
    return Call(STRING, collected.nullable, "join_texts", (collected, literal))


def _text(argument: Expression, name: str, written: syntax.FunctionCall) -> Expression:
    """Return the argument of STRING_AGG as a text.

    Raises:
        Refusal: E401 if it is none, and cannot be or must not be cast.
    """
    if argument.type.kind in {Kind.STRING, Kind.NULL}:
        return argument
    ordered = written.distinct and written.order_by
    if ordered or argument.type.kind in {*STRUCTURED, Kind.BYTES}:
        raise refusal(
            "E401",
            f"{name} does not take {argument.type}"
            + (" with DISTINCT and ORDER BY" if ordered else ""),
            written.arguments[0].span,
            f"this is {argument.type}",
            help="cast it: CAST(… AS STRING)" + (", also in ORDER BY" if ordered else ""),
        )
    return make_cast(argument, STRING)


def _in_python(arguments: ClauseBinder, name: str) -> PythonAggregate | None:
    """Return the aggregate function of that name that the script declares, if there is one."""
    declared = arguments.functions.get(name)
    function = None if declared is None else declared.function
    return function if isinstance(function, PythonAggregate) else None


def _whole(arguments: ClauseBinder, written: syntax.Expression | syntax.Star) -> Expression:
    if isinstance(written, syntax.Star):
        raise refusal("E404", "only COUNT takes *", written.span)
    return arguments.bind_and_check_size(written)


def _parts(
    arguments: ClauseBinder,
    function: AggregateFunction,
    name: str,
    written: syntax.FunctionCall,
) -> tuple[Expression | None, tuple[Expression, ...], Directions, float | None]:
    """Return the argument, the other arguments, the directions of ORDER BY and the parameter."""
    if function in _PERCENTILES and name not in MEDIANS:
        return percentile_parts(arguments, name, written)
    _check_count(function, name, written)
    argument = _argument(arguments, name, written)
    if name in OF_ENTRIES:
        argument = _entry(arguments, argument, written)
    if name in _OF_CONDITION:
        return _condition(arguments, name, written), (), (), None
    if function is AggregateFunction.MODE and written.order_by and not written.arguments:
        argument = arguments.bind_and_check_size(written.order_by[0].expression)
    elif name in _BY:
        by = _whole(arguments, written.arguments[1])
        present = Call(BOOLEAN, nullable=False, function="is_not_null", arguments=(by,))
        assert argument is not None
        return _where(argument, present), (by,), ((_BY[name], False),), None
    elif function in OF_TWO:
        other = _whole(arguments, written.arguments[1])
        if aggregate_result(function, accumulator_type(function, other.type)) is None:
            raise _does_not_take(function, name, other, written)
        return argument, (other,), (), None
    elif written.order_by:
        if function not in COLLECTING:
            raise not_implemented(
                f"ORDER BY in {name}",
                written.order_by[0].span,
                help=f"remove it: {name} does not depend on the order",
            )
        return _bind_order(arguments, argument, name, written)
    parameter = 0.5 if name in MEDIANS else None
    return argument, (), (), parameter


def _check_count(function: AggregateFunction, name: str, written: syntax.FunctionCall) -> None:
    counts = {0, 1} if name == "COUNT" else {1}
    if function in OF_TWO or name in _BY or name in OF_ENTRIES:
        counts = {2}
    elif name in _JOINED:
        counts = {1, 2}
    elif function is AggregateFunction.MODE and written.order_by:
        counts = {0}
    several = len(written.arguments) > 1 and name == "COUNT"
    if len(written.arguments) not in counts and not (several and written.distinct):
        expected = max(counts)
        help_ = None
        if name in {"MIN", "MAX"}:
            help_ = f"use {'GREATEST' if name == 'MAX' else 'LEAST'} for values of one row"
        elif several:
            help_ = "write COUNT(DISTINCT a, b), or count rows with FILTER (WHERE …)"
        raise refusal(
            "E401",
            f"{name} takes {expected} argument{'s' if expected != 1 else ''}, "
            f"not {len(written.arguments)}",
            written.span,
            help=help_,
        )


def _argument(
    arguments: ClauseBinder, name: str, written: syntax.FunctionCall
) -> Expression | None:
    """Return the first argument; None for `COUNT(*)`."""
    if not written.arguments:
        return None
    argument = written.arguments[0]
    if len(written.arguments) > 1 and name == "COUNT":
        return _row_without_nulls([_whole(arguments, each) for each in written.arguments])
    if not isinstance(argument, syntax.Star):
        value = arguments.bind_and_check_size(argument)
        of_json = name in _OF_JSON and name not in OF_ENTRIES
        return _document(arguments, value) if of_json else value
    if name != "COUNT" or argument.qualifier:
        raise refusal("E404", f"{name} does not take *", argument.span)
    return None


def _document(arguments: ClauseBinder, value: Expression) -> Expression:
    """Return a value of an aggregate of JSON as a document, if it has one in it."""
    if not has_document(value, arguments.json_texts):
        return value
    return as_document(value, arguments.json_texts, call)


def _row_without_nulls(values: Sequence[Expression]) -> Expression:
    """Return the row of the values; NULL, which is not counted, if one of them is NULL."""
    row = call("row", *values)
    present = [call("is_not_null", each) for each in values if each.nullable]
    return _where(row, combine_balanced("and", present)) if present else row


def _entry(
    arguments: ClauseBinder, key: Expression | None, written: syntax.FunctionCall
) -> Expression:
    """Return the entry of a map; NULL, which is left out, if the key is NULL."""
    assert key is not None
    if key.type.kind in STRUCTURED or key.type.kind is Kind.NULL:
        raise refusal(
            "E401",
            f"key of a MAP cannot be {key.type}",
            written.arguments[0].span,
            f"this is {key.type}",
        )
    value = _whole(arguments, written.arguments[1])
    if written.name.parts[-1].name.upper() in _OF_JSON:
        value = _document(arguments, value)
    if value.type.kind is Kind.NULL:
        raise refusal(
            "E401",
            "values of a MAP that are all NULL have no type",
            written.arguments[1].span,
            help="cast it: CAST(NULL AS STRING)",
        )
    return _where(call("row", key, value), call("is_not_null", key))


def _condition(arguments: ClauseBinder, name: str, written: syntax.FunctionCall) -> Expression:
    """Return the argument of an aggregate of conditions; COUNT_IF counts the rows for which it is TRUE."""
    (argument,) = written.arguments
    if isinstance(argument, syntax.Star):
        raise refusal("E404", f"{name} does not take *", argument.span)
    condition = arguments.bind_condition_and_check_size(argument)
    if name.startswith("COUNT"):
        return _where(Literal(BOOLEAN, nullable=False, value=True), condition)
    return condition


def _bind_order(
    arguments: ClauseBinder,
    argument: Expression | None,
    name: str,
    written: syntax.FunctionCall,
) -> tuple[Expression | None, tuple[Expression, ...], Directions, float | None]:
    keys, directions = [], []
    for item in written.order_by:
        key = arguments.bind_and_check_size(item.expression)
        if written.distinct and key is not argument:
            raise refusal(
                "E404",
                f"{name}(DISTINCT …) is ordered by another expression than its argument",
                item.expression.span,
                note="rows that differ in it are one value",
            )
        nulls_first = item.descending if item.nulls_first is None else item.nulls_first
        keys.append(key)
        directions.append((item.descending, nulls_first))
    return argument, tuple(keys), tuple(directions), None


def _apply_filter(
    binder: ClauseBinder, argument: Expression | None, condition: syntax.Expression
) -> Expression:
    """Return the argument if the condition is TRUE, otherwise NULL, which aggregates ignore."""
    kept = binder.bind_condition_and_check_size(condition)
    if argument is None:
        argument = Literal(BOOLEAN, nullable=False, value=True)
    return _where(argument, kept)


def _with_filter(
    arguments: ClauseBinder, call: AggregateCall, written: syntax.FunctionCall
) -> AggregateCall:
    if written.filter is not None:
        call = replace(call, argument=_apply_filter(arguments, call.argument, written.filter))
    arguments.source_spans.add(call, written.span)
    return call


def _where(argument: Expression, condition: Expression) -> Expression:
    nothing = Literal(argument.type, nullable=True, value=None)
    return Case(argument.type, nullable=True, branches=((condition, argument),), otherwise=nothing)


def _does_not_take(
    function: AggregateFunction,
    name: str,
    argument: Expression | None,
    written: syntax.FunctionCall,
) -> Refusal:
    assert argument is not None
    shown: Sequence[syntax.Expression | syntax.Star] = written.arguments
    if function in _PERCENTILES and written.order_by:
        shown = [written.order_by[0].expression]
    return refusal(
        "E401",
        f"{name} does not take {argument.type}",
        (shown[0] if shown else written).span,
        f"this is {argument.type}",
        note=f"{name} takes {TAKES[function]}",
    )
