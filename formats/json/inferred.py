"""Infers the columns of JSON lines from the first lines: one for each field, in order of appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BOOLEAN, NULL, SqlType, array_of
from fsql.formats.inferred_types import (
    NotInferredError,
    common_type,
    declared_type,
    object_type,
    type_of_number,
    type_of_text,
)
from fsql.formats.json.strict import Json, Number, parse_object
from fsql.formats.malformed import MalformedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.connectors import Options
    from fsql.compiler.schema import Schema
    from fsql.formats.settings import Settings


def infer_columns(samples: Sequence[bytes], settings: Settings) -> tuple[Schema, Options]:
    """Return the columns, and no options; `samples` are the first lines of each file.

    Malformed records are skipped, because reading reports them.

    Raises:
        NotInferredError: if there is no record, or the values of a field have no common type.
    """
    del settings
    fields: dict[str, SqlType] = {}
    for sample in samples:
        for number, line in enumerate(sample.splitlines(), 1):
            try:
                record = parse_object(line) if line.strip() else {}
            except MalformedError:
                continue
            for name, value in record.items():
                _take(fields, name, value, number)
    if not fields:
        raise NotInferredError("it has no JSON object with a field")
    return tuple(Column(name, declared_type(each)) for name, each in fields.items()), ()


def _take(fields: dict[str, SqlType], name: str, value: Json, line: int) -> None:
    known = fields.get(name, NULL)
    try:
        found = _type_of(value)
    except NotInferredError as error:
        raise NotInferredError(f'field "{name}" has {error} in line {line}') from None
    common = common_type(known, found)
    if common is None:
        raise NotInferredError(f'field "{name}" is {found} in line {line}, and {known} before')
    fields[name] = common


def _type_of(value: Json) -> SqlType:
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case str():
            return type_of_text(value)
        case Number():
            return type_of_number(value.text)
        case list():
            element = NULL
            for each in value:
                common = common_type(element, _type_of(each))
                if common is None:
                    raise NotInferredError("an array of values of several types")
                element = common
            return array_of(element)
        case dict():
            return object_type({name: _type_of(each) for name, each in value.items()})
