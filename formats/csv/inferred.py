"""Infers the columns of CSV files from the first records of each file."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import BOOLEAN, DOUBLE, NULL, STRING
from fsql.formats.csv.header import DELIMITERS
from fsql.formats.csv.records import Dialect, Field, split_record
from fsql.formats.inferred_types import (
    Mixed,
    NotInferredError,
    Seen,
    common,
    inferred_schema,
    number_seen,
    type_of_text,
)
from fsql.formats.malformed import MalformedError, decode_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.formats.factories import InferredColumns
    from fsql.formats.settings import Settings

_LINES_MAX: Final = 100
"""In a record with more lines, an open quote is considered never closed."""

_EXAMINED: Final = 100
"""The number of records that show the delimiter."""


def infer_columns(samples: Sequence[bytes], settings: Settings) -> InferredColumns:
    """Return the columns; without a header they are `column1` and so on.

    Malformed records are skipped, because reading reports them.  A number with a leading zero is a text,
    because it is probably a code.  The option is the delimiter, if it is not given and not the default.

    Raises:
        NotInferredError: if there is no header, or no record.
    """
    dialect = Dialect.of(settings)
    delimiter = dialect.delimiter
    if not settings.gives("delimiter"):
        delimiter = _shown_delimiter(samples[0], dialect)
    options = () if delimiter == dialect.delimiter else (("delimiter", delimiter),)
    dialect = dialect._replace(delimiter=delimiter)
    types: dict[str, Seen] = {}
    for sample in samples:
        for name, seen in _columns(_records(sample, dialect), settings):
            types[name] = common(types.get(name, NULL), seen)
    if not types:
        raise NotInferredError("it has no record")
    # Texts of several types are a plain STRING: in CSV every value is a text.
    columns, notes = inferred_schema(
        {name: STRING if isinstance(seen, Mixed) else seen for name, seen in types.items()}
    )
    return columns, options, notes


def _shown_delimiter(sample: bytes, dialect: Dialect) -> str:
    """Return the first delimiter by which the first records have the same number of fields, several.

    If there is none, it is the default.
    """
    for delimiter in DELIMITERS:
        if any(delimiter in each for each in (dialect.quote, dialect.escape, dialect.null)):
            continue
        records = islice(_records(sample, dialect._replace(delimiter=delimiter)), _EXAMINED)
        counts = {len(record) for record in records}
        if len(counts) == 1 and counts != {1}:
            return delimiter
    return dialect.delimiter


def _columns(records: Iterator[list[Field]], settings: Settings) -> list[tuple[str, Seen]]:
    """Return the columns of a file, none if it has no record.

    Raises:
        NotInferredError: if a column has no name, or two have the same.
    """
    first = next(records, None)
    if first is None:
        return []
    has_header = settings.flag("header")
    names = [
        field.text if has_header else f"column{number}" for number, field in enumerate(first, 1)
    ]
    if not all(names):
        raise NotInferredError(f"column {names.index('') + 1} of its header has no name")
    types: list[Seen] = [NULL if has_header else _seen(field, settings) for field in first]
    for record in records:
        if len(record) == len(types):
            types = [
                common(known, _seen(field, settings))
                for known, field in zip(types, record, strict=True)
            ]
    if len(set(names)) < len(names):
        raise NotInferredError("it has a column twice")
    return list(zip(names, types, strict=True))


def _records(sample: bytes, dialect: Dialect) -> Iterator[list[Field]]:
    waiting: list[str] = []
    for line in sample.split(b"\n"):
        try:
            text = decode_utf8(line).removesuffix("\r")
        except MalformedError:
            continue
        if not waiting and not text:
            continue
        waiting.append(text)
        try:
            yield split_record("\n".join(waiting), dialect)
        except MalformedError:
            if len(waiting) < _LINES_MAX:
                continue  # a quote may be closed in a later line
        waiting = []


def _seen(field: Field, settings: Settings) -> Seen:
    text = field.text
    if not field.quoted and text == settings.text("null"):
        return NULL
    if text.lower() in {"true", "false"}:
        return BOOLEAN
    digits = text.lstrip("-")
    if digits.removeprefix(".")[:1].isdecimal():
        return _digits_seen(text, digits)
    return STRING


def _digits_seen(text: str, digits: str) -> Seen:
    """Return what is known of a text that is `digits` and what follows them, after a sign."""
    if digits[0] == "0" and digits[1:2].isdecimal():
        return type_of_text(text)  # such as a code, 007
    if digits.isascii() and digits.isdecimal():
        return number_seen(text)
    try:
        cast_value(text, STRING, DOUBLE)
    except RowFailure:
        return type_of_text(text)
    return number_seen(text)
