"""Bound expressions as SQL-like text.

Columns are written by name, so the caller passes the name of each column of the input; `labels` returns
unique names. Coercions are written as casts: the text shows what is computed. It does not show the width of
integer constants, nor the shape of a chain of AND or of OR, which makes no difference.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.literals import interval_text, literal_text, name_text
from fsql.compiler.explain.row_patterns import row_pattern_text
from fsql.compiler.expression import (
    AggregateFunction,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.functions.python_functions import PREFIX, shown_name
from fsql.compiler.logical import FrameEnd
from fsql.compiler.node import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.logical import OrderKey, OverCall, TimeRange
    from fsql.compiler.schema import Schema

_OR, _AND, _NOT, _COMPARISON, _CONCAT, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)
"""The precedence of operators, from the lowest."""

_INFIX: Final = {
    "or": ("OR", _OR),
    "and": ("AND", _AND),
    "eq": ("=", _COMPARISON),
    "ne": ("<>", _COMPARISON),
    "lt": ("<", _COMPARISON),
    "le": ("<=", _COMPARISON),
    "gt": (">", _COMPARISON),
    "ge": (">=", _COMPARISON),
    "like": ("LIKE", _COMPARISON),
    "concat": ("||", _CONCAT),
    "add": ("+", _SUM),
    "subtract": ("-", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
    "multiply_interval": ("*", _PRODUCT),
    "divide_interval": ("/", _PRODUCT),
    "modulo": ("%", _PRODUCT),
}
_POSTFIX: Final = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL"}
_PREFIX: Final = {"not": ("NOT ", _NOT), "negate": ("-", _SIGN)}

_TextTree = str | tuple["_TextTree", ...]
"""Text in pieces: a chain of ANDs may have thousands of terms, and each piece is copied only once."""
_Text = tuple[_TextTree, int]


def expression_text(expression: Expression, names: Sequence[str], parameters: int = 0) -> str:
    """Return `expression` as SQL-like text; `names` are those of the input's columns.

    It is inside lambdas with `parameters`, which are named $1, $2 and so on.
    """
    texts: dict[object, _Text] = {}
    for node in walk(expression):  # Children precede parents, so there is no recursion.
        if isinstance(node, Expression):
            texts[node] = (
                (_lambda_text(node, texts, parameters), _ATOM)
                if isinstance(node, LambdaCall)
                else _text(node, names, texts)
            )
    return _join(texts[expression][0])


def aggregate_text(call: AggregateCall, names: Sequence[str]) -> str:
    """Return an aggregate call in the form of SQL."""
    if call.pattern is not None and isinstance(call.argument, Cast):
        row = call.argument.argument
        given = row.arguments if isinstance(row, Call) else ()
        fields = [expression_text(each, names) for each in given]
        return f"MATCH_RECOGNIZE({row_pattern_text(call.pattern, fields, expression_text)})"
    argument = "*" if call.argument is None else expression_text(call.argument, names)
    if call.python is not None:
        return f"{shown_name(call.python)}({argument})"
    parts = ["DISTINCT " if call.distinct else "", argument]
    others = [expression_text(each, names) for each in call.others]
    if call.directions:
        keys = [
            f"{key}{' DESC' if descending else ''}{_nulls(descending, nulls_first)}"
            for key, (descending, nulls_first) in zip(others, call.directions, strict=True)
        ]
        parts.append(f" ORDER BY {', '.join(keys)}")
        parts += [", position"] if call.by_position else []
    else:
        parts += [f", {other}" for other in others]
    if call.function is AggregateFunction.FIRST_VALUE and call.parameter is not None:
        return f"NTH_VALUE({argument}, {call.parameter:.0f})"
    if call.function is AggregateFunction.LAST_VALUE and call.parameter is not None:
        return f"NTH_LAST_VALUE({argument}, {call.parameter:.0f})"
    if call.function is AggregateFunction.ARRAY_AGG and call.parameter is not None:
        which = "FIRST" if call.parameter > 0 else "LAST"
        parts.append(f" {which} {abs(call.parameter):.0f}")
    elif call.parameter is not None:
        parts.append(f", {call.parameter}")
    if call.ignore_nulls:
        parts.append(" IGNORE NULLS")
    if call.chart is not None:
        time = call.others[0].type
        start, end, *pixels = call.chart
        bounds = [literal_text(each, time) for each in (start, end)]
        parts += [f", {each}" for each in (*bounds, *(size for size in pixels if size))]
    return f"{call.function.value}({''.join(parts)})"


def _nulls(descending: bool, nulls_first: bool) -> str:  # noqa: FBT001 - a pair of the call
    return "" if descending is nulls_first else f" NULLS {'FIRST' if nulls_first else 'LAST'}"


def running_text(call: OverCall, names: Sequence[str]) -> str:
    """Return a running aggregate with its frame, in the form of SQL after PARTITION BY."""
    return f"{aggregate_text(call.aggregate, names)} {_frame_text(call, names)}"


def _frame_text(call: OverCall, names: Sequence[str]) -> str:
    if call.frame_end is FrameEnd.ONE_PRECEDING:
        return "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    ordered = "ROWS"
    if call.time is not None:
        ordered = f"ORDER BY {expression_text(call.time, names)} RANGE"
        if call.end_preceding:
            start = "UNBOUNDED" if call.preceding is None else interval_text(call.preceding)
            end = interval_text(call.end_preceding)
            return f"{ordered} BETWEEN {start} PRECEDING AND {end} PRECEDING"
    if call.end_preceding or call.delay:
        of = f" of the row {call.delay} before" if call.delay else ""
        bounds = f"{_bound_text(call.preceding)} AND {_bound_text(call.end_preceding)}"
        return f"ROWS BETWEEN {bounds}{of}"
    if call.preceding is None:
        return f"{ordered} UNBOUNDED PRECEDING"
    start = interval_text(call.preceding) if call.time is not None else str(call.preceding)
    return f"{ordered} {start} PRECEDING"


def _bound_text(preceding: int | None) -> str:
    if preceding is None:
        return "UNBOUNDED PRECEDING"
    if preceding == 0:
        return "CURRENT ROW"
    return f"{abs(preceding)} {'PRECEDING' if preceding > 0 else 'FOLLOWING'}"


def order_text(key: OrderKey, names: Sequence[str]) -> str:
    """Return a key of ORDER BY; the order of NULLs is only included if it is not the default."""
    text = expression_text(key.expression, names) + (" DESC" if key.descending else "")
    if key.nulls_first == key.descending:
        return text
    return text + (" NULLS FIRST" if key.nulls_first else " NULLS LAST")


def range_text(bound: TimeRange, left: Sequence[str], right: Sequence[str]) -> str:
    """Return the bound on a join's times as a BETWEEN."""

    def bound_text(by_us: int) -> str:
        name = column_text(left, bound.left_time)
        return f"{name} {'-' if by_us < 0 else '+'} {interval_text(abs(by_us))}" if by_us else name

    low, high = bound_text(bound.low_us), bound_text(bound.high_us)
    return f"{column_text(right, bound.right_time)} BETWEEN {low} AND {high}"


