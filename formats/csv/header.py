"""The indexes of a table's columns in the records of a CSV file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.formats.csv.records import split_record
from fsql.formats.forms import encoding_help, guessed_encoding, other_form
from fsql.formats.malformed import MalformedError, decode_utf8

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fsql.compiler.schema import Schema
    from fsql.formats.csv.records import Dialect


DELIMITERS: Final[Mapping[str, str]] = {",": ",", ";": ";", "\t": "\\t", "|": "|"}
"""Delimiters that are common, and how the option is written."""
ABSENT: Final = -1
_NAMES_MAX: Final = 16


class FieldIndexes(NamedTuple):
    """For each column of the table the index of its field, and the number of fields in a record.

    The index of a column without a field is `ABSENT`.
    """

    indexes: tuple[int, ...]
    width: int


def in_order(columns: Schema) -> FieldIndexes:
    """Return the indexes without a header: fields are in the order of the columns."""
    return FieldIndexes(tuple(range(len(columns))), len(columns))


def read_header(
    header: bytes,
    columns: Schema,
    dialect: Dialect,
    source: str,
    *,
    ordered: bool,
    elsewhere: Collection[str] = (),
) -> FieldIndexes:
    """Return the indexes of the columns from the header line of a file; `source` names it in messages.

    If `ordered`, the columns must be those of the table, in the same order; otherwise it may lack columns
    that other files of the table have, which are named by `elsewhere`.

    Raises:
        FsqlError: E543, if a column is missing or repeated, or the line is malformed.
    """
    source = f'input "{source}"' if ordered else f'path "{source}"'
    names = read_names(header, dialect, source, ordered=ordered)
    wanted = [column.name for column in columns]
    if ordered and names != wanted:
        reason = f"its header has to be {dialect.delimiter.join(wanted)}"
        help_ = "or declare 'header' = 'false', if the first line is a row"
        raise _header_error(source, reason, help_)
    absent = set() if set(wanted).isdisjoint(names) else set(elsewhere)
    for name in wanted:
        if name not in names and name not in absent:
            reason = f'its header has no column "{name}"'
            raise _header_error(source, reason, _help(name, names, wanted), note=_note(names))
        if names.count(name) > 1:
            raise _header_error(source, f'its header has column "{name}" twice')
    at = {name: names.index(name) for name in wanted if name in names}
    return FieldIndexes(tuple(at.get(name, ABSENT) for name in wanted), len(names))


def read_names(header: bytes, dialect: Dialect, source: str, *, ordered: bool = False) -> list[str]:
    """Return the names in the header line of a source.

    Raises:
        FsqlError: E543, if the line is malformed.
    """
    encoding = guessed_encoding(header, at_start=True)
    if encoding is not None:
        form = other_form(header) or f"not UTF-8, and reads as {encoding}"
        helps = () if ordered else (encoding_help(encoding),)
        raise _header_error(source, f"it is {form}", *helps)
    try:
        return [field.text for field in split_record(decode_utf8(header), dialect)]
    except MalformedError as error:
        raise _header_error(source, f"its header is malformed: {error.reason}") from None


def _note(names: Sequence[str]) -> str:
    shown = ", ".join(json.dumps(name, ensure_ascii=False) for name in names[:_NAMES_MAX])
    return f"it has {shown}{'' if len(names) <= _NAMES_MAX else ', …'}"


def _help(missing: str, names: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to do about a header with these names, which lacks a column."""
    for delimiter, written in DELIMITERS.items():
        if any(missing in name.split(delimiter) for name in names if delimiter in name):
            return f"declare 'delimiter' = '{written}', if that is the delimiter of the file"
    near = near_name(missing, names)
    if near is not None:
        return f"a column with a similar name exists: '{near}'"
    if set(names).isdisjoint(wanted):
        return "if the first line is a row, declare 'header' = 'false'"
    return "declare the columns by their names in the header"


def _header_error(source: str, reason: str, *helps: str, note: str = "") -> FsqlError:
    message = f"{source} cannot be read: {reason}"
    return FsqlError([Diagnostic("E543", message, notes=(note,) if note else (), helps=helps)])
