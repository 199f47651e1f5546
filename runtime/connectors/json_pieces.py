"""Pieces: how the text of many rows is put together without touching a single row.

A *piece* is a short text that rows have in common: a part of the frame such as `,"n":`, a number
below 10,000, a word of a dictionary.  A column is formatted by saying, as integers, which piece stands
where.  One Arrow `take` over the sequence of all those integers then copies every piece to its place,
and the data buffer of what it returns is the text.

A *part* says what each row has at one place: the same piece (an int), a piece of its own (an array of
one index a row), or any number of pieces (`Ragged`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.connectors.json_text import string_buffers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Indexes: TypeAlias = "NDArray[np.int32]"
Counts: TypeAlias = "NDArray[np.int64]"

_BYTES_MAX: Final = 1 << 30
"""How long one output may be: offsets have 31 bits, and this leaves a wide margin."""
GROUP: Final = 10_000
"""Numbers are written in groups of four digits."""

EMPTY: Final = 0
"""The piece without text."""
DIGITS: Final = 1
"""Piece `DIGITS + i` is the number i below `GROUP`, without leading zeros."""
PADDED: Final = DIGITS + GROUP
"""Piece `PADDED + i` is the number i below `GROUP`, in four digits."""
_WORDS: Final = PADDED + GROUP
MINUS, NULL, TRUE, FALSE, COMMA, OPEN, CLOSE, QUOTE, POINT_ZERO = range(_WORDS, _WORDS + 9)
OPERATIONS: Final = POINT_ZERO + 1
"""Piece `OPERATIONS + i` is the i-th of `fsql.runtime.ports.OPERATIONS`."""

STANDARD: Final = pa.array(
    [
        "",
        *map(str, range(GROUP)),
        *(f"{number:04d}" for number in range(GROUP)),
        *("-", "null", "true", "false", ",", "[", "]", '"', ".0"),
        *("+I", "-U", "+U", "-D"),
    ],
    pa.string(),
)
"""The pieces that every output may use; others stand behind them."""


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Any number of pieces for each row: row i has the next `counts[i]` of `indexes`."""

    indexes: Indexes
    counts: Counts


Part: TypeAlias = "int | Indexes | Ragged"


def sequence(parts: Sequence[Part], rows: int) -> Ragged:
    """Return the pieces of each row: those of the first part, then those of the second, and so on."""
    widths = sum(not isinstance(part, Ragged) for part in parts)
    ragged = [part for part in parts if isinstance(part, Ragged)]
    if not ragged:
        table = np.empty((rows, widths), np.int32)
        for place, part in enumerate(parts):
            table[:, place] = cast("Indexes", part)  # or an int, which goes to every row
        return Ragged(table.reshape(-1), np.full(rows, widths, np.int64))
    counts = sum((part.counts for part in ragged), np.full(rows, widths, np.int64))
    ends = np.cumsum(counts)
    indexes = np.empty(ends[-1] if rows else 0, np.int32)
    at = ends - counts
    for part in parts:
        if isinstance(part, Ragged):
            starts = np.cumsum(part.counts) - part.counts
            indexes[np.repeat(at - starts, part.counts) + np.arange(len(part.indexes))] = (
                part.indexes
            )
            at += part.counts
        else:
            indexes[at] = part
            at += 1
    return Ragged(indexes, counts)


def joined(elements: Ragged, lengths: Counts) -> Ragged:
    """Return the elements of each array one behind the other, with commas between them.

    Array i has the next `lengths[i]` elements; row j of `elements` has the pieces of element j.
    """
    separators = np.full(len(elements.counts), COMMA, np.int32)
    ends = np.cumsum(lengths)
    separators[(ends - lengths)[lengths > 0]] = EMPTY
    separated = sequence((separators, elements), len(separators))
    piece_ends = np.append(0, np.cumsum(separated.counts))
    return Ragged(separated.indexes, piece_ends[ends] - piece_ends[ends - lengths])


def number_parts(values: NDArray[np.int64]) -> list[Part]:
    """Return the parts that write integers in decimal."""
    parts: list[Part] = []
    rest = values
    if len(values) and values.min() < 0:
        parts.append(np.where(values < 0, np.int32(MINUS), np.int32(EMPTY)))
        rest = np.abs(values).view(np.uint64)  # the least BIGINT has no positive counterpart
    groups: list[Part] = []
    greatest = int(rest.max()) if len(rest) else 0
    while greatest >= GROUP:
        above = rest // GROUP
        # DIGITS + rest where nothing stands above it, else PADDED + rest % GROUP
        piece = np.minimum(rest, rest - above * GROUP + GROUP) + DIGITS
        groups.append(_indexes(piece, nothing_above=bool(groups), rest=rest))
        rest, greatest = above, greatest // GROUP
    groups.append(_indexes(rest + DIGITS, nothing_above=bool(groups), rest=rest))
    return parts + groups[::-1]


def _indexes(piece: NDArray[np.int64], *, nothing_above: bool, rest: NDArray[np.int64]) -> Indexes:
    """Return pieces of one group of digits; above the last group, 0 is not written."""
    if nothing_above:
        piece = np.where(rest == 0, EMPTY, piece)
    return piece.astype(np.int32)


def written(pieces: pa.StringArray, indexes: NDArray[np.int32]) -> pa.Buffer | None:
    """Return the text of the pieces at `indexes`, None if it would be too long."""
    lengths = np.diff(string_buffers(pieces)[0])
    if len(indexes) * int(lengths.max()) > _BYTES_MAX and lengths[indexes].sum() > _BYTES_MAX:
        return None
    text = pc.take(pieces, pa.array(indexes), boundscheck=False)
    offsets, _ = string_buffers(text)
    return text.buffers()[2].slice(0, int(offsets[-1]))
