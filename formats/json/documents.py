"""Finds the records of JSON that is not lines, by the definitions of `shapes`.

What is in a document besides its records is passed over: it takes no memory, and need not be valid JSON
inside its brackets.

Records are found by their brackets, outside of strings, in blocks of bytes; a decoder then reads each by the
exact rules.  Records, their lines and their offsets depend on the bytes only, never on the blocks.  A record
that is longer than `bytes_max` is cut, and remains longer than that.

Where a document is broken between its records nothing can be said of what follows: from there on all is one
malformed record.  A bracket that is missing within a record extends that record to the end of the source.
"""

from __future__ import annotations

import enum
import json
from codecs import BOM_UTF8
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.formats.json.shapes import (
    CLOSING,
    EMPTY,
    KEYS,
    TOKEN,
    VALUES,
    WHITE,
    MemberPath,
    Next,
    path_text,
)
from fsql.formats.lines import Lines
from fsql.formats.malformed import DUPLICATE_KEY, EXCERPT_BYTES, NOT_JSON, MalformedError

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints, Octets


_QUOTE, _BACKSLASH, _NEWLINE, _RETURN, _SPACE = b'"\\\n\r '
_BRACKETS: Final = np.zeros(256, np.int8)
_BRACKETS[[*b"{["]], _BRACKETS[[*b"}]"]] = 1, -1


class _Structure:
    """Finds the brackets outside of strings, in consecutive blocks."""

    def __init__(self) -> None:
        self._escaped = self._quoted = False
        self._depth = 0

    def scan(self, octets: Octets) -> tuple[Ints, Ints, Bools]:
        """Return the positions of brackets, the depth after each, and which octets are in strings."""
        quotes = octets == _QUOTE
        quotes &= ~self._escapes(octets)
        quoted = (np.cumsum(quotes, dtype=np.uint8) & 1).astype(np.bool_)
        if self._quoted:
            quoted = ~quoted
        self._quoted = bool(quoted[-1])
        steps = _BRACKETS[octets]
        steps[quoted] = 0
        positions = np.flatnonzero(steps)
        depths = np.cumsum(steps[positions], dtype=np.int64) + self._depth
        if len(depths):
            self._depth = int(depths[-1])
        return positions, depths, quoted

    def _escapes(self, octets: Octets) -> Bools:
        """Return which octets follow an odd number of backslashes."""
        escaped = np.zeros(len(octets), np.bool_)
        escaped[0] = self._escaped
        backslashes = np.flatnonzero(octets == _BACKSLASH)
        self._escaped = False
        if not len(backslashes):
            return escaped
        # A backslash escapes the next octet, unless it is escaped itself.
        firsts = np.flatnonzero(np.diff(backslashes, prepend=-2) != 1)
        starts = backslashes[firsts]
        lengths = np.diff(np.append(firsts, len(backslashes)))
        ends = starts + lengths
        odd = (lengths & 1).astype(np.bool_)
        odd ^= (starts == 0) & escaped[0]
        escaping = ends[odd]
        self._escaped = bool(len(escaping)) and int(escaping[-1]) == len(octets)
        escaped[escaping[escaping < len(octets)]] = True
        return escaped


class _Mode(enum.Enum):
    """What the cutter is in."""

    BETWEEN = 1
    """Between two values of the innermost frame."""
    RECORD = 2
    SKIPPED = 3
    """A value that is passed over."""
    BROKEN = 4
    """What follows a fault; the first bytes of it are awaited for the excerpt."""
    ENDED = 5


_SOURCE, _ARRAY, _OBJECT = 0, *b"[{"


@dataclass(slots=True)
class _Frame:
    """An open array or object with records inside, or the source itself, of which each value is a document.

    `level` names of the path are matched outside.  Of an object, `start` and `line` say where it is, `head`
    are its first bytes, `matches` says whether the last key was the next name of the path, `found` whether
    any was.
    """

    kind: int
    level: int
    expected: Next
    start: int = 0
    line: int = 1
    head: bytes = b""
    matches: bool = False
    found: bool = False

    def end_value(self) -> None:
        """Expect what may follow a value."""
        self.expected = Next.COMMA_OR_END if self.kind else Next.VALUE


