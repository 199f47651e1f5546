"""CSV records into columns: fast for valid records, exact for invalid ones.

Arrow splits a block into fields and converts whole columns.  It is used only for blocks in which it finds
the fields that `records` defines: all quotes have the plain form, and there are no escapes and no carriage
returns within lines.  If it refuses a block, or finds another number of rows, `records` decodes each record.
A value that the fast conversion of its column refuses is converted separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from fsql.compiler.sqltypes import FLOATING, INTEGER_RANGES, Kind
from fsql.formats.csv.header import ABSENT, in_order, read_header, read_names
from fsql.formats.csv.record_joiner import RecordJoiner, find_plain_quotes
from fsql.formats.csv.records import Dialect, Field, field_value, split_record
from fsql.formats.malformed import (
    NOT_CSV,
    MalformedError,
    check_length,
    dead_letter,
    decode_utf8,
)
from fsql.formats.timestamps import read_dates, read_texts, read_times
from fsql.runtime.arrow_types import arrow_type, octets_of_base64, to_arrow
from fsql.runtime.decimals import column_of, read_unsigned
from fsql.runtime.decimals import read_texts as read_decimals

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Column, Schema
    from fsql.formats.lines import DecodedRows, LineDecoder, Lines, RecordCutter
    from fsql.formats.settings import Settings
    from fsql.runtime.arrays import Bools
    from fsql.runtime.ports import DeadLetter


_INTEGER: Final = "^-?[0-9]{1,18}$"
_DOUBLE: Final = r"^-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,20})?$"
_NUMBERS: Final = {
    **dict.fromkeys(INTEGER_RANGES, _INTEGER),
    Kind.INTERVAL: _INTEGER,
    Kind.FLOAT: _DOUBLE,
    Kind.DOUBLE: _DOUBLE,
}


def make_decoder(columns: Schema, settings: Settings) -> Callable[[], LineDecoder]:
    """Return a factory of decoders, one for each split.

    Raises:
        FsqlError: E534, if the maximum length of records exceeds the limit.
    """
    record_bytes_max = settings.record_bytes_max()
    dialect, header = Dialect.of(settings), settings.flag("header")
    nulled = settings.nulled_columns(columns)
    return lambda: CsvDecoder(columns, dialect, record_bytes_max, nulled, has_header=header)


class CsvDecoder:
    """Decodes lines into the columns of a table."""

    unknown_fields = 0

    def __init__(
        self,
        columns: Schema,
        dialect: Dialect,
        record_bytes_max: int,
        nulled: Collection[str] = (),
        *,
        has_header: bool,
    ) -> None:
        """Take the columns; a malformed value of one of `nulled` is NULL."""
        self._nulled = nulled
        self._nulled_lines: list[int] = []
        self.nulled_fields = 0
        self._columns = columns
        self._dialect = dialect
        self._field_indexes = in_order(columns)
        self.record_bytes_max = record_bytes_max
        self.has_header = has_header
        # With one column, an empty line is a record with an empty field.
        self.skips_empty_lines = len(columns) > 1

    takes_documents = False

    def records(self, lines: Lines) -> Lines:
        """Return the lines that are records."""
        return lines.without_empty() if self.skips_empty_lines else lines

    def document_cutter(self, start: bytes, *, whole: bool) -> RecordCutter | None:
        """Return None: sources have lines."""
        del start, whole
        return None

    def make_joiner(self) -> RecordJoiner:
        """Return a joiner of the lines of a record."""
        return RecordJoiner(self._dialect, self.record_bytes_max)

    def header_names(self, header: bytes, source: str) -> list[str]:
        """Return the names in the first line of a file.

        Raises:
            FsqlError: E543, if it is malformed.
        """
        return read_names(header, self._dialect, f'path "{source}"')

    def take_header(
        self, header: bytes, source: str, *, ordered: bool, elsewhere: Collection[str] = ()
    ) -> None:
        """Read the first line of a file; see `read_header`.

        Raises:
            FsqlError: E543, if it lacks a column.
        """
        self._field_indexes = read_header(
            *(header, self._columns, self._dialect, source), ordered=ordered, elsewhere=elsewhere
        )
        self.skips_empty_lines = self._field_indexes.width > 1

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of lines; the first has the number `first_row`."""
        fields = self._split_block(lines)
        dead_letters: dict[int, DeadLetter] = {}
        if fields is None:
            fields = self._split_lines(lines, first_row, dead_letters)
        self._nulled_lines.clear()
        columns = []
        for column, texts in zip(self._columns, fields, strict=True):
            columns.append(self._convert_column(column, texts, lines, first_row, dead_letters))
        kept = np.arange(len(lines))
        if dead_letters:
            good = np.ones(len(lines), np.bool_)
            good[list(dead_letters)] = False
            kept = kept[good]
            columns = [column.filter(pa.array(good)) for column in columns]
        self.nulled_fields += sum(line not in dead_letters for line in self._nulled_lines)
        return columns, first_row + kept, [dead_letters[line] for line in sorted(dead_letters)]

    def _split_block(self, lines: Lines) -> list[pa.StringArray] | None:
        """Return the fields of each column as split by Arrow; None if Arrow cannot be used."""
        span = lines.span()
        if not span or not self._is_plain(lines, span):
            return None
        names = [str(index) for index in range(self._field_indexes.width)]
        indexes = self._field_indexes.indexes
        wanted = list(dict.fromkeys(names[index] for index in indexes if index != ABSENT))
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(span),
                pa_csv.ReadOptions(column_names=names, use_threads=False, block_size=len(span) + 1),
                pa_csv.ParseOptions(
                    delimiter=self._dialect.delimiter,
                    quote_char=self._dialect.quote,
                    ignore_empty_lines=self.skips_empty_lines,
                    newlines_in_values=True,
                ),
                pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=wanted,
                    null_values=[self._dialect.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(lines):
            return None
        return [
            pa.nulls(len(lines), pa.string())
            if index == ABSENT
            else _one(table.column(names[index]))
            for index in indexes
        ]

    def _is_plain(self, lines: Lines, span: bytes) -> bool:
        """Return whether Arrow finds the correct records."""
        if ((lines.ends - lines.starts) > self.record_bytes_max).any():
            return False
        if span.count(b"\r") != span.count(b"\r\n") or b"\0" in span or not _utf8(span):
            return False
        quotes = find_plain_quotes(span, self._dialect)
        if quotes is None:
            return False
        # A record with an unclosed field is a single line, and ends within quotes.
        return not (np.searchsorted(quotes, lines.ends - lines.starts[0]) % 2).any()

    def _split_lines(
        self, lines: Lines, first_row: int, dead_letters: dict[int, DeadLetter]
    ) -> list[pa.StringArray]:
        """Return the texts of each column by the exact rules; malformed lines are NULL, and rejected."""
        nothing: list[str | None] = [None] * len(self._columns)
        rows: list[list[str | None]] = []
        for line in range(len(lines)):
            try:
                rows.append(self._texts(lines.content(line)))
            except MalformedError as error:
                dead_letters[line] = dead_letter(lines, line, first_row + line, error)
                rows.append(nothing)
        columns = zip(*rows, strict=True) if rows else [()] * len(self._columns)
        return [pa.array(column, pa.string()) for column in columns]

    def _text(self, field: Field) -> str | None:
        """Return the text of a field, None for NULL."""
        return None if not field.quoted and field.text == self._dialect.null else field.text

    def _texts(self, record: bytes) -> list[str | None]:
        fields = self._fields(record)
        return [
            None if index == ABSENT else self._text(fields[index])
            for index in self._field_indexes.indexes
        ]

    def _fields(self, record: bytes) -> list[Field]:
        """Return the fields of a record.

        Raises:
            MalformedError: E515, E517 or E523.
        """
        check_length(len(record), self.record_bytes_max)
        fields = split_record(decode_utf8(record), self._dialect)
        if len(fields) != self._field_indexes.width:
            found = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            reason = f"the record has {found}, and {self._field_indexes.width} are expected"
            raise MalformedError(NOT_CSV, reason)
        return fields

    def _convert_column(
        self,
        column: Column,
        texts: pa.StringArray,
        lines: Lines,
        first_row: int,
        dead_letters: dict[int, DeadLetter],
    ) -> pa.Array:
        """Return the column; lines that have no valid value for it are rejected."""
        values, done = _convert(column, texts)
        if not column.nullable:
            done &= texts.is_valid().to_numpy(zero_copy_only=False)
        rest = [line for line in np.flatnonzero(~done).tolist() if line not in dead_letters]
        if not rest:
            return values
        exact: list[Value] = []
        for line in rest:
            # If the text is NULL, it need not be checked for quotes.
            text = texts[line].as_py()
            field = (
                Field(self._dialect.null, quoted=False)
                if text is None
                else Field(text, quoted=True)
            )
            try:
                exact.append(field_value(field, column, self._dialect))
            except MalformedError as error:
                exact.append(None)
                if column.name in self._nulled:
                    self._nulled_lines.append(line)
                else:
                    dead_letters[line] = dead_letter(lines, line, first_row + line, error)
        order = np.arange(len(texts))
        order[rest] = len(texts) + np.arange(len(rest))
        return pa.concat_arrays([values, to_arrow(exact, column.type)]).take(pa.array(order))


def _convert(  # noqa: C901, PLR0911 - one for each kind
    column: Column, texts: pa.StringArray
) -> tuple[pa.Array, Bools]:
    """Return the column, and which values were converted; others are NULL."""
    kind = column.type.kind
    null = texts.is_null().to_numpy(zero_copy_only=False)
    if kind is Kind.STRING:
        return texts, np.ones(len(texts), np.bool_)
    if kind is Kind.BYTES:
        octets, unread = octets_of_base64(texts)
        return octets, ~unread
    if kind is Kind.UBIGINT:
        numbers, fit = read_unsigned(texts)
        return column_of(numbers, arrow_type(column.type), fit), fit | null
    if kind is Kind.DECIMAL:
        integers, codes = read_decimals(texts, column.type, arrow_type(column.type))
        return column_of(integers, arrow_type(column.type), ~null & (codes == 0)), codes == 0
    if kind is Kind.TIMESTAMP:
        micros, read = read_texts(texts)
        return pa.array(micros, mask=~read).cast(arrow_type(column.type)), read | null
    if kind is Kind.DATE:
        days, read = read_dates(texts)
        return pa.array(days, mask=~read), read | null
    if kind is Kind.TIME:
        times, read = read_times(texts)
        return pa.array(times, mask=~read), read | null
    if kind is Kind.BOOLEAN:
        true = pc.equal(texts, "true")
        fits = pc.or_(true, pc.equal(texts, "false"))
        array = pc.if_else(fits, true, pa.scalar(None, pa.bool_()))
    else:
        fits = pc.match_substring_regex(texts, _NUMBERS[kind])
        plain = pc.if_else(fits, texts, pa.scalar(None, pa.string()))
        array = pc.cast(plain, pa.float64() if kind in FLOATING else pa.int64())
        if kind is Kind.FLOAT:
            array = array.cast(pa.float32()).cast(pa.float64())
            fits = pc.and_(fits, pc.is_finite(array))
        elif kind in INTEGER_RANGES:
            least, greatest = INTEGER_RANGES[kind]
            fits = pc.and_(
                fits, pc.and_(pc.greater_equal(array, least), pc.less_equal(array, greatest))
            )
        array = pc.if_else(fits, array, None)
        array = array.cast(arrow_type(column.type))
    done: Bools = fits.fill_null(fill_value=False).to_numpy(zero_copy_only=False) | null
    return array, done


def _one(column: pa.ChunkedArray) -> pa.StringArray:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
