"""The layout of flat records: the same keys in the same order, so that values are found for many at once.

A producer writes its records with one program, so the records of a stream mostly differ only in their values.
A `Layout` is the text around the values of one record; a `LineBlock` finds the values of all records with
this layout, with a few NumPy operations per column.  All other records are recognized as such, and decoded
one by one.

A record has a layout if each text of the layout follows the value before it.  A value ends before the next
quote, backslash or control character, which is found 64 bits at a time.  So a quoted value is a valid string;
the reader of a column has to check values without quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.formats.lines import Lines
    from fsql.runtime.arrays import Bools, Ints, Octets


_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_SPACE: Final = ord(" ")
_ASCII_MAX: Final = 0x7F
_ODD: Final = re.compile(rb"[\x00-\x1f\\]")
_OPENING: Final = re.compile(rb" *\{")
_MEMBER: Final = re.compile(
    rb' *"(?P<key>[^"]*)" *: *(?:"(?P<text>[^"]*)"|(?P<bare>[^ ",:{}\[\]]+)) *(?P<next>,|\} *\Z)'
)
WORD: Final = 8
"""The number of octets that are compared at once."""
_FRAME_BYTES_MAX: Final = 1 << 12
"""The maximum length of the text around values; a longer layout would cost more than it saves."""
_MARGIN: Final = _FRAME_BYTES_MAX + 128
"""The number of zeros around a block."""
_ZEROS: Final = bytes(_MARGIN)
_LITTLE_ENDIAN: Final = np.dtype("<u8")
_ONE: Final = np.uint64(1)
_ALL: Final = np.ones(1, np.bool_)
_BLOCK_BYTES_MAX: Final = 1 << 30
"""Offsets in Arrow's strings have 32 bits."""


class Layout(NamedTuple):
    """The text around the values of a flat record: `frames` has one more than `keys`.

    `quoted` says which values are strings; their quotes belong to the frames.
    """

    keys: tuple[str, ...]
    quoted: tuple[bool, ...]
    frames: tuple[bytes, ...]


class Slices(NamedTuple):
    """The values of one key: `starts` and `ends` in the octets of a block, ascending."""

    block: LineBlock
    starts: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """Return the number of octets of each value."""
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
        # Every other string is a value; the strings in between are the text around values.
        both = pa.StringArray.from_buffers(
            2 * count, pa.py_buffer(offsets), pa.py_buffer(self.block.octets)
        )
        return both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))

    def filter(self, kept: Bools | Ints) -> Slices:
        """Return the values at which `kept` is true."""
        return Slices(self.block, self.starts[kept], self.ends[kept])


def layout_of(record: bytes) -> Layout | None:
    """Return the layout of a record.

    Return None if it has none: it is not a flat object, has a duplicate key, or contains a backslash or a
    control character.
    """
    opening = _OPENING.match(record)
    if opening is None or _ODD.search(record):
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


class LineBlock:
    """The octets of consecutive lines, and where a string in them may end.

    There are zeros around the octets, so that all reads for a layout are within bounds.
    """

    def __init__(self, lines: Lines) -> None:
        """Copy the text of the lines."""
        first, last = int(lines.starts[0]), int(lines.ends[-1])
        text = memoryview(lines.data)[first:last]
        self._text = b"".join((_ZEROS, text, _ZEROS))
        self.octets = np.frombuffer(self._text, np.uint8)
        self.words = _at_each_octet(self.octets, _LITTLE_ENDIAN)
        """The 8 octets from each octet on, the first of which is the least significant."""
        self._starts = lines.starts - (first - _MARGIN)
        self._ends = lines.ends - (first - _MARGIN)
        self._stops = _at_each_octet(_stops(self._text), _LITTLE_ENDIAN)

    def is_utf8(self) -> bool:
        """Return whether the text of the lines is UTF-8."""
        return self.octets.max() <= _ASCII_MAX or is_utf8(self._text)

    def locate(self, layout: Layout, lines: Ints) -> tuple[Ints, list[Slices]]:
        """Return those of `lines` that have the layout, and the values of each of its keys in them."""
        line_ends = self._ends[lines]
        at = self._starts[lines]
        values = []
        tests = [self._have(layout.frames[0], at)]
        for frame, before, quoted in zip(
            layout.frames[1:], layout.frames, layout.quoted, strict=False
        ):
            start = at + len(before)
            quote = frame.find(b'"')
            # The end of a record after a value without quotes has no quote.
            at = line_ends - len(frame) if quote < 0 else self._next_stop(start, -quote)
            values.append(Slices(self, start, at))
            tests.append(self._have(frame, at))
            if not quoted:
                tests.append(start < at)
        tests.append(at + len(layout.frames[-1]) == line_ends)
        failed = [test for test in tests if not test.all()]
        if not failed:
            return lines, values
        fits = np.logical_and.reduce(failed)
        return lines[fits], [each.filter(fits) for each in values]

    def octets_at(self, at: Ints, count: int) -> Octets:
        """Return `count` octets from each of `at` on, as rows."""
        rows = _at_each_octet(self.octets, np.dtype((np.void, count)))[at]
        return rows.view(np.uint8).reshape(len(at), count)

    def _have(self, frame: bytes, at: Ints) -> Bools:
        """Return at which of the offsets the frame is; a single value, if it is at all of them."""
        there = self.octets_at(at, len(frame))
        if there.tobytes() == frame * len(at):
            return _ALL
        same: Bools = (there == np.frombuffer(frame, np.uint8)).all(axis=1)
        return same

    def _next_stop(self, at: Ints, move: int) -> Ints:
        """Return the first stop from each octet on, moved by a number of octets."""
        octet = at >> 3
        bits = self._stops[octet]
        bits >>= (at & 7).view(np.uint64)
        found = at + (move - 1)
        found += _lowest(bits)
        if bits.all():
            return found
        rows = np.flatnonzero(bits == 0)
        octet = octet[rows]
        while len(rows):
            octet += WORD
            bits = self._stops[octet]
            found[rows] = (octet << 3) + (move - 1) + _lowest(bits)
            left = bits == 0
            rows, octet = rows[left], octet[left]
        return found


def _stops(text: bytes) -> Octets:
    """Return bits for the octets at which a string cannot continue: quotes, backslashes, control characters.

    Zeros after the text count as control characters, so that a search always finds one.
    """
    octets = np.frombuffer(text, np.uint8)
    stops = (octets ^ np.uint8(_QUOTE - _SPACE)) <= np.uint8(_SPACE)
    if b"\\" in text:
        stops |= octets == np.uint8(_BACKSLASH)
    return np.packbits(stops, bitorder="little")


def _lowest(words: NDArray[np.uint64]) -> Octets:
    """Return the number, counted from 1, of the lowest bit that is set in each word."""
    return np.bitwise_count(words ^ (words - _ONE))


def _at_each_octet(octets: Octets, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of a type that begin at each octet."""
    return np.ndarray((len(octets) - dtype.itemsize + 1,), dtype, octets, strides=(1,))


def _constant(text: bytes) -> tuple[np.uint64, np.uint64]:
    """Return up to 8 octets as a word, and the mask of these octets."""
    word = int.from_bytes(text, "little")
    return np.uint64(word), np.uint64((1 << 8 * len(text)) - 1)


def is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def fits_block(lines: Lines) -> bool:
    """Return whether lines are short enough for a `LineBlock`."""
    return int(lines.ends[-1] - lines.starts[0]) <= _BLOCK_BYTES_MAX
