"""Programs in Python, run by their definition: `update` for each event, one after the other.

The state stays the object that the program returned; only events and rows are values of SQL.
"""

from __future__ import annotations

import datetime as dt
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from fsql.compiler.functions.python_programs import registered_program
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def value_of_event(name: str, events: Sequence[Any]) -> Value:
    """Return the rows that the last of some events causes, and what it has failed with."""
    run = registered_program(name)
    program, rows = run.loaded.program, run.rows.element
    assert rows is not None
    state: Any = program.init()
    value: Value = None
    for tag, *values in events:
        columns = zip(run.taken, values, strict=True)
        row = {column: _in_python(each, type_) for (column, type_), each in columns}
        try:
            after, made = program.update(0, deepcopy(state), _in_python(tag, run.loaded.tag), row)
            value = tuple(_in_sql(each, rows) for each in made), None
        except Exception:  # noqa: BLE001 - whatever it is, the event fails
            value = None, "508 "
        else:
            state = after
    return value


def _in_python(value: Any, of: SqlType) -> Any:
    if value is None:
        return None
    if of.kind is Kind.TIMESTAMP:
        return _EPOCH + dt.timedelta(microseconds=value)
    if of.kind is Kind.ROW:
        fields = zip(of.fields, value, strict=True)
        return {name: _in_python(each, type_) for (name, type_), each in fields}
    return value


def _in_sql(value: Any, of: SqlType) -> Any:
    if of.kind is Kind.ROW:
        listed = value.values() if isinstance(value, dict) else value
        return tuple(_in_sql(*each) for each in zip(listed, of.field_types, strict=True))
    if isinstance(value, dt.datetime):
        return (value - _EPOCH) // dt.timedelta(microseconds=1)
    return value
