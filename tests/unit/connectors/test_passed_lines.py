"""The places of rows that a reader has returned last."""

from __future__ import annotations

from fsql.connectors.streams.passed_lines import PassedLines
from fsql.formats.lines import LineCutter
from fsql.runtime.ports import RowPlace


def test_rows_of_the_last_chunk_and_some_before_it_are_known() -> None:
    cutter, passed, row = LineCutter(100), PassedLines(3), 0
    for block in (b"a\n\nbc\n", b"d\n", b"e\n\nf\n", b"g\n"):
        [lines] = cutter.feed(block)
        lines = lines.without_empty()
        passed.add(row, lines)
        row += len(lines)
    assert [passed.place_of(number) for number in range(7)] == [
        None,
        None,
        RowPlace(4, 6),
        RowPlace(5, 8),
        RowPlace(7, 11),
        RowPlace(8, 13),
        None,
    ]
    assert passed.first_byte == 6
