"""Documents: which expressions are texts of JSON, and how values become parts of one.

A document in a document is not quoted: `JSON_OBJECT(KEY 'a' VALUE j)` has j as it is, if j is declared as
JSON or JSONB, or the result of a function that gives JSON.  A text of such a column that is not JSON, as
text in JSON input may be, is a string.  So it is with fields of rows, and with aggregates that are a value of
their argument.  Elements of arrays and maps are documents if these are made by ARRAY[…] and MAP[…], not in
columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import (
    AggregateFunction,
    Call,
    Case,
    Cast,
    ColumnRef,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.json_clauses import QUERIES
from fsql.compiler.functions.json_functions import DOCUMENTS
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.schema import JsonTexts

    Documents = Callable[[Expression], JsonTexts]
    """Which texts of a column, or of another value that is not computed by the expression, are documents."""

_CHOICES: Final = {"coalesce", "greatest", "least"}
_COMPUTED: Final = {AggregateFunction.PYTHON, AggregateFunction.MATCH_RECOGNIZE}
"""Aggregates whose values are none of the values of their arguments, although they may have the same type."""


def json_texts(  # noqa: PLR0911 - one for each kind of expression
    expression: Expression, columns: Documents
) -> JsonTexts:
    """Return whether an expression is a text of JSON wherever it is not NULL; of a ROW, for each field."""
    match expression:
        case ColumnRef():
            texts = columns(expression)
            return texts if isinstance(texts, tuple) or expression.type == STRING else False
        case FieldAccess(argument=argument, index=index):
            texts = json_texts(argument, columns)
            return texts[index] if isinstance(texts, tuple) else False
        case Call(function="row", arguments=arguments):
            fields = tuple(json_texts(each, columns) for each in arguments)
            return fields if any(fields) else False
        case Call(function=name) if name in _CHOICES:
            return _texts_of_all(expression.arguments, columns)
        case Call(function=name):
            return name in DOCUMENTS or (name in QUERIES and expression.type == STRING)
        case Case(branches=branches, otherwise=otherwise):
            return _texts_of_all([*(result for _, result in branches), otherwise], columns)
        case Cast(argument=argument) if _renames(expression):
            return json_texts(argument, columns)
        case Literal():
            return False
        case _:
            return columns(expression)


def json_texts_of_aggregate(call: AggregateCall, columns: Documents) -> JsonTexts:
    """Return the same for the value of an aggregate: some are one of the values of their argument."""
    argument = call.argument
    computed = argument is None or call.type != argument.type or call.function in _COMPUTED
    return False if argument is None or computed else json_texts(argument, columns)


def _texts_of_all(choices: Sequence[Expression], columns: Documents) -> JsonTexts:
    present = [each for each in choices if not (isinstance(each, Literal) and each.value is None)]
    texts = [json_texts(each, columns) for each in present]
    return texts[0] if texts and all(each == texts[0] for each in texts) else False


def _renames(expression: Cast) -> bool:
    """Return whether a cast gives the fields of a ROW other names, and nothing else."""
    fields = expression.type.fields
    return bool(fields) and expression.argument.type.field_types == expression.type.field_types


def has_document(expression: Expression, columns: Documents) -> bool:
    """Return whether an expression is a document, or a ROW(…), ARRAY[…] or MAP[…] with one."""
    entries = _entries(expression)
    parts = _parts(expression) if entries is None else [value for _, value in entries]
    if parts is None:
        return bool(json_texts(expression, columns))
    return any(has_document(each, columns) for each in parts)


def _parts(expression: Expression) -> Sequence[Expression] | None:
    """Return the fields of a ROW(…) or STRUCT(…), or the elements of an ARRAY[…]; None for others."""
    while isinstance(expression, Cast) and _renames(expression):
        expression = expression.argument
    constructs = isinstance(expression, Call) and expression.function in {"row", "array"}
    return expression.arguments if constructs and isinstance(expression, Call) else None


def _entries(expression: Expression) -> list[tuple[Expression, Expression]] | None:
    """Return the keys and values of a MAP[…]; None for others."""
    match expression:
        case Call(function="map_from_entries", arguments=(Call(function="array", arguments=rows),)):
            # Each ROW(key, value) is cast to the names of the fields of an entry.
            made = [
                row.argument
                if isinstance(row, Cast) and row.argument.type.field_types == row.type.field_types
                else row
                for row in rows
            ]
            entries = [
                (row.arguments[0], row.arguments[1])
                for row in made
                if isinstance(row, Call) and row.function == "row" and len(row.arguments) == 2
            ]
            return entries if len(entries) == len(rows) else None
        case _:
            return None


def as_document(
    expression: Expression, columns: Documents, call: Callable[..., Expression]
) -> Expression:
    """Return the JSON of an expression that `has_document`; `call` makes the calls of functions."""

    def document_of(part: Expression) -> Expression:
        if has_document(part, columns):
            return as_document(part, columns, call)
        return part if part.type.kind is Kind.NULL else call("json_string", part)

    entries, parts = _entries(expression), _parts(expression)
    if entries is not None:
        rows = [call("row", key, document_of(value)) for key, value in entries]
        return call("json_of_documents", call("map_from_entries", call("array", *rows)))
    may_be_null = parts is None and expression.nullable
    if parts is None and expression.type.fields:
        parts = [
            FieldAccess(child, nullable=True, argument=expression, index=index)
            for index, child in enumerate(expression.type.field_types)
        ]
    if parts is not None:
        values = [document_of(each) for each in parts]
        names = [Literal(STRING, nullable=False, value=name) for name, _ in expression.type.fields]
        pairs = [each for pair in zip(names, values, strict=False) for each in pair]
        made = call("json_object", *pairs) if names else call("json_build_array", *values)
        return _unless_null(expression, made, call) if may_be_null else made
    if not _may_be_text(expression):
        return expression
    return Case(
        STRING,
        expression.nullable,
        branches=((call("json_valid", expression), expression),),
        otherwise=call("json_string", expression),
    )


def _unless_null(row: Expression, made: Expression, call: Callable[..., Expression]) -> Expression:
    """Return what is made of a row, NULL if the row is NULL."""
    nothing = Literal(STRING, nullable=True, value=None)
    return Case(STRING, nullable=True, branches=((call("is_null", row), nothing),), otherwise=made)


def _may_be_text(expression: Expression) -> bool:
    """Return whether a document may come from a column, whose texts need not be JSON."""
    match expression:
        case Call(function=name, arguments=arguments) if name in _CHOICES:
            return any(map(_may_be_text, arguments))
        case Case(branches=branches, otherwise=otherwise):
            return _may_be_text(otherwise) or any(_may_be_text(result) for _, result in branches)
        case _:
            return not isinstance(expression, Call)
