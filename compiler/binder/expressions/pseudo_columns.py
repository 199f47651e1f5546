"""The names of ksqlDB for times, in milliseconds since 1970: ROWTIME, WINDOWSTART and WINDOWEND."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound
from fsql.compiler.binder.expressions.operators import call
from fsql.compiler.expression import Call, Expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.scope import Field, Scope

_BOUNDS: Final[Mapping[str, Bound]] = {"WINDOWSTART": Bound.START, "WINDOWEND": Bound.END}
_ROW_TIME: Final = "ROWTIME"
MESSAGE_COLUMNS: Final[Mapping[str, str]] = {
    "ROWPARTITION": "ROWPARTITION INT METADATA FROM 'partition' VIRTUAL",
    "ROWOFFSET": "ROWOFFSET BIGINT METADATA FROM 'offset' VIRTUAL",
}
"""The declarations of metadata of messages that tables of ksqlDB have by themselves."""


def pseudo_column(scope: Scope, reference: syntax.ColumnReference) -> Call | None:
    """Return the time to which a name of ksqlDB refers; None for other names, or if there is no such time.

    A column of that name takes precedence, so callers look for one before.
    """
    *relation, name = reference.parts
    upper = name.name.upper()
    if len(relation) > 1 or (upper not in _BOUNDS and upper != _ROW_TIME):
        return None
    owner = relation[0].name.lower() if relation else None
    fields = [
        field
        for field in scope.fields
        if owner is None or (field.qualifier is not None and field.qualifier.lower() == owner)
    ]
    bounds = {bound.value for bound in Bound}
    if upper == _ROW_TIME:
        found = [each for each in fields if each.column.time_attribute and each.name not in bounds]
    else:
        found = [each for each in fields if each.name == _BOUNDS[upper].value]
    return _milliseconds(found[0]) if len(found) == 1 else None


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
    named = written.parts[-1].name.upper() in {*_BOUNDS, _ROW_TIME}
    if named and isinstance(bound, Call) and bound.function == "epoch_millis":
        return bound.arguments[0]
    return bound


def _milliseconds(field: Field) -> Call:
    made = call("epoch_millis", field.expression)
    assert isinstance(made, Call)
    return made
