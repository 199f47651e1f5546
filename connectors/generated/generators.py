"""Generated text: an endless source of documents or lines of words, the same in every run.

Row i depends on (seed, i) alone: a hash of the two determines the length of the line, and a hash of this hash
and of a word's index determines the word.  So neither the size of the chunks nor a restart changes a row, and
any row can be generated without those before it.

With a rate, row i becomes available when it falls due (`pace.py`), counted from a start on the connector's
clock.  If no start is given, a reader's first row is due at its first read.  Rows are generated before they
are due, so a row that falls due is available immediately.  Without a rate, all rows are available at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import Kind
from fsql.connectors.generated.pace import Pace, Peak
from fsql.connectors.generated.zipf_words import ZipfWords, mix
from fsql.runtime.arrow_types import string_buffers
from fsql.runtime.ports import Chunk, SourceOffset, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Schema
    from fsql.formats.settings import Settings
    from fsql.runtime.arrays import Ints

    Hashes = NDArray[np.uint64]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64 (from the golden ratio), whose multiples are spread evenly."""
_LENGTH_BITS: Final = 12
_SPREAD: Final = 0.5
"""Standard deviation of the logarithm of a document's length."""
_CHUNK_WORDS: Final = 1 << 19
"""The approximate maximum of words in a chunk: 3 to 4 MB of text."""
_ROWS_AHEAD: Final = 64
"""The number of rows generated ahead at a time, which takes only four times as long as a single row."""


class Lengths(Protocol):
    """The lengths of lines, in words."""

    mean: int

    def __call__(self, keys: Hashes) -> Ints:
        """Return the number of words of the lines with these keys."""


class EqualLengths:
    """Lines of exactly `words` words."""

    def __init__(self, words: int) -> None:
        self.mean = words

    def __call__(self, keys: Hashes) -> Ints:
        """Return the same number for every line."""
        return np.full(len(keys), self.mean, np.int64)


class LogNormalLengths:
    """Lines of `mean` words on average, distributed like the lengths of documents: log-normal."""

    def __init__(self, mean: int) -> None:
        self.mean = mean
        quantiles = ((step + 0.5) / (1 << _LENGTH_BITS) for step in range(1 << _LENGTH_BITS))
        normal = NormalDist(math.log(mean) - _SPREAD**2 / 2, _SPREAD)
        self._table = np.array(
            [max(1, round(math.exp(normal.inv_cdf(quantile)))) for quantile in quantiles], np.int64
        )

    def __call__(self, keys: Hashes) -> Ints:
        """Return the number of words of the lines with these keys."""
        return self._table[(mix(~keys) >> np.uint64(64 - _LENGTH_BITS)).view(np.int64)]


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """The generated lines: `rows` of them, or an endless stream if that is None.

    `pace` says when rows fall due, if not immediately.  `start` is when row 0 falls due, in seconds of the
    clock; None makes the first row of a reader due at its first read.  The first `rows_replayed` rows are due
    immediately in any case.
    """

    seed: int
    rows: int | None
    vocabulary: int
    lengths: Lengths
    pace: Pace | None
    start: float | None = None
    rows_replayed: int = 0


@dataclass(frozen=True, slots=True)
class GeneratorSplit:
    """The only split of a generator; any row can be generated without those before it."""

    name: str
    text: GeneratedText
    columns: Schema
    clock: Callable[[], float]

    @property
    def rows(self) -> int | None:
        """Return the number of rows, None if the stream is endless."""
        return self.text.rows

    def open(self, source_offset: SourceOffset | None = None) -> GeneratorReader:
        """Return a reader at row 0, or at `source_offset`."""
        first = 0 if source_offset is None else source_offset.row
        return GeneratorReader(self.text, self.columns, self.clock, first)

    def without_pace(self) -> GeneratorSplit:
        """Return the same rows, all of them due immediately."""
        return replace(self, text=replace(self.text, pace=None))

    def replayed(self, rows: int) -> GeneratorSplit:
        """Return the same rows, of which the first `rows` are due immediately."""
        return replace(self, text=replace(self.text, rows_replayed=rows))


