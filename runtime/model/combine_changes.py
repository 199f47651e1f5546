"""Changes of a source: the row of a key after each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure, UnavailableFailure
from fsql.compiler.logical import VALUE_MARKS, mark_count
from fsql.runtime.model.item import Failure, Row, State
from fsql.runtime.model.value_order import as_key

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.graph import CombineChanges
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values


class NotThereFailure(RowFailure):
    """E526: a change removes a row that is not there."""

    code: ClassVar[int] = 526

    def __init__(self) -> None:
        super().__init__("removed row does not exist")


def combine_changes(
    function: CombineChanges, before: tuple[Row, ...] | int | None, change: Row, _root: Root
) -> State:
    """Return the state after `change`: the row of the key, if there is one.

    The previous row is retracted even if the new one is the same; their weights cancel in the barrier.
    """
    if function.counted:
        assert not isinstance(before, tuple)
        return _combine_counted(function, before or 0, change)
    assert not isinstance(before, int)
    if before and _other_row(function, before[0], change):
        return State(change, (), before)
    after: tuple[Row, ...] = ()
    if evaluate(function.present, change.values) is True:
        key = tuple(as_key(evaluate(each, change.values)) for each in function.keys)
        values = tuple(evaluate(each, change.values) for each in function.values)
        marks = function.unavailable and evaluate(function.unavailable, change.values)
        if marks is not None:
            values = _whole(function, values, str(marks), before)
        after = (Row(key + values, (function.scan_number,)),)
    removed = tuple(row.retraction() for row in before or ())
    return State(change, (*removed, *after), after)


def _whole(
    function: CombineChanges, values: Values, marks: str, before: tuple[Row, ...] | None
) -> Values:
    """Return the values, with those of the previous row where they are not available.

    Raises:
        UnavailableFailure: if there is no previous row.
    """
    if not before:
        raise UnavailableFailure
    kept = before[0].values[len(function.keys) :]
    return tuple(
        _available(value, old, expression.type, marks[place:])
        for value, old, expression, place in zip(
            values, kept, function.values, function.marks, strict=True
        )
    )


def _available(value: Value, kept: Value, sql_type: SqlType, marks: str) -> Value:
    if marks[0] == VALUE_MARKS[1]:
        return kept
    if not isinstance(value, tuple):
        return value
    fields: list[Value] = []
    place = 1
    for index, child in enumerate(sql_type.field_types):
        old = kept[index] if isinstance(kept, tuple) else None
        fields.append(_available(value[index], old, child, marks[place:]))
        place += mark_count(child)
    return tuple(fields) if fields else value


def _other_row(function: CombineChanges, kept: Row, change: Row) -> bool:
    """Return whether a change removes another row of the key than the one that is kept."""
    if function.whole is None or evaluate(function.whole, change.values) is not True:
        return False
    if evaluate(function.present, change.values) is True:
        return False
    first = len(function.keys)
    return any(
        as_key(kept.values[first + i]) != as_key(evaluate(function.values[i], change.values))
        for i in function.compared
    )


def _combine_counted(function: CombineChanges, before: int, change: Row) -> State:
    """Return the state after `change`: how many rows there are that equal it.

    It is negative while more rows are removed than there are, which is a failure.
    """
    present = evaluate(function.present, change.values) is True
    after = before + (change.weight if present else -change.weight)
    key = tuple(as_key(evaluate(each, change.values)) for each in function.keys)
    old, new = (_rows(function, key, count) for count in (before, after))
    return State(change, (*(each.retraction() for each in old), *new), after)


def _rows(function: CombineChanges, key: Values, count: int) -> tuple[Row | Failure, ...]:
    if count < 0:
        failure = NotThereFailure()
        return (Failure(failure.code, str(failure)),)
    return (Row(key, (function.scan_number,)),) * count
