"""Converts columns of every type to pieces, from which the text of each value is assembled.

A value that is not NULL is between an `opening` and a `closing` text, which are the same for the whole column
(quotes, brackets); if a column has no NULL, they are merged into the frame around it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import INTEGER_RANGES, Kind, SqlType
from fsql.formats.json.dictionary import Use
from fsql.formats.json.keys import key_texts
from fsql.formats.json.literals import (
    TIMESTAMP_LENGTH_MAX,
    double_text,
    escape,
    timestamp_text,
)
from fsql.formats.json.pieces import (
    CLOSE,
    CLOSE_BRACE,
    EMPTY,
    FALSE,
    NULL,
    OPEN,
    OPEN_BRACE,
    POINT_ZERO,
    QUOTE,
    TRUE,
    Part,
    PiecesOfBatch,
    Ragged,
    join_digits,
    join_lists,
    number_parts,
)
from fsql.runtime.arrow_types import base64_texts, date_texts, shortest_doubles, time_texts
from fsql.runtime.decimals import integers_of, texts_of
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.formats.json.dictionary import DictionaryMemory
    from fsql.formats.json.pieces import Counts, Indexes
    from fsql.runtime.arrays import Bools


_PIECES: Final = {
    '"': QUOTE,
    "[": OPEN,
    "]": CLOSE,
    "": EMPTY,
    "{": OPEN_BRACE,
    "}": CLOSE_BRACE,
}
_WHOLE_NUMBERS: Final = {*INTEGER_RANGES, Kind.INTERVAL} - {Kind.UBIGINT}
_Number = TypeVar("_Number", np.int32, np.int64, np.float64)


class Formatted(NamedTuple):
    """The pieces of a column's values, and the text before and after each value.

    With a `memory`, the only part has indexes into the dictionary that the memory formats.
    """

    opening: str
    parts: Sequence[Part]
    closing: str
    memory: DictionaryMemory | None = None


def format_column(array: pa.Array, sql_type: SqlType, pieces: PiecesOfBatch) -> Formatted:
    """Return the column's text; NULL is `null`."""
    array = decode_dictionary(array)
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    formatted = _values(array, sql_type, valid, pieces)
    return formatted if valid is None else with_nulls(formatted, valid)


def format_dictionary(
    array: pa.DictionaryArray, memory: DictionaryMemory, use: Use, pieces: PiecesOfBatch
) -> Formatted:
    """Return the text of a column of strings as pieces of its dictionary, which `memory` keeps."""
    indices = array.indices
    values = _numbers(indices, np.int32, None)
    valid = None
    if indices.null_count:
        valid = indices.is_valid().to_numpy(zero_copy_only=False)
    if use is Use.FRAMED and valid is None:
        return Formatted('"', [values], '"', memory)
    quote = '"' if use is Use.FRAMED else ""
    first = pieces.add_dictionary(memory.format(quote, quote))
    part = values + np.int32(first)
    if valid is None:
        return Formatted('"', [part], '"')
    if use is Use.FRAMED:
        return Formatted("", [np.where(valid, part, np.int32(NULL))], "")
    return with_nulls(Formatted('"', [part], '"'), valid)


def with_nulls(formatted: Formatted, valid: Bools) -> Formatted:
    """Return the same text, with `null` where a row is not valid."""
    opening, parts, closing, _ = formatted
    written: list[Part] = []
    for part in (_PIECES[opening], *parts, _PIECES[closing]):
        if isinstance(part, Ragged):
            assert not part.counts[~valid].any(), "NULL has no elements"
            written.append(part)
        elif not (isinstance(part, int) and part == EMPTY):
            written.append(np.where(valid, part, EMPTY).astype(np.int32))
    written.insert(0, np.where(valid, EMPTY, NULL).astype(np.int32))
    return Formatted("", written, "")


def _values(  # noqa: C901, PLR0911 - one for each kind
    array: pa.Array, sql_type: SqlType, valid: Bools | None, pieces: PiecesOfBatch
) -> Formatted:
    """Return the text of the values; values where `valid` is False are arbitrary."""
    match sql_type.kind:
        case Kind.STRING:
            return Formatted('"', [_own_pieces(escape(array), pieces)], '"')
        case Kind.BYTES:
            texts = base64_texts(array.fill_null(""))
            return Formatted('"', [_own_pieces(texts, pieces)], '"')
        case Kind.BOOLEAN:
            flags = array.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
            return Formatted("", [np.where(flags, TRUE, FALSE).astype(np.int32)], "")
        case Kind.NULL:
            return Formatted("", [NULL], "")
        case Kind.ARRAY:
            assert sql_type.element is not None
            return _arrays(array, sql_type.element, pieces)
        case Kind.MAP:
            return _maps(array, sql_type, pieces)
        case Kind.ROW:
            return _rows(array, sql_type, pieces)
        case Kind.FLOAT | Kind.DOUBLE:
            numbers = _numbers(array, np.float64, valid)
            if sql_type.kind is Kind.FLOAT:
                numbers = shortest_doubles(numbers)
            text, whole = double_text(numbers)
            tail = np.where(whole, POINT_ZERO, EMPTY).astype(np.int32)
            return Formatted("", [_own_pieces(text, pieces), tail], "")
        case Kind.DECIMAL | Kind.UBIGINT:
            text = texts_of(integers_of(array), sql_type.scale)
            return Formatted("", [_own_pieces(text, pieces)], "")
        case Kind.DATE:
            days = date_texts(_numbers(array, np.int32, valid))
            return Formatted('"', [_own_pieces(days, pieces)], '"')
        case Kind.TIME:
            times = time_texts(_numbers(array, np.int64, valid), sql_type.fraction)
            return Formatted('"', [_own_pieces(times, pieces)], '"')
        case Kind.TIMESTAMP:
            micros = _numbers(array, np.int64, valid)
            return Formatted('"', [_runs_of_timestamps(micros, sql_type.fraction, pieces)], '"')
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.UTINYINT | Kind.USMALLINT:
            return Formatted(
                "", number_parts(_numbers(array, np.int32, valid).astype(np.int64)), ""
            )
        case Kind.BIGINT | Kind.UINT | Kind.INTERVAL | Kind.MONTHS:
            return Formatted("", number_parts(_numbers(array, np.int64, valid)), "")


