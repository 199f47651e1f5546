"""Records in documents of JSON: found whatever the layout and the blocks, with exact places."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.formats.json.documents import DocumentCutter
from fsql.formats.json.shapes import begins_document, parse_path, path_text

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX = 1 << 16


def drawn_text(draw: Random) -> str:
    return "".join(draw.choices('a{}[],:"\\ \n\té', k=draw.randrange(6)))


def drawn_value(draw: Random, depth: int = 3) -> object:
    kind = draw.randrange(6 if depth else 4)
    if kind == 5:
        return drawn_record(draw, depth - 1)
    if kind == 4:
        return [drawn_value(draw, depth - 1) for _ in range(draw.randrange(3))]
    return (None, True, draw.randrange(-9, 9), drawn_text(draw))[kind]


def drawn_record(draw: Random, depth: int = 3) -> dict[str, object]:
    return {drawn_text(draw): drawn_value(draw, depth) for _ in range(draw.randrange(4))}


class Record(tuple[int, int, bytes, str]):
    """Line, offset, content, and the reason of a fault."""

    __slots__ = ()


def cut(
    data: bytes, path: tuple[str, ...] = (), size: int = 1 << 20, most: int = MAX
) -> list[Record]:
    cutter = DocumentCutter(path, most)
    blocks: Iterable[bytes] = (data[at : at + size] for at in range(0, len(data), size))
    parts = [part for block in blocks for part in cutter.feed(block)]
    parts += cutter.finish()
    records = []
    for part in parts:
        for index in range(len(part)):
            offset = part.offset(index)
            fault = cutter.faults.get(offset)
            reason = "" if fault is None else fault.reason
            records.append(Record((part.number(index), offset, part.content(index), reason)))
    return records


@pytest.mark.parametrize("seed", range(60))
def test_records_are_found_in_every_layout(seed: int) -> None:
    draw = Random(seed)
    documents = [
        [drawn_record(draw) for _ in range(draw.randrange(5))] for _ in range(draw.randrange(4))
    ]
    indent, wrapped, size = draw.choice([None, 0, 2]), draw.random() < 0.5, draw.randrange(1, 40)
    values = [
        {"x": [{}], "at": {"the rows": records}, "y": "{["} if wrapped else records
        for records in documents
    ]
    texts = [json.dumps(value, indent=indent, ensure_ascii=False) for value in values]
    data = "\n".join(texts).encode()
    path = ("at", "the rows") if wrapped else ()
    result = cut(data, path, size)
    expected = [record for records in documents for record in records]
    assert [json.loads(content) for _, _, content, _ in result] == expected
    assert result == cut(data, path)
    for line, offset, content, reason in result:
        end = offset + len(content)
        assert data[offset:end].replace(b"\n", b" ") == content
        assert line == data[:offset].count(b"\n") + 1
        assert not reason


@pytest.mark.parametrize("seed", range(20))
def test_records_do_not_depend_on_blocks(seed: int) -> None:
    draw = Random(seed)
    for _ in range(50):
        signs = draw.choices('a1{}[],:" \n\\', k=draw.randrange(30))
        data, size, path = "".join(signs).encode(), draw.randrange(1, 8), draw.choice([(), ("a",)])
        assert cut(data, path, size, 8) == cut(data, path, most=8)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}{"a":2}', [(1, 0, b'{"a":1}', ""), (1, 7, b'{"a":2}', "")]),
        (b'[1, null,"x"]', [(1, 1, b"1", ""), (1, 4, b"null", ""), (1, 9, b'"x"', "")]),
        (b"[[{}]]", [(1, 1, b"[{}]", "")]),
        (b"[]\n\n[ ]", []),
        (b'[{},\n{"a":1', [(1, 1, b"{}", ""), (2, 5, b'{"a":1', "")]),
        (
            b"[{},",
            [(1, 1, b"{}", ""), (1, 4, b"[", "the source ends within an array")],
        ),
        (
            b"[{} {}]",
            [
                (1, 1, b"{}", ""),
                (
                    1,
                    4,
                    b"{}]",
                    "a comma or a closing bracket is expected in an array; what follows cannot be read",
                ),
            ],
        ),
        (b"]{}", [(1, 0, b"]{}", "a value is expected; what follows cannot be read")]),
    ],
)
def test_what_is_no_record(
    data: bytes, expected: list[tuple[int, int, bytes, str]], size: int
) -> None:
    assert cut(data, size=size) == expected


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"R":[{"a":1}],"n":[{"R":[{}]}]}', [(1, 6, b'{"a":1}', "")]),
        (b'{"R":{"a":1}} {"R":null} {"R":[]}', [(1, 5, b'{"a":1}', "")]),
        (b'[{"R":[{}]},\n{"R":[{}]}]', [(1, 7, b"{}", ""), (2, 19, b"{}", "")]),
        (b'{"\\u0052":[{}]}', [(1, 11, b"{}", "")]),
        (
            b'{"R":[{}]}\n{"r":[{}]}\n{"R":[{}]}',
            [
                (1, 6, b"{}", ""),
                (2, 11, b'{"r":[{}]}', "the document has no $.R"),
                (3, 28, b"{}", ""),
            ],
        ),
        (b"7", [(1, 0, b"7", "the document has no $.R")]),
        (
            b'{"R":[],"R":[{}]}',
            [(1, 8, b'"R":[{}]}', 'the key "R" occurs twice; what follows cannot be read')],
        ),
        (b'{"x":{"R":', [(1, 10, b"{", "the source ends within an object")]),
    ],
)
def test_records_at_a_path(
    data: bytes, expected: list[tuple[int, int, bytes, str]], size: int
) -> None:
    assert cut(data, ("R",), size) == expected


def test_a_long_record_is_cut_and_a_long_rest_of_a_document_takes_no_memory() -> None:
    text = b"x" * 5000
    data = b'{"skipped":["%s"],"R":[{"a":"%s"},{"a":1}]}' % (text, text)
    cutter = DocumentCutter(("R",), 10)
    parts, kept = [], 0
    for at in range(0, len(data), 100):
        parts += cutter.feed(data[at : at + 100])
        kept = max(kept, len(cutter._data))
    assert [part.offset(0) for part in parts] == [data.index(b'{"a":"'), data.index(b'{"a":1}')]
    assert len(parts[0].content(0)) == 1025
    assert parts[1].content(0) == b'{"a":1}'
    assert kept < 1200


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"", False),
        (b"\xef\xbb\xbf[\n{", True),
        (b"[]", True),
        (b"[1,2]\n", False),
        (b'{"a":1}\n{\n', False),
        (b'{"a":1}', False),
        (b'{"a":1} {"a":2}', True),
        (b'{"a":1}[{}]', True),
        (b'{"a":1} x', False),
        (b'{\n"a"', True),
        (b'{"a":1\n', False),
        (b'{"a":1,\n{"a":2}\n', False),
        (b'{"a":\n{"a":2}\n{"a":3}', False),
        (b'{"a":"\n"}', False),
        (b'{"a":"x', False),
        (b'\n\n {"a":\n1}', True),
        (b"x\n", False),
    ],
)
def test_what_the_beginning_of_a_source_shows(start: bytes, expected: bool) -> None:  # noqa: FBT001
    assert begins_document(start, whole=True) is expected


@pytest.mark.parametrize("start", [b"", b"[", b'{"a":', b'{"a":1}', b'{"a":1} '])
def test_more_bytes_are_needed(start: bytes) -> None:
    assert begins_document(start, whole=False) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$", ()),
        ("$.Records", ("Records",)),
        ("$.a.b[*]", ("a", "b")),
        ("$['a b'][\"c.d\"]", ("a b", "c.d")),
        ("Records", None),
        ("$.a[0]", None),
        ("$..a", None),
    ],
)
def test_paths(text: str, path: tuple[str, ...] | None) -> None:
    assert parse_path(text) == path
    if path is not None:
        assert parse_path(path_text(path)) == path
