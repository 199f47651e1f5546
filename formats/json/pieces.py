"""Pieces: assembles the text of many rows without code that runs for each row.

A *piece* is a short text that rows share: a part of the frame such as `,"n":`, a number below 10,000, a word
of a dictionary.  A column is formatted as indexes of pieces.  One Arrow `take` over the sequence of all
indexes then copies all pieces in order, and the data buffer of the result is the text.

A *part* is a column of pieces: the same piece for all rows (an int), one piece per row (an array of indexes),
or any number of pieces per row (`Ragged`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.sqltypes import BIGINT_MAX, INT_MAX
from fsql.runtime.arrow_types import string_buffers

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from fsql.formats.json.dictionary import FormattedDictionary

Indexes: TypeAlias = "NDArray[np.int32]"
Counts: TypeAlias = "NDArray[np.int64]"

OUTPUT_BYTES_MAX: Final = 1 << 30
"""The maximum length of one output: offsets have 31 bits, and this leaves a wide margin."""
GROUP: Final = 10_000
"""Numbers are written in groups of four digits."""

EMPTY: Final = 0
"""The piece without text."""
DIGITS: Final = 1
"""Piece `DIGITS + i` is the number i below `GROUP`, without leading zeros."""
PADDED: Final = DIGITS + GROUP
"""Piece `PADDED + i` is the number i below `GROUP`, in four digits."""
AFTER_COMMA: Final = PADDED + GROUP
"""Piece `AFTER_COMMA + i` is a comma and the number i below `GROUP`, without leading zeros."""
_WORDS: Final = AFTER_COMMA + GROUP
MINUS, NULL, TRUE, FALSE, COMMA, OPEN, CLOSE, QUOTE, POINT_ZERO = range(_WORDS, _WORDS + 9)
OPERATIONS: Final = POINT_ZERO + 1
"""Piece `OPERATIONS + i` is the i-th of `fsql.runtime.ports.OPERATIONS`."""
OPEN_BRACE: Final = OPERATIONS + 4
CLOSE_BRACE: Final = OPEN_BRACE + 1

STANDARD: Final = pa.array(
    [
        "",
        *map(str, range(GROUP)),
        *(f"{number:04d}" for number in range(GROUP)),
        *(f",{number}" for number in range(GROUP)),
        *("-", "null", "true", "false", ",", "[", "]", '"', ".0"),
        *("+I", "-U", "+U", "-D"),
        *("{", "}"),
    ],
    pa.string(),
)
"""The pieces that every output may use; other pieces are numbered after them."""
STANDARD_LENGTH_MAX: Final = 5


class Ragged(NamedTuple):
    """Any number of pieces for each row: row i has the next `counts[i]` of `indexes`."""

    indexes: Indexes
    counts: Counts


Part: TypeAlias = "int | Indexes | Ragged"


class PiecesOfBatch:
    """The pieces of one batch other than the standard ones, in `arrays`, numbered from `first`.

    `sources` identifies the dictionaries that they come from; it is None if the batch has its own pieces.
    `bytes` is their total length, `bytes_max` a bound on the text that a batch can write with them.
    """

    def __init__(self, first: int, rows: int) -> None:
        self.arrays: list[pa.StringArray] = []
        self.sources: list[Hashable] | None = []
        self.bytes = 0
        self.bytes_max = 0
        self._next = first
        self._rows = rows

    def add_own(self, text: pa.StringArray, bytes_max: int) -> int:
        """Add pieces, and return the index of the first; all uses of them write at most `bytes_max`."""
        self.sources = None
        self.bytes_max += bytes_max
        return self._add(text, text.nbytes)

    def add_dictionary(self, shared: FormattedDictionary) -> int:
        """Add a dictionary, and return the index of its first piece; each row uses at most one."""
        if self.sources is not None:
            self.sources.append(shared.source)
        self.bytes_max += self._rows * shared.length_max
        return self._add(shared.pieces, shared.bytes)

    def _add(self, text: pa.StringArray, text_bytes: int) -> int:
        self.arrays.append(text)
        self.bytes += text_bytes
        first, self._next = self._next, self._next + len(text)
        return first


def sequence(parts: Sequence[Part], rows: int, spare: int = 0) -> Ragged:
    """Return the pieces of each row: those of the first part, then those of the second, and so on.

    The indexes are followed by `spare` entries that belong to no row.
    """
    ragged = [part for part in parts if isinstance(part, Ragged)]
    width = len(parts) - len(ragged)
    counts = np.full(rows, width, np.int64)
    if not ragged:
        indexes = np.empty(rows * width + spare, np.int32)
        table = indexes[: rows * width].reshape(rows, width)
        for index, part in enumerate(parts):
            table[:, index] = cast("Indexes", part)  # or an int, which is assigned to every row
        return Ragged(indexes, counts)
    for part in ragged:
        counts += part.counts
    ends = np.cumsum(counts)
    indexes = np.empty((int(ends[-1]) if rows else 0) + spare, np.int32)
    at = ends - counts
    for part in parts:
        if isinstance(part, Ragged):
            indexes[_indexes_of_pieces(at, part.counts)] = part.indexes
            at += part.counts
        else:
            indexes[at] = part
            at += 1
    return Ragged(indexes, counts)


def _indexes_of_pieces(at: Counts, counts: Counts) -> Counts:
    """Return the indexes `at[i], at[i] + 1, …` of the `counts[i]` pieces of every row i.

    They are the running sum of steps: 1 within a row, and the distance to the first of the next row.
    """
    if not counts.all():
        filled = counts > 0
        at, counts = at[filled], counts[filled]
    if not len(at):
        return at
    ends = np.cumsum(counts)
    steps = np.ones(ends[-1], np.int64)
    steps[0] = at[0]
    steps[ends[:-1]] = at[1:] - at[:-1] - counts[:-1] + 1
    return np.cumsum(steps, out=steps)


def join_lists(parts: Sequence[Part], elements: int, lengths: Counts) -> Ragged:
    """Return the elements of each array, concatenated with commas between them.

    `parts` are those of the elements; array i has the next `lengths[i]` of them.
    """
    separated = sequence((_separators(EMPTY, COMMA, elements, lengths), *parts), elements)
    if not any(isinstance(part, Ragged) for part in parts):
        return Ragged(separated.indexes, lengths * (1 + len(parts)))
    ends = np.cumsum(lengths)
    piece_ends = np.append(0, np.cumsum(separated.counts))
    return Ragged(separated.indexes, piece_ends[ends] - piece_ends[ends - lengths])


def join_digits(digits: Indexes, lengths: Counts) -> Ragged:
    """Return the same as `join_lists` for numbers of one group of digits, with a piece for each."""
    return Ragged(digits + _separators(0, AFTER_COMMA - DIGITS, len(digits), lengths), lengths)


def _separators(first: int, other: int, elements: int, lengths: Counts) -> Indexes:
    """Return `first` for the first element of each array and `other` for the others."""
    separators = np.full(elements + 1, other, np.int32)
    # The start of an empty array is the first element of the next array, or the end of all elements.
    separators[np.cumsum(lengths) - lengths] = first
    return separators[:-1]


def number_parts(values: NDArray[np.int64]) -> list[Part]:
    """Return the parts that write integers in decimal, in groups of four digits."""
    rest: NDArray[np.signedinteger] | NDArray[np.unsignedinteger] = values
    sign: list[Part] = []
    greatest = int(values.view(np.uint64).max(initial=0))
    if greatest > BIGINT_MAX:  # negative numbers are greater as unsigned ones
        sign.append(np.where(values < 0, np.int32(MINUS), np.int32(EMPTY)))
        rest = np.abs(values).view(np.uint64)  # the least BIGINT has no positive counterpart
        greatest = int(rest.max())
    if greatest <= INT_MAX:
        rest = rest.astype(np.int32)
    groups: list[Part] = []
    while True:
        above = rest // GROUP if greatest >= GROUP else None
        # The digits without leading zeros in the highest group, otherwise all four.
        piece = rest if above is None else np.minimum(rest, rest - above * GROUP + GROUP)
        index = (piece + DIGITS).astype(np.int32, copy=False)
        groups.append(index * (rest != 0) if groups else index)  # EMPTY is piece 0
        if above is None:
            return sign + groups[::-1]
        rest, greatest = above, greatest // GROUP


def row_too_long() -> FsqlError:
    """Return the error for a row that is longer than the maximum of an output."""
    message = f"a row is longer than {OUTPUT_BYTES_MAX:,} bytes and cannot be written"
    return FsqlError([Diagnostic("E535", message)])


class WrittenPieces(NamedTuple):
    """Pieces as one text; `offsets` has the start of each piece, and the end of the last."""

    text: pa.Buffer
    offsets: NDArray[np.int32]


def write_pieces(text: pa.StringArray, indexes: Indexes, bytes_max: int) -> WrittenPieces | None:
    """Return the text of the pieces at `indexes`, None if it is longer than `OUTPUT_BYTES_MAX`.

    `bytes_max` is a known bound on its length.
    """
    if bytes_max > OUTPUT_BYTES_MAX:
        lengths = np.diff(string_buffers(text)[0])
        if lengths[indexes].sum() > OUTPUT_BYTES_MAX:
            return None
    taken = pc.take(text, pa.array(indexes), boundscheck=False)
    offsets, _ = string_buffers(taken)
    return WrittenPieces(taken.buffers()[2].slice(0, int(offsets[-1])), offsets)