def _rows(array: pa.StructArray, sql_type: SqlType, pieces: PiecesOfBatch) -> Formatted:
    """Return the text of rows: the key and the value of each field."""
    parts: list[Part] = []
    between = "{"
    for child, (name, kind) in zip(array.flatten(), sql_type.fields, strict=True):
        opening, inside, closing, _ = format_column(child, kind, pieces)
        parts += [_frame(f"{between}{json_key(name)}{opening}", len(array), pieces), *inside]
        between = f"{closing},"
    closing = between.removesuffix(",")
    return Formatted("", [*parts, _frame(f"{closing}}}", len(array), pieces)], "")


def _frame(text: str, rows: int, pieces: PiecesOfBatch) -> int:
    """Return the piece that all rows share."""
    return pieces.add_own(pa.array([text], pa.string()), rows * len(text.encode()))


def json_key(name: str) -> str:
    """Return the key of a field in JSON, with its colon."""
    return f"{json.dumps(name, ensure_ascii=False)}:"


def _own_pieces(text: pa.StringArray, pieces: PiecesOfBatch) -> Part:
    """Return a part in which every row has its own piece."""
    first = pieces.add_own(text, text.nbytes)
    return np.arange(first, first + len(text), dtype=np.int32)


def _runs_of_timestamps(
    micros: NDArray[np.int64], digits: int | None, pieces: PiecesOfBatch
) -> Part:
    """Return a part in which a row with the same timestamp as the previous row shares its piece.

    Rows caused by one window or input row are adjacent, so many rows often have the same time.
    """
    differs = np.append(True, micros[1:] != micros[:-1])[
        : len(micros)
    ]  # the first timestamp begins a run
    run_of_row = np.cumsum(differs, dtype=np.int32) - 1
    text = timestamp_text(micros[differs], digits)
    return run_of_row + np.int32(pieces.add_own(text, len(micros) * TIMESTAMP_LENGTH_MAX))


def _numbers(array: pa.Array, numpy_type: type[_Number], valid: Bools | None) -> NDArray[_Number]:
    """Return the numbers of a column, with 0 for NULL, whose underlying values are arbitrary."""
    numbers: NDArray[_Number] = np.frombuffer(array.buffers()[1] or b"", numpy_type)
    numbers = numbers[array.offset : array.offset + len(array)]
    return numbers if valid is None else np.where(valid, numbers, numpy_type(0))


def _arrays(array: pa.ListArray, element: SqlType, pieces: PiecesOfBatch) -> Formatted:
    elements = array.flatten()
    lengths = _lengths(array)
    opening, parts, closing, _ = format_column(elements, element, pieces)
    if element.kind in _WHOLE_NUMBERS and len(parts) == 1:  # no sign, no NULL, one group of digits
        return Formatted("[", [join_digits(cast("Indexes", parts[0]), lengths)], "]")
    enclosed = [part for part in (_PIECES[opening], *parts, _PIECES[closing]) if part is not EMPTY]
    return Formatted("[", [join_lists(enclosed, len(elements), lengths)], "]")


def _lengths(array: pa.ListArray) -> Counts:
    """Return how many of the flattened elements each array has."""
    offsets = array.offsets.to_numpy()
    lengths = np.subtract(offsets[1:], offsets[:-1], dtype=np.int64)
    if array.null_count:  # `flatten` omits the elements under a NULL
        lengths *= array.is_valid().to_numpy(zero_copy_only=False)
    return lengths


def _maps(array: pa.ListArray, sql_type: SqlType, pieces: PiecesOfBatch) -> Formatted:
    """Return the text of maps: objects whose keys are texts."""
    keys, values = array.flatten().flatten()
    count = len(keys)
    key = _own_pieces(escape(key_texts(keys, sql_type.key)), pieces)
    opening, inside, closing, _ = format_column(values, sql_type.value, pieces)
    entry: list[Part] = [QUOTE, key, _frame(f'":{opening}', count, pieces), *inside]
    if closing:
        entry.append(_PIECES[closing])
    return Formatted("{", [join_lists(entry, count, _lengths(array))], "}")