class DocumentCutter:
    """Cuts blocks of a source into records; see the module.

    `faults` has the reason why a record is malformed that stands for a fault between records, by its offset.
    Each of these records is returned alone.
    """

    def __init__(self, path: MemberPath, bytes_max: int) -> None:
        self._path = tuple(name.encode() for name in path)
        self._path_text = path_text(path)
        self._kept_max = max(bytes_max, EXCERPT_BYTES) + 1
        self.faults: dict[int, MalformedError] = {}
        self._structure = _Structure()
        self._frames = [_Frame(_SOURCE, 0, Next.VALUE)]
        self._mode = _Mode.BETWEEN
        self._target = 0
        """The depth after the bracket that ends the record or the value that is passed over."""
        self._data = bytearray()
        """The bytes from offset `_byte` on that are not yet read, with other white space for line ends."""
        self._byte = 0
        self._line = 1
        """The line at offset `_byte`."""
        self._newlines: Ints = np.empty(0, np.int64)
        """The offsets of the line ends from offset `_byte` on."""
        self._at = 0
        """The offset where the record begins, or what is between two."""
        self._cut: Lines | None = None
        """The beginning of a record that is longer than what is kept of it."""
        self._error = MalformedError(NOT_JSON, "")
        self._seen_bytes = 0
        self._records: list[tuple[int, int]] = []
        """The beginnings and ends of records that are not yet in a part."""
        self._parts: list[Lines] = []

    @property
    def seen_bytes(self) -> int:
        """Return the offset in the source after the last block."""
        return self._seen_bytes

    @property
    def line_byte(self) -> int:
        """Return the offset in the source of the record that the next block continues."""
        return self._at

    def feed(self, block: bytes) -> list[Lines]:
        """Return the records that `block`, which is not empty, completes, in parts."""
        start, self._seen_bytes = self._seen_bytes, self._seen_bytes + len(block)
        if self._mode is _Mode.ENDED:
            return []
        octets = np.frombuffer(block, np.uint8).copy()
        if start == 0 and block.startswith(BOM_UTF8):
            octets[: len(BOM_UTF8)] = _SPACE
        positions, depths, quoted = self._structure.scan(octets)
        signs = octets[positions]
        newlines = octets == _NEWLINE
        self._newlines = np.append(self._newlines, np.flatnonzero(newlines) + start)
        # A line end is white space, or makes its string malformed; so does a carriage return.
        octets[newlines] = np.where(quoted[newlines], _RETURN, _SPACE)
        for frame in self._frames:
            if frame.kind == _OBJECT:
                frame.head += block[: max(EXCERPT_BYTES - len(frame.head), 0)]
        self._data += octets.tobytes()
        self._read(positions + start, depths, signs)
        return self._take_parts()

    def finish(self) -> list[Lines]:
        """Return the records that the end of the source completes: what is left is malformed."""
        if (
            self._mode is _Mode.BETWEEN and self._read_gap(self._seen_bytes) and self._frames[1:]
        ) or self._mode is _Mode.SKIPPED:
            self._fault_at_end()
        elif self._mode is _Mode.RECORD:
            self._end_record(self._seen_bytes)
        if self._mode is _Mode.BROKEN:
            self._end_broken()
        self._mode = _Mode.ENDED
        return self._take_parts()

    def _read(self, positions: Ints, depths: Ints, signs: Octets) -> None:
        """Read a block by its brackets; `positions` are their offsets, `depths` the depth after each."""
        closing = _BRACKETS[signs] < 0
        ends: dict[int, Ints] = {}
        index = 0
        while index < len(positions):
            if self._mode is _Mode.BETWEEN:
                offset = int(positions[index])
                if self._read_gap(offset):
                    self._read_bracket(offset, int(signs[index]), int(depths[index]))
                index += 1
            elif self._mode in {_Mode.RECORD, _Mode.SKIPPED}:
                if self._target not in ends:
                    ends[self._target] = np.flatnonzero(closing & (depths == self._target))
                of_target = ends[self._target]
                next_end = int(np.searchsorted(of_target, index))
                if next_end == len(of_target):
                    break
                index = int(of_target[next_end]) + 1
                end = int(positions[index - 1]) + 1
                if self._mode is _Mode.RECORD:
                    self._end_record(end)
                self._mode, self._at = _Mode.BETWEEN, end
                self._frames[-1].end_value()
            else:
                break

    def _read_gap(self, end: int) -> bool:
        """Read what is between two brackets, up to offset `end`; return whether it may be there."""
        data, byte, at = self._data, self._byte, self._at
        if end - at > self._kept_max and not self._fits(end):
            return False
        while match := TOKEN.match(data, at - byte, end - byte):
            string, sign, word = match.groups()
            value = string or word
            offset, at = match.start(match.lastindex or 0) + byte, match.end() + byte
            frame = self._frames[-1]
            if string and frame.expected in KEYS:
                if not self._read_key(frame, string, offset):
                    return False
            elif value and frame.expected in VALUES:
                self._read_scalar(frame, offset, at, value)
                frame.end_value()
            elif sign == b":" and frame.expected is Next.COLON:
                frame.expected = Next.VALUE
            elif sign == b"," and frame.expected is Next.COMMA_OR_END:
                frame.expected = Next.KEY if frame.kind == _OBJECT else Next.VALUE
            else:
                self._break(offset, self._unexpected(frame))
                return False
        rest = bytes(data[at - byte : end - byte])
        if rest.strip(WHITE):
            offset = at + len(rest) - len(rest.lstrip(WHITE))
            self._break(offset, self._unexpected(self._frames[-1]))
            return False
        self._at = end
        return True

    def _fits(self, end: int) -> bool:
        """Return whether what is between two brackets, without white space before, is not too long."""
        gap = bytes(self._data[self._at - self._byte : end - self._byte])
        at = self._at + len(gap) - len(gap.lstrip(WHITE))
        if end - at <= self._kept_max:
            return True
        self._break(at, "what is between two records is longer than a record may be")
        return False

    def _read_key(self, frame: _Frame, string: bytes, offset: int) -> bool:
        """Read the key of a member; return whether it may be there."""
        try:
            key = json.loads(string).encode()
        except ValueError:
            self._break(offset, "the key is malformed")
            return False
        frame.expected = Next.COLON
        frame.matches = key == self._path[frame.level]
        if frame.matches and frame.found:
            self._break(offset, f'the key "{key.decode()}" occurs twice', DUPLICATE_KEY)
            return False
        frame.found |= frame.matches
        return True

    def _read_scalar(self, frame: _Frame, start: int, end: int, value: bytes) -> None:
        """Read a value that is no array and no object."""
        level = frame.level
        if frame.kind == _OBJECT:
            if not frame.matches:
                return
            level += 1
        if level < len(self._path):
            reason = f"the document has no {self._path_text}"
            self._add_fault(start, self._line_at(start), value[:EXCERPT_BYTES], end, reason)
        elif frame.kind != _OBJECT or value != b"null":
            self._records.append((start, end))

    def _read_bracket(self, offset: int, sign: int, depth: int) -> None:
        frame = self._frames[-1]
        if _BRACKETS[sign] < 0:
            self._close(frame, offset, sign)
            return
        if frame.expected not in VALUES:
            self._break(offset, self._unexpected(frame))
            return
        self._at = offset
        level = frame.level + (frame.kind == _OBJECT)
        if frame.kind == _OBJECT and not frame.matches:
            self._mode, self._target = _Mode.SKIPPED, depth - 1
        elif sign == _ARRAY and frame.kind != _ARRAY:
            self._frames.append(_Frame(_ARRAY, level, Next.VALUE_OR_END))
            self._at = offset + 1
        elif sign == _OBJECT and level < len(self._path):
            at = offset - self._byte
            head = bytes(self._data[at : at + EXCERPT_BYTES])
            line = self._line_at(offset)
            self._frames.append(_Frame(_OBJECT, level, Next.KEY_OR_END, offset, line, head))
            self._at = offset + 1
        else:
            self._mode, self._target = _Mode.RECORD, depth - 1

    def _close(self, frame: _Frame, offset: int, sign: int) -> None:
        """Close the innermost frame."""
        closing = bytes([sign])
        allowed = frame.expected in {Next.COMMA_OR_END, EMPTY[closing]}
        if frame.kind != CLOSING[closing] or not allowed:
            self._break(offset, self._unexpected(frame))
            return
        self._frames.pop()
        self._at = offset + 1
        if frame.kind == _OBJECT and not frame.found:
            head = frame.head[: self._at - frame.start]
            reason = f"the document has no {self._path_text}"
            self._add_fault(frame.start, frame.line, head, self._at, reason)
        self._frames[-1].end_value()

    def _end_record(self, end: int) -> None:
        if self._cut is None:
            self._records.append((self._at, end))
            return
        self._parts.append(replace(self._cut, end_byte=end, end_number=self._line_at(end)))
        self._cut = None

    def _break(self, offset: int, reason: str, code: int = NOT_JSON) -> None:
        """End at a fault, after which nothing can be said."""
        self._mode, self._at = _Mode.BROKEN, offset
        self._error = MalformedError(code, f"{reason}; what follows cannot be read")

    def _end_broken(self) -> None:
        content = bytes(self._data[self._at - self._byte :][:EXCERPT_BYTES])
        end = self._at + len(content)
        line = self._line_at(self._at)
        self._add_fault(self._at, line, content, end, self._error.reason, self._error.code)
        self._mode = _Mode.ENDED

    def _fault_at_end(self) -> None:
        frame = self._frames[-1]
        within = "an object" if self._mode is _Mode.SKIPPED else _NAMES[frame.kind]
        reason = f"the source ends within {within}"
        sign = bytes([frame.kind])
        self._add_fault(
            self._seen_bytes, self._line_at(self._seen_bytes), sign, self._seen_bytes, reason
        )

    def _add_fault(
        self, start: int, line: int, content: bytes, end: int, reason: str, code: int = NOT_JSON
    ) -> None:
        """Add a record that stands for a fault."""
        self._flush()
        self.faults[start] = MalformedError(code, reason)
        self._parts.append(_lone_record(start, line, content, end, self._line_at(end)))

    @staticmethod
    def _unexpected(frame: _Frame) -> str:
        within = "" if frame.kind == _SOURCE else f" in {_NAMES[frame.kind]}"
        return f"{frame.expected.value} is expected{within}"

    def _line_at(self, offset: int) -> int:
        return self._line + int(np.searchsorted(self._newlines, offset))

    def _flush(self) -> None:
        """Make a part of the records so far."""
        if not self._records:
            return
        starts, ends = np.array(self._records, np.int64).T
        self._records = []
        byte, end_byte = int(starts[0]), int(ends[-1])
        octets = np.frombuffer(
            bytes(self._data[byte - self._byte : end_byte - self._byte]), np.uint8
        )
        steps = np.zeros(len(octets) + 1, np.int8)
        steps[starts - byte] = 1
        steps[ends - byte] -= 1
        octets = np.where(np.cumsum(steps[:-1], dtype=np.int8), octets, np.uint8(_SPACE))
        followed = ends[:-1] < starts[1:]
        octets[ends[:-1][followed] - byte] = _NEWLINE
        self._parts.append(
            Lines(
                octets.tobytes(),
                starts - byte,
                ends - byte,
                self._line + np.searchsorted(self._newlines, starts),
                byte,
                end_byte,
                self._line_at(end_byte),
            )
        )

    def _take_parts(self) -> list[Lines]:
        """Return the parts, and keep of the bytes what is still needed."""
        self._flush()
        if self._mode is _Mode.BROKEN and self._seen_bytes - self._at >= EXCERPT_BYTES:
            self._end_broken()
        if self._mode is _Mode.BETWEEN:
            gap = bytes(self._data[self._at - self._byte :])
            self._at += len(gap) - len(gap.lstrip(WHITE))
            self._fits(self._seen_bytes)
        needed = self._at
        if self._mode in {_Mode.SKIPPED, _Mode.ENDED} or self._cut is not None:
            needed = self._seen_bytes
        elif self._mode is _Mode.RECORD and self._seen_bytes - self._at > self._kept_max:
            content = bytes(self._data[self._at - self._byte :][: self._kept_max])
            self._cut = _lone_record(self._at, self._line_at(self._at), content, self._at, 1)
            needed = self._seen_bytes
        del self._data[: needed - self._byte]
        passed = int(np.searchsorted(self._newlines, needed))
        self._byte, self._line = needed, self._line + passed
        self._newlines = self._newlines[passed:]
        parts, self._parts = self._parts, []
        return parts


_NAMES: Final = {_ARRAY: "an array", _OBJECT: "an object"}


def _lone_record(start: int, line: int, content: bytes, end: int, end_line: int) -> Lines:
    one = np.array([0], np.int64), np.array([len(content)], np.int64), np.array([line], np.int64)
    return Lines(content, *one, start, end, end_line)
