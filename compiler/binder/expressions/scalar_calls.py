"""Calls of scalar functions: prepares their arguments for a signature."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.array_calls import (
    check_position,
    length_of_dimension,
    of_arrays,
    parts_of_text,
)
from fsql.compiler.binder.expressions.call_arguments import (
    argument_error,
    require_literal,
    require_literals,
)
from fsql.compiler.binder.expressions.concatenation import texts_of
from fsql.compiler.binder.expressions.current_watermark import bind_current_watermark
from fsql.compiler.binder.expressions.forms import FORMS
from fsql.compiler.binder.expressions.operators import unify
from fsql.compiler.binder.expressions.printf import printf_arguments
from fsql.compiler.binder.expressions.row_time import (
    CURRENT_WATERMARK,
    bind_row_time,
    reads_row_time,
)
from fsql.compiler.binder.expressions.typed_calls import typed_call
from fsql.compiler.binder.expressions.worded_calls import check_field
from fsql.compiler.binder.expressions.zoned_texts import local_texts
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.expression import Call, Expression, Literal
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.calls import call, combine_balanced, make_call, make_cast
from fsql.compiler.functions.date_arithmetic import has_whole_days, unit_of
from fsql.compiler.functions.documents import as_document, has_document
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.json_functions import BUILDERS
from fsql.compiler.functions.refused import WINDOW_BOUNDS
from fsql.compiler.functions.table import CALLABLE, FUNCTIONS
from fsql.compiler.sqltypes import DATE, INTEGER_RANGES, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.functions.documents import Documents
    from fsql.compiler.functions.signature import Function


def unknown_function(name: str, written: syntax.FunctionCall) -> Refusal:
    """Return the refusal of a call of a function that does not exist."""
    from fsql.compiler.dialects.advice.functions import OTHER_DIALECTS

    near = near_name(name, (*AGGREGATES, *CALLABLE, *FORMS, *syntax.TAKE_LAMBDAS))
    suggestion = f"a function with a similar name exists: {near}" if near else None
    return refusal(
        "E202",
        f'function "{written.name.parts[-1].name}" does not exist',
        written.name.span,
        help=_bound_help(written, name) or OTHER_DIALECTS.get(name, suggestion),
    )


def _bound_help(written: syntax.FunctionCall, name: str) -> str | None:
    """Return what to write for the bound of a window where GROUP BY has none."""
    if name not in WINDOW_BOUNDS:
        return None
    window = name.partition("_")[0]
    return (
        f"{WINDOW_BOUNDS[name]}, behind GROUP BY {window}(…) or FROM {window}(…)"
        if not written.arguments
        else f"write GROUP BY {window}(…) with the same arguments"
    )


def bind_scalar(binder: ClauseBinder, written: syntax.FunctionCall, name: str) -> Expression:
    """Bind a call of a scalar function.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if reads_row_time(written):
        bind = bind_current_watermark if name == CURRENT_WATERMARK else bind_row_time
        return bind(binder, written)
    if name not in CALLABLE:
        raise unknown_function(name, written)
    function = CALLABLE[name]
    arguments = _bind_arguments(binder, function, written, name)
    spans = [argument.span for argument in written.arguments]
    other = typed_call(name, arguments, spans, binder.zone)
    if other is None:
        other = (
            length_of_dimension(arguments)
            if name == "ARRAY_LENGTH"
            else _unquoted(binder, function, arguments)
        )
    if other is not None:
        return other
    if name in {"CONCAT", "CONCAT_WS"}:
        arguments = texts_of(arguments)
    if name == "CONCAT" and len(arguments) not in {0, 2} and _all_texts(arguments):
        return combine_balanced("concat", arguments)
    if name == "HEX" and len(arguments) == 1 and arguments[0].type.kind in INTEGER_RANGES:
        return call("upper", call("to_hex", *arguments))
    if function.name == "element_at" and len(arguments) == 2:
        check_position(arguments[0], arguments[1], written.arguments[1].span)
    prepared = _prepare_arguments(function, written, name, arguments, binder.json_texts)
    made = _make_call(function, written, name, prepared, binder.zone)
    if function.name == "timestamp_add" and arguments[2].type.kind is Kind.DATE:
        unit = constant_value(arguments[0])
        return make_cast(made, DATE) if isinstance(unit, str) and has_whole_days(unit) else made
    return parts_of_text(arguments, made) if name == "STRING_TO_ARRAY" else made


def _unquoted(
    binder: ClauseBinder, function: Function, arguments: list[Expression]
) -> Expression | None:
    """Return JSON_STRING of a value that is, or has in it, a document; None for other calls."""
    if function.name != "json_string" or len(arguments) != 1:
        return None
    if not has_document(arguments[0], binder.json_texts):
        return None
    return as_document(arguments[0], binder.json_texts, call)


