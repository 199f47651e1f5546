"""Changes with the values that they leave out, as rows: what a temporal join reads of a table of changes.

`ApplyChanges` keeps the row of each key, and takes the values from there; its rows are the table and not the
changes.  Here the last value that a row of the key has is the value of a running aggregate:

    changes  →  Over by key: for each value, LAST_VALUE(CASE WHEN it is there THEN ROW(value) END),
                and whether the last row with all values is present
             →  Filter: a row that lacks values fails if no earlier row is present (E527)
             →  Project: the keys, the values, and whether the row is present
"""

from __future__ import annotations

from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    ColumnRef,
    Expression,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.logical import (
    VALUE_MARKS,
    ApplyChanges,
    Filter,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    mark_count,
)
from fsql.compiler.planner.rows import column_refs
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING


def whole_changes(table: ApplyChanges, present: str) -> Plan:
    """Return the changes of a table: its keys and values, then whether the row is there.

    The last column is called `present`.
    """
    names = (*(column.name for column in table.schema), present)
    if table.unavailable is None:
        return Project(table.input, (*table.keys, *table.values, table.present), names)
    changes = Project(
        table.input,
        (*table.keys, *table.values, table.present, table.unavailable),
        (*names, "unavailable"),
    )
    columns = column_refs(changes)
    keys, values = columns[: len(table.keys)], columns[len(table.keys) : -2]
    kept = changes.schema[len(keys) : -2]
    is_there, marks = columns[-2:]
    last = _LastValues(len(columns), marks)
    known = last.of(is_there, call("is_null", marks))
    whole = [
        # Event time is never left out: such an event is a malformed row.
        value if column.time_attribute else last.whole(value, place, ())
        for value, column, place in zip(values, kept, table.marks, strict=True)
    ]
    read = Over(changes, tuple(keys), tuple(last.calls), tuple(last.names))
    lacks = call("and", call("is_not_null", marks), is_there)
    lacks = call("and", lacks, call("not", call("coalesce", known, _truth(value=False))))
    fails = call("unavailable_value", is_there)
    good = Case(BOOLEAN, nullable=False, branches=((lacks, fails),), otherwise=_truth(value=True))
    return Project(Filter(read, good), (*keys, *whole, is_there), names)


class _LastValues:
    """The running aggregates over changes of `width` columns, of which `marks` says what is left out."""

    def __init__(self, width: int, marks: Expression) -> None:
        self.calls: list[OverCall] = []
        self.names: list[str] = []
        self._width = width
        self._marks = marks

    def of(self, value: Expression, is_there: Expression) -> Expression:
        """Return the value in the last row of the key in which it is there."""
        row = call("row", value)
        wrapped = row.type
        given = Case(
            wrapped,
            nullable=True,
            branches=((is_there, row),),
            otherwise=Literal(wrapped, nullable=True, value=None),
        )
        aggregate = AggregateCall(AggregateFunction.LAST_VALUE, given, wrapped, nullable=True)
        column = ColumnRef(wrapped, nullable=True, index=self._width + len(self.calls))
        self.calls.append(OverCall(aggregate, FrameEnd.CURRENT_ROW))
        self.names.append(f"last{len(self.names)}")
        return FieldAccess(value.type, nullable=True, argument=column, index=0)

    def whole(self, value: Expression, place: int, above: tuple[int, ...]) -> Expression:
        """Return a value, or the last one where its mark, or one of those `above` it, is set.

        The mark of the value is at `place`.
        """
        marked = (*above, place)
        last = self.of(value, self._is_there(marked))
        if not value.type.fields:
            return _typed(last, value)
        fields = []
        place += 1
        for index, child in enumerate(value.type.field_types):
            field = FieldAccess(child, nullable=True, argument=value, index=index)
            fields.append(self.whole(field, place, marked))
            place += mark_count(child)
        made = coerce(call("row", *fields), value.type)
        nothing = Literal(value.type, nullable=True, value=None)
        both = Case(
            value.type,
            nullable=True,
            branches=((call("is_null", last), nothing),),
            otherwise=made,
        )
        return _typed(both, value)

    def _is_there(self, places: tuple[int, ...]) -> Expression:
        """Return whether none of the marks is set."""
        result: Expression = _truth(value=True)
        for place in places:
            start, length = (_number(each) for each in (place + 1, 1))
            mark = call("substring", self._marks, start, length)
            unset = call("ne", mark, Literal(STRING, nullable=False, value=VALUE_MARKS[1]))
            result = call("and", result, call("coalesce", unset, _truth(value=True)))
        return result


def _typed(value: Expression, column: Expression) -> Expression:
    """Return a value that is not NULL if the column is not: a row has a value, or fails."""
    if column.nullable:
        return value
    return call("coalesce", value, column)


def _number(value: int) -> Expression:
    return Literal(BIGINT, nullable=False, value=value)


def _truth(*, value: bool) -> Expression:
    return Literal(BOOLEAN, nullable=False, value=value)
