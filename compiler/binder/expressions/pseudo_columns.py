"""Names of times that are no columns, in milliseconds since 1970: ROWTIME, WINDOWSTART and WINDOWEND."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.expression import Call, Expression
from fsql.compiler.functions.calls import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.scope import Field, Scope


_BOUNDS: Final[Mapping[str, Bound]] = {"WINDOWSTART": Bound.START, "WINDOWEND": Bound.END}
ROW_TIME: Final = "ROWTIME"
MESSAGE_COLUMNS: Final[Mapping[str, str]] = {
    "ROWPARTITION": "ROWPARTITION INT METADATA FROM 'partition' VIRTUAL",
    "ROWOFFSET": "ROWOFFSET BIGINT METADATA FROM 'offset' VIRTUAL",
}
"""The declarations of metadata of messages that has such names elsewhere."""


def pseudo_column(scope: Scope, reference: syntax.ColumnReference) -> Call | None:
    """Return the time to which such a name refers; None for other names, or if there is no such time.

    A column of that name takes precedence, so callers look for one before.
    """
    found = row_time_field(scope, reference)
    bound = _BOUNDS.get(reference.parts[-1].name.upper())
    if bound is not None:
        named = [each for each in _fields(scope, reference) if each.name == bound.value]
        found = named[0] if len(named) == 1 else None
    return None if found is None else _milliseconds(found)


def row_time_field(scope: Scope, reference: syntax.ColumnReference) -> Field | None:
    """Return the event time that ROWTIME means; None for other names, or if there is none or several."""
    if reference.parts[-1].name.upper() != ROW_TIME:
        return None
    bounds = {bound.value for bound in Bound}
    found = [
        each
        for each in _fields(scope, reference)
        if each.column.time_attribute and each.name not in bounds
    ]
    return found[0] if len(found) == 1 else None


def _fields(scope: Scope, reference: syntax.ColumnReference) -> list[Field]:
    """Return the columns of FROM, or of the relation before the name."""
    relation = reference.parts[:-1]
    if len(relation) > 1:
        return []
    owner = relation[0].name.lower() if relation else None
    return [
        field
        for field in scope.fields
        if owner is None or (field.qualifier is not None and field.qualifier.lower() == owner)
    ]


def compared_with_text(
    bound: Expression, written: syntax.Expression, other: syntax.Expression
) -> Expression:
    """Return the time of a pseudo column that is compared with a quoted text; other operands as they are.

    ROWTIME >= '2026-01-01T12:00:00' compares times, not milliseconds.
    """
    if not isinstance(other, syntax.StringLiteral) or not isinstance(
        written, syntax.ColumnReference
    ):
        return bound
    named = written.parts[-1].name.upper() in {*_BOUNDS, ROW_TIME}
    if named and isinstance(bound, Call) and bound.function == "epoch_millis":
        return bound.arguments[0]
    return bound


def _milliseconds(field: Field) -> Call:
    made = call("epoch_millis", field.expression)
    assert isinstance(made, Call)
    return made
