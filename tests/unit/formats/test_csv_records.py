"""CSV records of several lines: which there are, whatever the blocks, and that no input makes them costly."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.context import ConnectorContext
from fsql.connectors.file.source import FileSplit
from fsql.connectors.opening import open_source
from fsql.formats.csv.decoder import CsvDecoder
from fsql.formats.csv.record_joiner import QuoteScanner, RecordJoiner
from fsql.formats.csv.records import Dialect
from fsql.formats.lines import LineCutter
from fsql.runtime.ports import Chunk
from fsql.tests.unit.connectors.reading import read_all, read_bytes
from fsql.tests.unit.connectors.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import SourceOffset, SplitReader

COLUMNS: Schema = (Column("n", BIGINT), Column("s", STRING))
PLAIN = Dialect(",", '"', '"', "")
ODD = Dialect(";", "'", "\\", "NULL")
PIECES = (
    "a",
    "b",
    "\n",
    "\r\n",
    "\n\n",
    '"',
    '""',
    ',"',
    '",',
    '"\n',
    '\n"',
    ",",
    "\r",
    "'",
    ";'",
    "';",
    "\\",
    "\\'",
)
BYTES_MAX = 40


def decoder(dialect: Dialect = PLAIN, bytes_max: int = 200) -> CsvDecoder:
    return CsvDecoder(COLUMNS, dialect, bytes_max, has_header=False)


def joined(
    data: bytes, dialect: Dialect, cuts: list[int], bytes_max: int = BYTES_MAX
) -> list[tuple[int, int, bytes]]:
    """Return line, offset and content of each record, with the blocks cut at these places."""
    cutter, joiner = LineCutter(bytes_max), RecordJoiner(dialect, bytes_max)
    records = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        parts = cutter.feed(data[start:end]) if start < end else []
        records += [each for part in parts for each in joiner.join(part)]
    records += [each for part in cutter.finish() for each in joiner.join(part)]
    records += joiner.finish()
    return [
        (part.number(i), part.offset(i), part.content(i)[: bytes_max + 1])
        for part in records
        for i in range(len(part))
    ]


def expected(data: bytes, dialect: Dialect) -> list[tuple[int, int, bytes]]:
    """Return the same by the definition, one character after the other."""
    text = data.decode("latin-1")
    records, start, line = [], 0, 1
    while start < len(text):
        end = _end(text, start, dialect)
        content = text[start:end].removesuffix("\n").removesuffix("\r")
        if len(content) > BYTES_MAX or (end == len(text) and _open(text[start:], dialect)):
            end = text.find("\n", start) + 1 or len(text)
            content = text[start:end].removesuffix("\n").removesuffix("\r")
        records.append((line, start, content[: BYTES_MAX + 1].encode("latin-1")))
        line += text.count("\n", start, end)
        start = end
    return records


def _end(text: str, start: int, dialect: Dialect) -> int:
    """Return where a record ends, behind its line end."""
    place = start
    while place < len(text):
        if text[place] == "\n" and not _open(text[start:place], dialect):
            return place + 1
        place += 1
    return len(text)


def _open(record: str, dialect: Dialect) -> bool:
    """Return whether the beginning of a record ends within quotes."""
    state, place = "field", 0
    while place < len(record):
        character = record[place]
        following = record[place + 1 : place + 2]
        if state == "quoted":
            doubled = dialect.escape == dialect.quote
            if character == dialect.escape and (not doubled or following == character):
                place += 1
            elif character == dialect.quote:
                state = "closed"
        elif state == "field" and character == dialect.quote:
            state = "quoted"
        elif state != "malformed":
            if character == dialect.delimiter:
                state = "field"
            else:
                state = "malformed" if state == "closed" else "open"
        place += 1
    return state == "quoted"


@pytest.mark.parametrize("seed", range(300))
def test_records_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    dialect = random.choice([PLAIN, PLAIN, ODD])
    pieces = random.sample(PIECES, random.randrange(3, len(PIECES)))
    data = "".join(random.choices(pieces, k=random.randrange(60))).encode()
    wanted = expected(data, dialect)
    assert joined(data, dialect, []) == wanted
    cuts = sorted(random.choices(range(len(data) + 1), k=random.randrange(1, 12)))
    assert joined(data, dialect, cuts) == wanted
    assert joined(data, dialect, list(range(1, len(data) + 1))) == wanted


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_line_ends_within_quotes_belong_to_the_value(end: bytes) -> None:
    data = end.join([b'1,"a', b"", b'b"', b"", b'2,"""', b'"', b"x,y", b'3,"', b'"', b""])
    read = read_bytes(data, COLUMNS, decoder())
    within = end.decode()
    assert read.rows == {0: (1, f"a{within}{within}b"), 1: (2, f'"{within}'), 3: (3, within)}
    [letter] = read.dead_letters
    assert (letter.row, letter.line, letter.byte, letter.code) == (2, 7, data.index(b"x,y"), 513)


