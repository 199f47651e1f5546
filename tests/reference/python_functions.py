"""Functions in Python of tests, called by the oracle; their values are the same in SQL and in Python.

A row is a dict in Python and a tuple in SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from fsql.compiler.functions.python_functions import loaded_function
from fsql.compiler.sqltypes import Kind
from fsql.tests.reference.failure import FailureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Call, Value
    from fsql.compiler.sqltypes import SqlType

PREFIX = "python "
RAISED = 508


def _in_python(value: Any, of: SqlType) -> Any:
    if value is None or of.kind is not Kind.ROW:
        return value
    pairs = zip(of.fields, value, strict=True)
    return {name: _in_python(each, type_) for (name, type_), each in pairs}


def call_in_python(expression: Call, values: Sequence[Any]) -> Value:
    """Return the value of a function, none of whose arguments is NULL.

    Raises:
        FailureError: it raised.
    """
    pairs = zip(values, expression.arguments, strict=True)
    given = [_in_python(value, argument.type) for value, argument in pairs]
    try:
        made = loaded_function(expression.function).compute(*given)
    except Exception:  # noqa: BLE001 - whatever it is, the row fails
        raise FailureError(RAISED) from None
    if expression.type.kind is Kind.ARRAY:
        return tuple(cast("Any", made))
    return cast("Value", made)
