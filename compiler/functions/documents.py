"""Documents: which expressions are texts of JSON, and how values become parts of one.

A document in a document is not quoted: `JSON_OBJECT(KEY 'a' VALUE j)` has j as it is, if j is declared as
JSON or JSONB, or the result of a function that gives JSON.  A text of such a column that is not JSON, as
text in JSON input may be, is a string.  Fields of rows and elements of arrays of columns are not known
to be documents, those of ROW(…), STRUCT(…), ARRAY[…] and MAP[…] are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Literal
from fsql.compiler.functions.json_clauses import QUERIES
from fsql.compiler.functions.json_functions import DOCUMENTS
from fsql.compiler.sqltypes import STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Expression

    Documents = Callable[[int], bool]
    """Whether a column of the input is a document."""

_CHOICES: Final = {"coalesce", "greatest", "least"}


def is_document(expression: Expression, columns: Documents) -> bool:
    """Return whether an expression is a text of JSON wherever it is not NULL."""
    match expression:
        case ColumnRef(index=index, type=kind):
            return kind == STRING and columns(index)
        case Call(function=name) if name in _CHOICES:
            return _are_documents(expression.arguments, columns)
        case Call(function=name):
            return name in DOCUMENTS or (name in QUERIES and expression.type == STRING)
        case Case(branches=branches, otherwise=otherwise):
            return _are_documents([*(result for _, result in branches), otherwise], columns)
        case _:
            return False


def _are_documents(choices: Sequence[Expression], columns: Documents) -> bool:
    present = [each for each in choices if not (isinstance(each, Literal) and each.value is None)]
    return bool(present) and all(is_document(each, columns) for each in present)


def has_document(expression: Expression, columns: Documents) -> bool:
    """Return whether an expression is a document, or a ROW(…), ARRAY[…] or MAP[…] with one."""
    entries = _entries(expression)
    parts = _parts(expression) if entries is None else [value for _, value in entries]
    if parts is None:
        return is_document(expression, columns)
    return any(has_document(each, columns) for each in parts)


def _parts(expression: Expression) -> Sequence[Expression] | None:
    """Return the fields of a ROW(…) or STRUCT(…), or the elements of an ARRAY[…]; None for others."""
    while isinstance(expression, Cast) and expression.type.fields:
        given = expression.argument.type
        if given.field_types != expression.type.field_types:
            return None
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
    if parts is not None:
        values = [document_of(each) for each in parts]
        names = [Literal(STRING, nullable=False, value=name) for name, _ in expression.type.fields]
        pairs = [each for pair in zip(names, values, strict=False) for each in pair]
        return call("json_object", *pairs) if names else call("json_build_array", *values)
    if not _may_be_text(expression):
        return expression
    return Case(
        STRING,
        expression.nullable,
        branches=((call("json_valid", expression), expression),),
        otherwise=call("json_string", expression),
    )


def _may_be_text(expression: Expression) -> bool:
    """Return whether a document may come from a column, whose texts need not be JSON."""
    match expression:
        case Call(function=name, arguments=arguments) if name in _CHOICES:
            return any(map(_may_be_text, arguments))
        case Case(branches=branches, otherwise=otherwise):
            return _may_be_text(otherwise) or any(_may_be_text(result) for _, result in branches)
        case _:
            return isinstance(expression, ColumnRef)
