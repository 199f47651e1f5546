"""The layout of flat records: the same keys in the same order, so that values are found for many at once.

Producers write their records with one program, so those of a stream mostly differ in their values only.  A
`Layout` is the text around the values of one record; a `Block` finds the values of all records that have it,
with a few NumPy operations a column.  Nothing is assumed of the other records: they are told apart, and
decoded one by one.

A record has a layout if it has as many quotes, and each text between values stands where the quotes say that
it must.  With no backslash and no control character in the record, a quoted value is then a valid string;
what stands without quotes is for the reader of the column to check.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.formats.lines import Lines

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]
    Octets = NDArray[np.uint8]

_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_SPACE: Final = ord(" ")
_OPENING: Final = re.compile(rb" *\{")
_MEMBER: Final = re.compile(
    rb' *"(?P<key>[^"]*)" *: *(?:"(?P<text>[^"]*)"|(?P<bare>[^ ",:{}\[\]]+)) *(?P<next>,|\} *\Z)'
)
WORD: Final = 8
"""Octets that are compared at once."""
_FRAME_BYTES_MAX: Final = 1 << 12
"""Of all text around values; a longer layout is not worth it."""
_MARGIN: Final = _FRAME_BYTES_MAX + 3 * WORD
"""Zeros around a block."""
_BLOCK_BYTES_MAX: Final = 1 << 30
"""Offsets in Arrow's strings have 32 bits."""


class Layout(NamedTuple):
    """The text around the values of a flat record: `frames` has one more than `keys`.

    `quoted` says which values are strings; the quotes around one belong to the frames.
    """

    keys: tuple[str, ...]
    quoted: tuple[bool, ...]
    frames: tuple[bytes, ...]


class Slices(NamedTuple):
    """The values of one key: `starts` and `ends` in the octets of a block, ascending."""

    block: Block
    starts: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """Return how many octets each value has."""
        return self.ends - self.starts

    def firsts(self) -> Octets:
        """Return the first octet of each value."""
        return self.block.octets[self.starts]

    def equal(self, word: bytes) -> Bools:
        """Return which values are `word`, which has at most 8 octets."""
        constant, mask = _constant(word)
        found = (self.block.words[self.starts] ^ constant) & mask
        return (found == 0) & (self.lengths == len(word))

    def texts(self) -> pa.StringArray:
        """Return the values as strings."""
        count = len(self.starts)
        offsets = np.empty(2 * count + 1, np.int32)
        offsets[:-1:2] = self.starts
        offsets[1::2] = self.ends
        offsets[-1] = self.ends[-1]
        # Every other string is a value, and the ones in between are the text around it.
        both = pa.StringArray.from_buffers(
            2 * count, pa.py_buffer(offsets), pa.py_buffer(self.block.octets)
        )
        return both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))

    def filter(self, kept: Bools) -> Slices:
        """Return some of the values."""
        return Slices(self.block, self.starts[kept], self.ends[kept])


def layout_of(record: bytes) -> Layout | None:
    """Return the layout of a record without backslashes and control characters.

    None is returned where it has none: it is not a flat object, or has a key twice.
    """
    opening = _OPENING.match(record)
    if opening is None:
        return None
    keys: list[str] = []
    quoted: list[bool] = []
    frames: list[bytes] = []
    frame_start, at = 0, opening.end()
    while member := _MEMBER.match(record, at):
        value = "bare" if member["text"] is None else "text"
        keys.append(member["key"].decode())
        quoted.append(value == "text")
        frames.append(record[frame_start : member.start(value)])
        frame_start, at = member.end(value), member.end()
        if member["next"] != b",":
            frames.append(record[frame_start:])
            short = sum(map(len, frames)) <= _FRAME_BYTES_MAX
            distinct = len(set(keys)) == len(keys)
            return Layout(tuple(keys), tuple(quoted), tuple(frames)) if short and distinct else None
    return None


