"""Infers the columns of JSON lines from the first records: one for each field, in order of appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.sqltypes import BOOLEAN, NULL
from fsql.formats.inferred_types import (
    Elements,
    NotInferredError,
    Seen,
    common,
    fields_seen,
    inferred_schema,
    number_seen,
    type_of_text,
)
from fsql.formats.json.options import RECORDS
from fsql.formats.json.samples import records_of
from fsql.formats.json.shapes import (
    arrays_of_objects,
    path_text,
    records_path,
)
from fsql.formats.json.strict import Json, Number, parse_object
from fsql.formats.malformed import MalformedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.formats.factories import InferredColumns
    from fsql.formats.settings import Settings


def infer_columns(samples: Sequence[bytes], settings: Settings) -> InferredColumns:
    """Return the columns, and no options; `samples` are the first bytes of each file.

    Malformed records are skipped, because reading reports them.

    Raises:
        NotInferredError: if there is no record.
    """
    path, bytes_max = records_path(settings), settings.record_bytes_max()
    fields: dict[str, Seen] = {}
    for sample in samples:
        for _, text in records_of(sample, path, bytes_max):
            try:
                record = parse_object(text)
            except MalformedError:
                continue
            for name, value in record.items():
                fields[name] = common(fields.get(name, NULL), _seen(value))
    if not fields:
        arrays = [array for sample in samples for array in arrays_of_objects(sample)]
        verb = "write" if path else "add"
        verb = "write" if path else "add"
        helps = [f"{verb} '{RECORDS}' = '{path_text((name,))}'" for name in dict.fromkeys(arrays)]
        reason = "it has no JSON object with a field"
        if path:
            reason += f" at {path_text(path)}"
        raise NotInferredError(reason, *helps)
    columns, notes = inferred_schema(fields)
    return columns, (), notes


def _seen_in(values: list[Json]) -> Seen:
    seen: Seen = NULL
    for value in values:
        seen = common(seen, _seen(value))
    return seen


def _seen(value: Json) -> Seen:
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case str():
            return type_of_text(value)
        case Number():
            return number_seen(value.text)
        case list():
            return Elements(_seen_in(value))
        case dict():
            return fields_seen({name: _seen(each) for name, each in value.items()})