class GeneratorReader:
    """Generates the rows in order."""

    def __init__(
        self, text: GeneratedText, columns: Schema, clock: Callable[[], float], first: int = 0
    ) -> None:
        self._text = text
        self._columns = columns
        self._clock = clock
        self._start = text.start
        self._row = first
        self._ahead = pa.array([], pa.string())
        self._key = mix(np.array([text.seed], np.uint64) + _GOLDEN)
        self._distribution = ZipfWords(text.vocabulary)
        words = self._distribution.words()
        # Piece r is the word of rank r with a space after it, piece vocabulary + r without one.
        self._pieces = pa.concat_arrays([pc.binary_join_element_wise(words, "", " "), words])

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to `rows_max` further rows, a Wait for the rate, or None at the end."""
        rows = min(rows_max, max(1, _CHUNK_WORDS // self._text.lengths.mean))
        if self._text.rows is not None:
            rows = min(rows, self._text.rows - self._row)
        if rows == 0:
            return None
        if self._row < self._text.rows_replayed:
            rows = min(rows, self._text.rows_replayed - self._row)
        elif (pace := self._text.pace) is not None:
            if self._start is None:
                self._start = self._clock() - pace.due(self._row)
            available = pace.rows_due(self._clock() - self._start) - self._row
            if available <= 0:
                self._generate_ahead()
                return Wait(max(0.0, self._start + pace.due(self._row) - self._clock()))
            rows = min(rows, available)
        lines = self._next_lines(rows)
        numbers = np.arange(self._row, self._row + len(lines))
        self._row += len(lines)
        ids = pa.array(numbers)
        columns = [lines if column.type.kind is Kind.STRING else ids for column in self._columns]
        bounds, _ = string_buffers(lines)
        return Chunk(columns, numbers, (), int(bounds[-1] - bounds[0]))

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader; a generator has neither lines nor bytes."""
        return SourceOffset(self._row, 0, 0)

    def close(self) -> None:
        """Do nothing; a generator holds no resources."""

    def _generate_ahead(self) -> None:
        """Generate some rows that are not due yet, unless some are left."""
        if not len(self._ahead):
            end = self._row + _ROWS_AHEAD
            if self._text.rows is not None:
                end = min(end, self._text.rows)
            self._ahead = self._lines(np.arange(self._row, end))

    def _next_lines(self, rows: int) -> pa.StringArray:
        """Return up to `rows` further lines."""
        if len(self._ahead):
            lines, self._ahead = self._ahead[:rows], self._ahead[rows:]
            return lines
        return self._lines(np.arange(self._row, self._row + rows))

    def _lines(self, numbers: Ints) -> pa.StringArray:
        """Return the text of the rows with the given numbers."""
        keys = mix(numbers.view(np.uint64) * _GOLDEN ^ self._key)
        lengths = self._text.lengths(keys)
        ends = np.cumsum(lengths)
        # The hash of the word at index p of a line is mix(key + p * golden).  Going through all words
        # of all lines, the index is the word's number less that of the line's first word.
        firsts = (ends - lengths).view(np.uint64)
        steps = np.arange(ends[-1], dtype=np.uint64) * _GOLDEN
        ranks = self._distribution.ranks(mix(np.repeat(keys - firsts * _GOLDEN, lengths) + steps))
        ranks[ends - 1] += self._distribution.vocabulary  # no space after the last word
        words = self._pieces.take(pa.array(ranks))
        offsets, _ = string_buffers(words)
        bounds = offsets[np.append(0, ends)]
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(bounds), words.buffers()[2])


def pace_of(settings: Settings) -> tuple[Pace | None, float | None]:
    """Return the pace, if there is a rate, and when row 0 falls due, in seconds of the clock."""
    start_ms = settings.optional_number("start_ms")
    rate, peak_rate = settings.optional_number("rate"), settings.optional_number("peak_rate")
    peak = None
    if peak_rate is not None:
        begins, lasts = settings.number("peak_start_ms"), settings.number("peak_ms")
        peak = Peak(peak_rate, begins / 1000, lasts / 1000)
    pace = None if rate is None else Pace(rate, peak)
    return pace, None if start_ms is None else start_ms / 1000


def generator_split(
    table: Table, settings: Settings, lengths: Lengths, clock: Callable[[], float]
) -> GeneratorSplit:
    """Return the split of a table whose lines have these lengths.

    The table has a column of STRING for the line, and may have one of BIGINT for the row's number.
    """
    pace, start = pace_of(settings)
    text = GeneratedText(
        seed=settings.number("seed"),
        rows=settings.optional_number("count"),
        vocabulary=settings.number("vocabulary"),
        lengths=lengths,
        pace=pace,
        start=start,
    )
    return GeneratorSplit(settings.connector.name, text, table.columns, clock)