def labels(schema: Schema) -> tuple[str, ...]:
    """Return a unique name for each column: a name of several columns gets the index as a suffix."""
    count = Counter(column.name for column in schema)
    return tuple(
        name_text(column.name) if count[column.name] == 1 else f"{name_text(column.name)}#{index}"
        for index, column in enumerate(schema)
    )


def column_text(names: Sequence[str], index: int) -> str:
    """Return the name of the column at `index`; plans with invalid indexes are printed as well."""
    return names[index] if 0 <= index < len(names) else f"${index}"


def _text(  # noqa: PLR0911 - one a form
    node: Expression, names: Sequence[str], texts: Mapping[object, _Text]
) -> _Text:
    match node:
        case ColumnRef(index=index):
            return column_text(names, index), _ATOM
        case Literal(value=value, type=kind):
            text = literal_text(value, kind)
            return text, _SIGN if text.startswith("-") else _ATOM
        case Cast(argument=argument, type=kind):
            return ("CAST(", texts[argument][0], f" AS {kind})"), _ATOM
        case TryCast(argument=argument, type=kind):
            return ("TRY_CAST(", texts[argument][0], f" AS {kind})"), _ATOM
        case Case():
            return _case_text(node, texts), _ATOM
        case FieldAccess(argument=argument, index=index):
            return _field_text(argument, index, texts), _ATOM
        case InSet(argument=argument, values=values, negated=negated):
            listed = ", ".join(literal_text(value, argument.type) for value in values)
            operator = "NOT IN" if negated else "IN"
            return (_in_brackets(texts[argument], _CONCAT), f" {operator} ({listed})"), _COMPARISON
        case Call(function=function, arguments=arguments):
            return _call_text(function, [texts[argument] for argument in arguments])
        case _:
            raise AssertionError(node)


