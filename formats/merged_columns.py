"""The columns of files with their own structure: each has the narrowest type for the values of all files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.coercion import common_type
from fsql.compiler.schema import Column, InferenceNote
from fsql.compiler.sqltypes import DOUBLE, FLOATING, STRING, Kind, SqlType, array_of, map_of, row_of
from fsql.formats.inferred_types import NotInferredError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.schema import Schema

_OF_FLOAT: Final = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.UTINYINT, Kind.FLOAT})
"""The kinds whose values FLOAT has."""


class MergedColumns:
    """Columns of several files, in order of appearance, and notes about those that no type holds."""

    def __init__(self) -> None:
        self._types: dict[str, SqlType] = {}
        self._notes: dict[str, str] = {}

    def add(self, name: str, sql_type: SqlType | None, shown: str) -> None:
        """Add a column of a file, whose type in the file is `shown`; its SQL type is None if it has none."""
        known = self._types.get(name)
        if sql_type is None:
            self._notes.setdefault(name, f'"{name}" is STRING: no type has the values of {shown}')
            self._types[name] = STRING
        elif known is None:
            self._types[name] = sql_type
        elif name not in self._notes:
            wider = wider_type(known, sql_type)
            if wider is None:
                self._notes[name] = f'"{name}" is STRING: its types are {known} and {sql_type}'
            self._types[name] = wider or STRING

    def columns(self) -> tuple[Schema, tuple[InferenceNote, ...]]:
        """Return the columns, and the notes.

        Raises:
            NotInferredError: if there is no column.
        """
        if not self._types:
            raise NotInferredError("it has no columns")
        columns = tuple(Column(name, each) for name, each in self._types.items())
        return columns, tuple(InferenceNote(*each) for each in self._notes.items())


def wider_type(one: SqlType, other: SqlType) -> SqlType | None:
    """Return the narrowest type that has the values of both; None if there is none but STRING.

    Of rows, it has the fields of both; the values of one that a file lacks are NULL.  An integer and a number
    with a binary fraction are DOUBLE; an integer with more digits than that keeps is a malformed row.
    """
    if one.fields and other.fields:
        known, added = dict(one.fields), dict(other.fields)
        names = (*known, *(name for name in added if name not in known))
        fields = [(name, _wider_or_one(known.get(name), added.get(name))) for name in names]
        types = [(name, each) for name, each in fields if each is not None]
        return row_of(types) if len(types) == len(fields) else None
    if one.kind is other.kind is Kind.MAP:
        value = wider_type(one.value, other.value) if one.key == other.key else None
        return value and map_of(one.key, value)
    if one.kind is other.kind is Kind.ARRAY:
        assert one.element is not None
        assert other.element is not None
        element = wider_type(one.element, other.element)
        return element and array_of(element)
    kinds = {one.kind, other.kind}
    if kinds & set(FLOATING):
        if Kind.DECIMAL in kinds or not (one.numeric and other.numeric):
            return None
        return common_type([one, other]) if kinds <= _OF_FLOAT else DOUBLE
    return common_type([one, other])


def _wider_or_one(one: SqlType | None, other: SqlType | None) -> SqlType | None:
    return wider_type(one, other) if one and other else one or other


def merged(
    files: Iterable[Iterable[tuple[str, SqlType | None, str]]],
) -> tuple[Schema, tuple[InferenceNote, ...]]:
    """Return the columns of all files, each given by the names, SQL types and types of its columns.

    Raises:
        NotInferredError: if there is no column.
    """
    columns = MergedColumns()
    for file in files:
        for name, sql_type, shown in file:
            columns.add(name, sql_type, shown)
    return columns.columns()
