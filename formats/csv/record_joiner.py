"""Joins lines into records: a line end within quotes does not end a record.

A record ends at the first line end that is not within quotes.  If a quoted field is not closed within the
maximum length of a record, or before the end of the stream, the record is only the line in which it begins,
which is malformed.  The next record begins with the next line, so a stray quote hides no rows.  Records
depend on the bytes of the stream and on its end, never on blocks.

Each line is examined at most twice as the first line of a record, and at most twice as a line that begins
within quotes.  So the time is linear in the length of the input.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.formats.lines import concatenate

if TYPE_CHECKING:
    from fsql.formats.csv.records import Dialect
    from fsql.formats.lines import Lines
    from fsql.runtime.arrays import Ints


_NEWLINE: Final = 0x0A
_RETURN: Final = 0x0D


class RecordJoiner:
    """Joins the lines of one stream into records."""

    def __init__(self, dialect: Dialect, bytes_max: int) -> None:
        self.decided_by_end = False
        self._dialect = dialect
        self._bytes_max = bytes_max
        self._quotes = QuoteScanner(dialect)
        # The lines of an incomplete record: each ends within quotes.
        self._kept: deque[Lines] = deque()

    def join(self, lines: Lines) -> list[Lines]:
        """Return the records that the next lines complete."""
        records, rest = self._continue_kept(lines)
        if len(rest):
            joined, rest = self._join(rest)
            if len(joined):
                records.append(joined)
            if len(rest):
                self._kept.append(rest)
        return records

    def finish(self) -> list[Lines]:
        """Return the records that the end of the stream completes."""
        records = []
        while self._kept:
            self.decided_by_end = True
            records += self._release_kept()
        return records

    def _continue_kept(self, lines: Lines) -> tuple[list[Lines], Lines]:
        """Return the records that begin in kept lines and are now complete, and the remaining lines."""
        records: list[Lines] = []
        scanned = 0  # as many of the new lines end within quotes as of all kept ones
        while self._kept:
            start = self._kept[0].offset(0)
            while scanned < len(lines) and self._fits(lines, scanned, start):
                if not self._quotes.stays_open(lines.content(scanned)):
                    rest = concatenate([*self._kept, lines])
                    self._kept.clear()
                    return records, rest
                scanned += 1
            if scanned == len(lines):
                self._kept.append(lines)
                return records, lines.slice(0, 0)
            records += self._release_kept()
        return records, lines

    def _release_kept(self) -> list[Lines]:
        """Return the first kept line as a record, and the records after it."""
        released = []
        count = 1
        while self._kept:
            held = self._kept.popleft()
            while count < len(held) and not self._opens(held, count):
                count += 1
            released.append(held.slice(0, count))
            if count < len(held):
                self._kept.appendleft(held.slice(count, len(held)))
                break
            count = 0
        return [lines for lines in released if len(lines)]

    def _join(self, lines: Lines) -> tuple[Lines, Lines]:
        """Return the records of lines, the first of which begins a record, and the remaining lines."""
        if self._dialect.quote.encode() not in lines.span():
            return lines, lines.slice(0, 0)
        last = self._last_lines_if_plain(lines)
        if last is not None:
            first = np.append(0, last + 1)
            rest = lines.slice(int(first[-1]), len(lines))
            return lines.join(first[:-1], last), rest
        return self._join_by_line(lines)

    def _last_lines_if_plain(self, lines: Lines) -> Ints | None:
        """Return the last line of each record; None if the number of quotes does not determine it."""
        quotes = find_plain_quotes(lines.span(), self._dialect)
        if quotes is None:
            return None
        quotes_before = np.searchsorted(quotes, lines.ends - lines.starts[0])
        last = np.flatnonzero(quotes_before % 2 == 0)
        first = np.append(0, last + 1)
        if first[-1] == len(lines):
            first = first[:-1]
        ends = np.append(last, len(lines) - 1)[: len(first)]
        several = ends > first
        too_long = lines.ends[ends] - lines.starts[first] > self._bytes_max
        return None if (several & too_long).any() else last

    def _join_by_line(self, lines: Lines) -> tuple[Lines, Lines]:
        """Do the same as `_join`, line by line."""
        first, last = [], []
        line = scanned = 0  # lines before `scanned` end within quotes, if `line` does
        while line < len(lines):
            end = line
            if self._opens(lines, line):
                start, end = lines.offset(line), max(scanned, line + 1)
                while end < len(lines) and self._fits(lines, end, start):
                    if not self._quotes.stays_open(lines.content(end)):
                        break
                    end += 1
                scanned = end
                if end == len(lines):
                    break
                if not self._fits(lines, end, start):
                    end = line
            first.append(line)
            last.append(end)
            line = end + 1
        joined = lines.join(np.array(first, np.int64), np.array(last, np.int64))
        return joined, lines.slice(line, len(lines))

    def _opens(self, lines: Lines, line: int) -> bool:
        """Return whether a record that begins with a line continues after it."""
        length = int(lines.ends[line] - lines.starts[line])
        return length <= self._bytes_max and self._quotes.opens(lines.content(line))

    def _fits(self, lines: Lines, line: int, start: int) -> bool:
        """Return whether a record from offset `start` to the end of a line is within the maximum length."""
        return lines.byte + int(lines.ends[line]) - start <= self._bytes_max


class QuoteScanner:
    """Determines whether a line ends within quotes."""

    def __init__(self, dialect: Dialect) -> None:
        self._delimiter = dialect.delimiter.encode()
        self._quote = dialect.quote.encode()
        quote, escape = re.escape(self._quote), re.escape(dialect.escape.encode())
        ordinary = b"[^" + quote + escape + b"]*+"
        escaped = quote + quote if dialect.escape == dialect.quote else escape + b"."
        pattern = ordinary + b"(?:" + escaped + ordinary + b")*+" + quote
        self._find_end = re.compile(pattern, re.DOTALL).match

    def opens(self, line: bytes) -> bool:
        """Return whether a line that begins a record ends within quotes."""
        return self._quote in line and self._ends_open(line, inside=False)

    def stays_open(self, line: bytes) -> bool:
        """Return whether a line that begins within quotes ends within quotes."""
        return self._ends_open(line, inside=True)

    def _ends_open(self, line: bytes, *, inside: bool) -> bool:
        offset = 0
        while True:
            while not inside and not line.startswith(self._quote, offset):
                offset = line.find(self._delimiter, offset) + 1
                if not offset:
                    return False
            closed = self._find_end(line, offset if inside else offset + 1)
            if closed is None:
                return True
            if not line.startswith(self._delimiter, closed.end()):
                return False  # the end, or a malformed record, which ends with this line
            offset, inside = closed.end() + 1, False


def find_plain_quotes(span: bytes, dialect: Dialect) -> Ints | None:
    """Return the offsets of the quotes in lines; None if opening and closing quotes may not alternate.

    They alternate if quotes are escaped by doubling, and each is next to a delimiter, a line end, or another
    quote on its outer side.  The first line begins a record.
    """
    quote, delimiter = dialect.quote.encode()[0], dialect.delimiter.encode()[0]
    if dialect.escape != dialect.quote:
        special = (dialect.escape.encode(), dialect.quote.encode())
        return None if any(each in span for each in special) else np.empty(0, np.int64)
    octets = np.frombuffer(span, np.uint8)
    quotes = np.flatnonzero(octets == quote)
    opening, closing = quotes[0::2], quotes[1::2]
    outer = np.zeros(256, np.bool_)
    outer[[quote, delimiter, _NEWLINE]] = True
    before = octets[opening[opening > 0] - 1]
    next_offsets = closing[closing < len(octets) - 1] + 1
    after = octets[next_offsets]
    returns = next_offsets[after == _RETURN]
    line_ends = octets[np.minimum(returns + 1, len(octets) - 1)] == _NEWLINE
    line_ends |= returns == len(octets) - 1
    outer_after = outer.copy()
    outer_after[_RETURN] = True
    plain = outer[before].all() and outer_after[after].all() and line_ends.all()
    return quotes if plain else None
