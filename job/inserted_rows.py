"""Rows that a program inserts into a table of a session, as columns of the types that the table declares.

Rows are dictionaries, tuples or lists in the order of the columns, changes of a result, or an object with
the Arrow PyCapsule interface.  A column that is missing in a row is NULL.  Values are never converted to
another kind, except whole numbers to other numbers, and FLOAT to DOUBLE.  If a value does not fit, nothing is
inserted.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.sqltypes import FLOATING, INTEGER_RANGES, STRING, Kind, SqlType
from fsql.job.memory import ArrowStream, stored_column
from fsql.job.result_rows import Change
from fsql.runtime.arrow_schema import sql_type_of
from fsql.runtime.arrow_types import outside_type
from fsql.runtime.ports import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.job.session_table import SessionTable

Inserted: TypeAlias = ArrowStream | Iterable[Mapping[str, Any] | tuple[Any, ...] | list[Any]]
"""The rows that a program can insert; a `Change` is a tuple as well."""

_WHOLE: Final = tuple(INTEGER_RANGES)
_VALUES: Final[Mapping[Kind, tuple[type, ...]]] = {
    Kind.BOOLEAN: (bool, np.bool_),
    **dict.fromkeys(_WHOLE, (numbers.Integral,)),
    Kind.FLOAT: (float, np.floating, numbers.Integral),
    Kind.DOUBLE: (float, np.floating, numbers.Integral),
    Kind.DECIMAL: (Decimal, numbers.Integral),
    Kind.STRING: (str,),
    Kind.BYTES: (bytes, bytearray, memoryview),
    Kind.DATE: (dt.date,),
    Kind.TIME: (dt.time,),
    Kind.TIMESTAMP: (dt.datetime, np.datetime64),
    Kind.INTERVAL: (dt.timedelta, np.timedelta64),
    Kind.ARRAY: (list, tuple, np.ndarray),
    Kind.ROW: (Mapping, tuple),
    Kind.MAP: (Mapping,),
}
"""The Python types of the values of each kind; None is NULL of every kind."""
_NOT_VALUES: Final[Mapping[Kind, tuple[type, ...]]] = {
    Kind.DATE: (dt.datetime,),
    **dict.fromkeys((*_WHOLE, *FLOATING, Kind.DECIMAL), (bool,)),
}
"""Subclasses of these types that are values of another kind."""
_TEXT_MAX: Final = 60
_REFUSED: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""The errors of Arrow for values that a type does not have."""


def stored_rows(table: SessionTable, rows: Inserted) -> pa.Table:
    """Return inserted rows as columns of the table, in the types in which sources return them.

    Raises:
        FsqlError: E542, if the rows do not fit the table; E521, if a value is NULL that must not be;
            E524, if the kind of a change is unknown.
    """
    given = _from_arrow(table, rows)
    if given is None:
        given = _from_values(table, _as_list(table, rows))
    columns = [
        stored_column(table.name, name, column, sql_type)
        for (name, sql_type), column in zip(table.physical_columns, given, strict=True)
    ]
    made = pa.table(columns, names=[name for name, _ in table.physical_columns])
    _check_operations(table, made)
    for name in table.required:
        if made[name].null_count:
            row = made[name].is_null().index(pa.scalar(value=True)).as_py()
            message = (
                f'column "{name}" of table "{table.name}" is NULL in row {row + 1} of the insert'
            )
            what = "the event time" if name == table.event_time else "the key"
            helps = (f"give every row a value of {what}",)
            raise FsqlError([Diagnostic("E521", message, helps=helps)])
    return made


def _as_list(table: SessionTable, rows: object) -> list[object]:
    if isinstance(rows, Iterable) and not isinstance(rows, Mapping | str | bytes):
        return list(rows)
    what = "one row" if isinstance(rows, Mapping) else f"what is of type {type(rows).__name__}"
    helps = (
        "insert a list of rows, as dictionaries or tuples, an Arrow table, or a pandas or polars data frame",
    )
    raise _misfit(f'{what} cannot be inserted into table "{table.name}"', *helps)