def _bind_arguments(
    binder: ClauseBinder, function: Function, written: syntax.FunctionCall, name: str
) -> list[Expression]:
    """Return the bound arguments of a call.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if name == "DATEDIFF" and len(written.arguments) == 3:
        # The unit is a word, which would be an unknown column.
        raise refusal("E401", "DATEDIFF takes 2 arguments, not 3", written.span, help=_UNITS)
    return [
        bind_argument(binder, _quote_word(binder, function, index, argument))
        for index, argument in enumerate(written.arguments)
    ]


def _prepare_arguments(
    function: Function,
    written: syntax.FunctionCall,
    name: str,
    arguments: list[Expression],
    documents: Documents,
) -> list[Expression]:
    """Return the arguments of a call in the form that the function's signatures require.

    Raises:
        Refusal: E206, E401, E403, E405.
    """
    if name == "CONCAT_WS":
        if len(arguments) < 2 or not _all_texts(arguments):
            raise argument_error(CALLABLE["CONCAT"], name, arguments, written.span)
        texts = [make_cast(argument, STRING) for argument in arguments[1:]]
        arguments = [call("array", *texts), arguments[0]]
    elif function.name == "date_trunc" and arguments:
        arguments = [_singular(arguments[0]), *arguments[1:]]
    elif function.name in {"join_texts", "array_prepend"}:
        arguments = of_arrays(function.name, arguments)
    elif function.name == "printf":
        arguments = printf_arguments(arguments, written)
    elif function.name in BUILDERS:
        arguments = _documents(function, arguments, written, documents)
    elif function.name in {"coalesce", "greatest", "least"} and arguments:
        spans = [argument.span for argument in written.arguments]
        arguments = unify(
            list(zip(arguments, spans, strict=True)), f"arguments of {name} are {{}} and {{}}"
        )
    if any(argument.type.zone for argument in arguments):
        arguments = require_literals(function, arguments, written)
    return arguments


def _singular(unit: Expression) -> Expression:
    """Return a unit in the plural in the singular, any other expression as it is."""
    if isinstance(unit, Literal) and isinstance(unit.value, str):
        return replace(unit, value=unit_of(unit.value))
    return unit


def _make_call(
    function: Function,
    written: syntax.FunctionCall,
    name: str,
    arguments: list[Expression],
    zone: str,
) -> Expression:
    made = make_call(function.name, *arguments)
    if made is None:
        raise argument_error(function, name, arguments, written.span)
    if isinstance(made, Call) and made.function == function.name:
        made = require_literal(function, made, written)
        _check_constants(function, made, written)
        if function.name == "date_part":
            _check_field(arguments, written)
    return local_texts(made, zone, written.span)


def _check_field(arguments: Sequence[Expression], written: syntax.FunctionCall) -> None:
    """Check the field of DATE_PART, if it is one of an interval."""
    field, of = arguments
    if of.type.kind in {Kind.INTERVAL, Kind.MONTHS}:
        check_field(str(constant_value(field)).upper(), of.type.kind, written.arguments[0].span)


def _documents(
    function: Function,
    arguments: list[Expression],
    written: syntax.FunctionCall,
    documents: Documents,
) -> list[Expression]:
    """Return the arguments of JSON_OBJECT and similar functions, converted to JSON documents.

    Raises:
        Refusal: E401 for a key without a value, or a value that cannot be written as JSON.
    """
    paired = function.name in {"json_object", "json_object_without_nulls"}
    if paired and len(arguments) % 2:
        raise refusal("E401", "JSON_OBJECT takes pairs of keys and values", written.span)
    made: list[Expression] = []
    for index, argument in enumerate(arguments):
        is_key = paired and index % 2 == 0
        if is_key or argument.type.kind is Kind.NULL:
            made.append(argument)
            continue
        if has_document(argument, documents):
            made.append(as_document(argument, documents, call))
            continue
        value = make_call("json_string", argument)
        if value is None:
            raise argument_error(FUNCTIONS["json_string"], "JSON_STRING", [argument], written.span)
        made.append(value)
    return made


def _check_constants(function: Function, made: Expression, written: syntax.FunctionCall) -> None:
    """Check the constant arguments of a call together.

    Raises:
        Refusal: E405 if the function does not accept one of them.
    """
    if function.constants_check is None:
        return
    assert isinstance(made, Call)
    if wrong := function.constants_check([constant_value(each) for each in made.arguments]):
        index, message = wrong
        raise refusal("E405", message, written.arguments[index].span)


def _all_texts(arguments: Sequence[Expression]) -> bool:
    return all(argument.type.kind in {Kind.STRING, Kind.NULL} for argument in arguments)


def bind_argument(binder: ClauseBinder, argument: syntax.Expression | syntax.Star) -> Expression:
    """Return a bound argument of a function that takes no `*`.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if isinstance(argument, syntax.Star):
        raise refusal("E404", "only COUNT takes *", argument.span)
    return binder.bind(argument)


_UNITS: Final = (
    "use TIMESTAMPDIFF(HOUR, from, to), which counts whole units, or DATE_DIFF('hour', from, to), which"
    " counts the bounds of units between two times"
)

_BARE_WORDS: Final = frozenset({"unit", "form"})
"""The literals that may be written as a word without quotes: TIMESTAMPADD(DAY, 1, t)."""


def _quote_word(
    binder: ClauseBinder,
    function: Function,
    index: int,
    argument: syntax.Expression | syntax.Star,
) -> syntax.Expression | syntax.Star:
    """Return a word without quotes as a literal, if the function accepts one there.

    A column that is no text stays one if the word is none of the function, so that the error names its type.
    """
    wanted = index == function.literal_index and function.literal_word in _BARE_WORDS
    if not wanted or not isinstance(argument, syntax.ColumnReference) or len(argument.parts) > 1:
        return argument
    word = argument.parts[0]
    check = function.literal_check
    columns = binder.scope.find(word) if check is not None and check(word.name) else ()
    if columns and columns[0].column.type.kind is not Kind.STRING:
        return argument
    return syntax.StringLiteral(argument.span, word.name)
