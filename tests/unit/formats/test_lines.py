"""Lines do not depend on the blocks that a stream is read in.

Catches lines lost, doubled or torn at the borders of blocks, wrong numbers and offsets, a mark or a
carriage return taken off at the wrong place, and memory that grows with a line.
"""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from fsql.formats.lines import LineCutter
from fsql.tests.unit.formats.drawn import drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line as its reader sees it; `content` is None if it is too long."""

    number: int
    byte: int
    content: bytes | None


def cut(blocks: Iterable[bytes], bytes_max: int) -> tuple[list[Line], int]:
    """Return the lines that a cutter makes of the blocks, and where in the stream the last one ends."""
    cutter = LineCutter(bytes_max)
    parts = [part for block in blocks for part in cutter.feed(block)]
    parts += cutter.finish()
    end = 0
    lines = []
    for part in parts:
        assert part.byte == end
        end = part.end_byte
        for i in range(len(part)):
            content = part.content(i)
            known = content if len(content) <= bytes_max else None
            lines.append(Line(int(part.numbers[i]), part.offset(i), known))
    return lines, end


def naive_cut(stream: bytes, bytes_max: int) -> list[Line]:
    lines = []
    byte = 0
    pieces = stream.split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    for number, piece in enumerate(pieces, 1):
        mark = len(MARK) if number == 1 and piece.startswith(MARK) else 0
        content = piece[mark:].removesuffix(b"\r")
        kept = content if len(content) <= bytes_max else None
        lines.append(Line(number, byte + mark, kept))
        byte += len(piece) + 1
    return lines


PIECES = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bcd", b"\x00", MARK, b"e" * 700, b"\xff"]),
    max_size=30,
)


@drawn(
    250, PIECES, st.lists(st.integers(1, 12) | st.integers(1, 900), max_size=20), st.integers(1, 12)
)
def test_lines_are_those_of_the_stream(
    pieces: list[bytes], sizes: list[int], bytes_max: int
) -> None:
    stream = b"".join(pieces)
    lines, end = cut(blocks(stream, sizes), bytes_max)
    assert lines == naive_cut(stream, bytes_max)
    assert end == len(stream)


def blocks(stream: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Yield the stream in blocks of the given sizes, and what is left as one."""
    for size in sizes:
        if stream:
            yield stream[:size]
            stream = stream[size:]
    if stream:
        yield stream


def test_a_slice_has_the_lines_and_offsets_of_the_whole() -> None:
    (lines,) = LineCutter(100).feed(b"a\n\nbc\r\n\nd\n")
    part = lines.without_empty().slice(1, 3)
    assert [part.content(i) for i in range(len(part))] == [b"bc", b"d"]
    assert part.numbers.tolist() == [3, 5]
    assert [part.offset(i) for i in range(3)] == [3, 8, 10]


def test_a_line_of_200_mb_is_passed_over_without_being_kept() -> None:
    def stream() -> Iterator[bytes]:
        yield b"first\n"
        for _ in range(200):
            yield b"x" * 1_000_000
        yield b"\nlast"

    tracemalloc.start()
    lines, end = cut(stream(), 1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == [Line(1, 0, b"first"), Line(2, 6, None), Line(3, 200_000_007, b"last")]
    assert end == 200_000_011
    assert peak < 8 << 20