def _misfit(message: str, *helps: str) -> FsqlError:
    return FsqlError([Diagnostic("E542", message, helps=helps)])


def _from_arrow(table: SessionTable, rows: object) -> list[pa.ChunkedArray] | None:
    """Return the columns of an object with the Arrow PyCapsule interface, None if it has none."""
    if not (hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")):
        return None
    try:
        given = pa.table(rows)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise _misfit(f'rows for table "{table.name}" cannot be read: {error}') from None
    _check_names(table, given.column_names)
    if len(set(given.column_names)) < given.num_columns:
        raise _misfit(f'rows for table "{table.name}" have a column twice')
    columns = []
    for name, sql_type in table.physical_columns:
        if name not in given.column_names:
            columns.append(pa.chunked_array([pa.nulls(len(given), outside_type(sql_type))]))
            continue
        column = given[name]
        found = sql_type_of(column.type)
        if not pa.types.is_null(column.type) and not _converts(found, sql_type):
            shown = column.type if found is None else found
            message = f'column "{name}" of table "{table.name}" is {sql_type}, not {shown}'
            raise _misfit(message, "cast the column before it is inserted")
        columns.append(_as_declared(table, name, column, sql_type))
    return columns


def _as_declared(
    table: SessionTable, name: str, column: pa.ChunkedArray, sql_type: SqlType
) -> pa.ChunkedArray:
    """Convert a column of another number type, or of NULL, to the declared type; return others unchanged."""
    numbers_only = sql_type.kind in (*_WHOLE, *FLOATING, Kind.DECIMAL)
    if not numbers_only and not pa.types.is_null(column.type):
        return column
    try:
        return column.cast(outside_type(sql_type))
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        message = f'column "{name}" of table "{table.name}" does not fit {sql_type}: {reason}'
        raise _misfit(message) from None


def _converts(given: SqlType | None, declared: SqlType) -> bool:
    """Return whether values of a type can be inserted into a column of another one."""
    if given is None:
        return False
    if given.kind is Kind.FLOAT:
        return declared.kind in FLOATING
    if given.kind in _WHOLE:
        return declared.kind in (*_WHOLE, *FLOATING, Kind.DECIMAL)
    if given.element is not None or given.fields:
        return given == declared
    return given.kind is declared.kind


def _check_names(table: SessionTable, given: Iterable[object]) -> None:
    """Check that the table has the columns of the rows.

    Raises:
        FsqlError: E542.
    """
    names = [name for name, _ in table.physical_columns]
    for name in given:
        if name in names:
            continue
        near = near_name(str(name), names)
        helps = () if near is None else (f'a column with a similar name exists: "{near}"',)
        message = f'table "{table.name}" has no column "{name}": it has {", ".join(names)}'
        raise _misfit(message, *helps)


def _from_values(table: SessionTable, rows: Sequence[object]) -> list[pa.ChunkedArray]:
    """Return the columns of rows that are Python values."""
    names = [name for name, _ in table.columns]
    listed: list[list[object]] = [[] for _ in table.physical_columns]
    for number, row in enumerate(rows, 1):
        operation, values = _values(table, names, row, number)
        if table.key:
            values = [operation, *values]
        for column, value in zip(listed, values, strict=True):
            column.append(value)
    columns = []
    for (name, sql_type), column in zip(table.physical_columns, listed, strict=True):
        _check_values(table, name, column, sql_type)
        try:
            columns.append(pa.chunked_array([pa.array(column, outside_type(sql_type))]))
        except _REFUSED as error:
            raise _misfit_of(table, name, column, sql_type, error) from None
    return columns


def _misfit_of(
    table: SessionTable, name: str, values: Sequence[object], sql_type: SqlType, error: Exception
) -> FsqlError:
    """Return the error of the first value that is refused by itself."""
    wanted = outside_type(sql_type)
    for number, value in enumerate(values, 1):
        try:
            pa.array([value], wanted)
        except _REFUSED:
            return _value_error(
                table, name, number, sql_type, f"{_shown(value)}, which does not fit"
            )
    reason = str(error).splitlines()[0]
    return _misfit(f'column "{name}" of table "{table.name}" does not fit {sql_type}: {reason}')


def _values(
    table: SessionTable, names: Sequence[str], row: object, number: int
) -> tuple[object, list[object]]:
    """Return the kind of change of a row, None if it has none, and its values in the order of columns."""
    operation: object = None
    if isinstance(row, Change):
        operation, row = row
        if not table.key and operation != OPERATIONS[0]:
            message = (
                f'table "{table.name}" has no key: it cannot take a change of kind {operation}'
            )
            raise _misfit(message, f'declare it with a key: declare("{table.name}", …, key=[…])')
    if isinstance(row, Mapping):
        _check_names(table, row)
        if table.key and table.operation in row:
            operation = row[table.operation]
        return operation, [row.get(name) for name in names]
    if not isinstance(row, tuple | list):
        message = f'row {number} for table "{table.name}" is of type {type(row).__name__}'
        raise _misfit(message, "give each row as a dictionary or a tuple")
    if len(row) != len(names):
        message = f'row {number} for table "{table.name}" has {len(row)} values, not {len(names)}'
        raise _misfit(message, f"give a value for each of {', '.join(names)}; None is NULL")
    return operation, list(row)


def _check_values(
    table: SessionTable, name: str, values: Sequence[object], sql_type: SqlType
) -> None:
    """Check that values are of the Python types of a SQL type: Arrow would cut 1.5 to 1.

    Raises:
        FsqlError: E542.
    """
    for number, value in enumerate(values, 1):
        if not _fits(value, sql_type):
            found = f"{_shown(value)}, of type {type(value).__name__}"
            raise _value_error(table, name, number, sql_type, found)


def _value_error(
    table: SessionTable, name: str, number: int, sql_type: SqlType, found: str
) -> FsqlError:
    message = (
        f'column "{name}" of table "{table.name}" is {sql_type}, and row {number} of the insert'
        f" has {found}"
    )
    return _misfit(message, "convert the value before it is inserted; None is NULL")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _TEXT_MAX else f"{shown[: _TEXT_MAX - 1]}…"


def _fits(value: Any, sql_type: SqlType) -> bool:  # noqa: ANN401 - any value of Python
    if value is None:
        return True
    kind = sql_type.kind
    if isinstance(value, _NOT_VALUES.get(kind, ())):
        return False
    return isinstance(value, _VALUES.get(kind, ())) and _parts_fit(value, sql_type)


def _parts_fit(value: Any, sql_type: SqlType) -> bool:  # noqa: ANN401 - any value of Python
    if sql_type.kind is Kind.MAP:
        return all(
            _fits(key, sql_type.key) and _fits(each, sql_type.value) for key, each in value.items()
        )
    if sql_type.element is not None:
        return all(_fits(each, sql_type.element) for each in value)
    if not sql_type.fields:
        return True
    if isinstance(value, Mapping):
        known = dict(sql_type.fields)
        return all(name in known and _fits(each, known[name]) for name, each in value.items())
    return len(value) == len(sql_type.fields) and all(map(_fits, value, sql_type.field_types))


def _check_operations(table: SessionTable, rows: pa.Table) -> None:
    """Check the kinds of changes.

    Raises:
        FsqlError: E524.
    """
    if not table.key:
        return
    assert table.physical_columns[0] == (table.operation, STRING)
    for number, operation in enumerate(rows[table.operation].to_pylist(), 1):
        if operation not in {None, *OPERATIONS}:
            message = f'row {number} for table "{table.name}" has the unknown kind of change {operation!r}'
            helps = (f"write one of {', '.join(OPERATIONS)}; None is +U",)
            raise FsqlError([Diagnostic("E524", message, helps=helps)])