class Block:
    """The octets of consecutive lines, and where their quotes are.

    The octets are valid UTF-8.  Around them are zeros, so that whatever a layout reads is inside.
    """

    def __init__(self, span: bytes, lines: Lines, long: Bools) -> None:
        """Take the lines, their text, and which of them are too long."""
        self.octets = np.frombuffer(bytes(_MARGIN) + span + bytes(_MARGIN), np.uint8)
        self.words = np.ndarray(
            (len(self.octets) - WORD + 1,), "<u8", self.octets.data, strides=(1,)
        )
        """The 8 octets from each octet on, the first of them least significant."""
        text = self.octets[_MARGIN : _MARGIN + len(span)]
        self._starts = lines.starts - lines.starts[0] + _MARGIN
        self._ends = lines.ends - lines.starts[0] + _MARGIN
        self._quotes = np.flatnonzero(text == _QUOTE) + _MARGIN
        bounds = np.append(self._starts, len(span) + _MARGIN)
        self._first_quote = np.searchsorted(self._quotes, bounds)
        plain = ~long
        if b"\\" in span:
            plain[self._lines_with(np.flatnonzero(text == _BACKSLASH) + _MARGIN)] = False
        between = len(span) - int((self._ends - self._starts).sum())
        if np.count_nonzero(text < _SPACE) != between:
            plain[self._lines_with(np.flatnonzero(text < _SPACE) + _MARGIN)] = False
        self.plain_lines = np.flatnonzero(plain)
        """Lines that may have a layout: not too long, without backslashes and control characters."""

    def _lines_with(self, octets: Ints) -> Ints:
        """Return the lines that have any of the `octets`; what stands between lines is in none."""
        lines = np.searchsorted(self._starts, octets, "right") - 1
        return lines[octets < self._ends[lines]]

    def locate(self, layout: Layout, lines: Ints) -> tuple[Ints, list[Slices]]:
        """Return those of `lines` that have the layout, and the values of each of its keys in them."""
        quotes = np.diff(self._first_quote)[lines]
        lines = lines[quotes == sum(frame.count(b'"') for frame in layout.frames)]
        starts = self._frame_starts(layout, lines)
        differs = np.zeros(len(lines), np.uint64)
        for start, frame in zip(starts, layout.frames, strict=True):
            for offset in range(0, len(frame), WORD):
                constant, mask = _constant(frame[offset : offset + WORD])
                differs |= (self.words[start + offset] ^ constant) & mask
        fits = differs == 0
        fits &= starts[0] == self._starts[lines]
        fits &= starts[-1] + len(layout.frames[-1]) == self._ends[lines]
        bounds = []
        for number, frame in enumerate(layout.frames[:-1]):
            begin, end = starts[number] + len(frame), starts[number + 1]
            fits &= begin + (not layout.quoted[number]) <= end
            bounds.append((begin, end))
        if fits.all():
            return lines, [Slices(self, begin, end) for begin, end in bounds]
        return lines[fits], [Slices(self, begin[fits], end[fits]) for begin, end in bounds]

    def _frame_starts(self, layout: Layout, lines: Ints) -> list[Ints]:
        """Return where each frame would begin in each line, by the quote that is the first in it."""
        quote = self._first_quote[:-1][lines]
        starts = []
        for frame in layout.frames:
            before = frame.find(b'"')
            if before < 0:  # the end of a record behind a value without quotes
                starts.append(self._ends[lines] - len(frame))
            else:
                starts.append(self._quotes[quote] - before)
                quote = quote + frame.count(b'"')
        return starts


def _constant(text: bytes) -> tuple[np.uint64, np.uint64]:
    """Return up to 8 octets as a word, and the mask of those that it has."""
    word = int.from_bytes(text, "little")
    return np.uint64(word), np.uint64((1 << 8 * len(text)) - 1)


def fits_block(span: bytes) -> bool:
    """Return whether a text is short enough for a `Block`."""
    return len(span) <= _BLOCK_BYTES_MAX