def test_plain_records_of_several_lines_need_no_exact_half(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: object, *given: object) -> None:
        raise AssertionError((self, given))

    monkeypatch.setattr(CsvDecoder, "_split_lines", never)
    monkeypatch.setattr(RecordJoiner, "_join_by_line", never)
    read = read_bytes(b'1,"a\n\nb ""c"""\r\n\n2,x\n3,"\n"\n', COLUMNS, decoder())
    assert read.rows == {0: (1, 'a\n\nb "c"'), 1: (2, "x"), 2: (3, "\n")}


def test_a_stray_quote_hides_nothing() -> None:
    data = b'1,a\n2,"b\n3,c\n' + b"4,d\n" * 60 + b'5,"e\n6,f\n'
    read = read_bytes(data, COLUMNS, decoder())
    assert [
        (each.row, each.line, each.byte, each.code, each.reason) for each in read.dead_letters
    ] == [
        (1, 2, 4, 523, "a quoted field is not closed"),
        (63, 64, data.index(b"5"), 523, "a quoted field is not closed"),
    ]
    assert [n for n, _ in read.rows.values()] == [1, 3, *[4] * 60, 6]


def test_text_behind_a_quote_that_is_closed_on_another_line() -> None:
    read = read_bytes(b'1,"a\nb" c\n2,d\n', COLUMNS, decoder())
    assert read.rows == {1: (2, "d")}
    [letter] = read.dead_letters
    assert (letter.row, letter.line, letter.byte) == (0, 1, 0)
    assert letter.reason == "text follows the closing quote of field 2"
    assert letter.excerpt == '1,"a\\x0ab" c'


@pytest.mark.parametrize("block_bytes", [6, 100, 10**6])
def test_no_line_is_examined_often(block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line closes a quote and opens another one: from any line on, no record ends."""
    examined = 0
    scan = QuoteScanner._ends_open

    def counted(self: QuoteScanner, line: bytes, *, inside: bool) -> bool:
        nonlocal examined
        examined += 1
        return scan(self, line, inside=inside)

    monkeypatch.setattr(QuoteScanner, "_ends_open", counted)
    data = b'"b\n' + b'a","b\n' * 4000
    cuts = list(range(block_bytes, len(data), block_bytes))
    records = joined(data, PLAIN, cuts, bytes_max=3000)
    assert len(records) == 4001
    assert examined <= 4 * 4001


def split_of(path: Path) -> FileSplit:
    given = {"connector": "file", "path": path.name, "format": "csv", "header": "true"}
    (split,) = open_source(table(COLUMNS, **given), ConnectorContext(path.parent))
    assert isinstance(split, FileSplit)
    return split


def places_of(reader: SplitReader) -> list[tuple[SourceOffset, object]]:
    """Return each row with the place before it."""
    places: list[tuple[SourceOffset, object]] = []
    place = reader.source_offset()
    while (chunk := reader.read(1)) is not None:
        assert isinstance(chunk, Chunk)
        row = (
            [column[0].as_py() for column in chunk.columns]
            if len(chunk.rows)
            else chunk.dead_letters
        )
        places.append((place, row))
        place = reader.source_offset()
    return [*places, (place, None)]


def test_a_reader_goes_on_behind_any_record(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'"n","s"\r\n1,"a\r\nb"\r\n2,"c\n\n3,d"\r\nx,"\n"\n\n4,"e\n5,f\n6,g')
    places = places_of(split_of(path).open())
    assert len(places) == 7
    for at, (place, _) in enumerate(places):
        assert places_of(split_of(path).open(place)) == places[at:]


def test_a_header_may_have_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'"other\nname",n,s\n"x\ny",1,"a\nb"\n')
    read = read_all(split_of(path).open(), COLUMNS, 10)
    assert read.rows == {0: (1, "a\nb")}


def grown(path: Path, behind: SourceOffset, data: bytes) -> str:
    """Return what is said of a file that has grown since it was read up to a place."""
    path.write_bytes(path.read_bytes() + data)
    with pytest.raises(FsqlError) as caught:
        split_of(path).open(behind)
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == "E536"
    return diagnostic.message.rpartition(": ")[2]


def test_a_file_that_grows_behind_a_record(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'n,s\n1,"a\nb"\n')
    (end, _) = places_of(split_of(path).open())[-1]
    path.write_bytes(path.read_bytes() + b'2,"c\nd"\n')
    assert read_all(split_of(path).open(end), COLUMNS, 10).rows == {1: (2, "c\nd")}


@pytest.mark.parametrize("row", [1, 2, 3])
def test_a_file_that_grows_within_quotes_is_refused(tmp_path: Path, row: int) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'n,s\n1,"a\n2,b\n3,c\n')
    (place, _) = places_of(split_of(path).open())[row]
    said = "a quoted field was not closed, and now it continues"
    # It stays known when another reader has gone on from there.
    (end, _) = places_of(split_of(path).open(place))[-1]
    assert grown(path, end, b'"\n4,d\n') == said
    assert grown(path, place, b"5,e\n") == said