def _field_text(argument: Expression, index: int, texts: Mapping[object, _Text]) -> _TextTree:
    fields = argument.type.fields
    name = name_text(fields[index][0]) if index < len(fields) else f"${index}"
    return (_in_brackets(texts[argument], _ATOM), ".", name)


_CAPTURED_MAX: Final = 40
"""Longer texts of values that a lambda captures are written once, after it."""


def _lambda_text(call: LambdaCall, texts: Mapping[object, _Text], parameters: int) -> _TextTree:
    """Return `TRANSFORM(tags, $1 -> $1 || name)`."""
    own = 2 if call.function is LambdaFunction.REDUCE else 1
    names = [f"${parameters + number}" for number in range(1, own + 1)]
    shown = names[0] if own == 1 else f"({', '.join(names)})"
    known = parameters + own
    captures: list[str] = []
    for captured in call.captured:
        text = _join(_in_brackets(texts[captured], _ATOM))
        if len(text) > _CAPTURED_MAX:
            known += 1
            captures.append(f", ${known} = {text}")
            text = f"${known}"
        names.append(text)
    inside = expression_text(call.body.expression, names, known)
    listed = tuple(piece for each in call.arguments for piece in (texts[each][0], ", "))
    return (f"{call.function.value}(", *listed, f"{shown} -> {inside}", *captures, ")")


def _case_text(case: Case, texts: Mapping[object, _Text]) -> _TextTree:
    whens: list[_TextTree] = []
    for condition, result in case.branches:
        whens += (" WHEN ", texts[condition][0], " THEN ", texts[result][0])
    return ("CASE", *whens, " ELSE ", texts[case.otherwise][0], " END")


def _call_text(function: str, arguments: list[_Text]) -> _Text:
    if function in _INFIX and len(arguments) == 2:
        return _infix_text(function, *arguments)
    if function in _POSTFIX and len(arguments) == 1:
        return (_in_brackets(arguments[0], _CONCAT), " ", _POSTFIX[function]), _COMPARISON
    if function in _PREFIX and len(arguments) == 1:
        sign, level = _PREFIX[function]
        return (sign, _in_brackets(arguments[0], level + 1)), level
    listed = tuple(piece for text, _ in arguments for piece in (", ", text))[1:]
    if function == "array":
        return ("ARRAY[", *listed, "]"), _ATOM
    name = shown_name(function) if function.startswith(PREFIX) else function.upper()
    return (f"{name}(", *listed, ")"), _ATOM


def _infix_text(function: str, left: _Text, right: _Text) -> _Text:
    """Return an infix operator: chains may have any shape; comparisons are not chained."""
    sign, level = _INFIX[function]
    left_level = level + 1 if level == _COMPARISON else level
    right_level = level if level in {_AND, _OR} else level + 1
    return (_in_brackets(left, left_level), f" {sign} ", _in_brackets(right, right_level)), level


def _in_brackets(text: _Text, level: int) -> _TextTree:
    """Return the text, in brackets if its precedence is lower than `level`."""
    return text[0] if text[1] >= level else ("(", text[0], ")")


def _join(tree: _TextTree) -> str:
    pieces: list[str] = []
    waiting: list[_TextTree] = [tree]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            waiting.extend(reversed(piece))
    return "".join(pieces)
