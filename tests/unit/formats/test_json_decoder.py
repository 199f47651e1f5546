"""The JSON decoder: what it rejects and how, and that its fast half agrees with its exact one.

Catches a malformed record that passes, a good one that does not, a value that differs between the two
halves, and anything that depends on how the input is cut.  Cannot catch a rule that both halves take
from `values` and that is wrong there; the corpus is for that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, TIMESTAMP, array_of
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.strict import parse_object
from fsql.formats.json.values import column_values
from fsql.formats.malformed import DUPLICATE_KEY, MalformedError, excerpt
from fsql.runtime.ports import DeadLetter
from fsql.tests.unit.connectors.reading import Read, read_bytes
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.malformed_records import (
    COLUMNS,
    MALFORMED,
    RECORD_BYTES_MAX,
    Malformed,
)

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema

FEBRUARY = 1_709_251_140_000_000
"""2024-02-29T23:59:00Z in microseconds."""
GOOD = (
    b'{"id":7,"small":1,"ratio":0.5,"name":"good","flag":true,"at":"2024-02-29T23:59:00Z","gap":2,'
    b'"tags":["a"],"grid":[[3]],"times":["2024-02-29T23:59Z"],"customer":{"name":"n","at":0},'
    b'"items":[{"n":4}],"day":"2024-10-04","price":"12.5",'
    b'"tiny":-128,"short":32767,"single":0.5,"singles":[1,null],"data":"/w==","parts":["",null],'
    b'"clock":"12:00","clocks":["00:00:00.001",null],'
    b'"counts":{"b":null,"a":1},"days":{"2024-10-04":[{"10":0,"9":"2024-02-29T23:59Z"}]},'
    b'"u8":255,"u64":18446744073709551615,"u64s":[1,null]}\n'
)
"""A record with a value in every column, none of which may change with the records beside it."""
GOOD_ROW = (
    *(7, 1, 0.5, "good", True, FEBRUARY, 2),
    *(("a",), ((3,),), (FEBRUARY,), ("n", 0), ((4,),), 20_000, 1250),
    *(-128, 32_767, 0.5, (1.0, None), "\xff", ("", None), 43_200_000_000, (1000, None)),
    *((("a", 1), ("b", None)), ((20_000, (((9, FEBRUARY), (10, 0)),)),)),
    *(255, 2**64 - 1, (1, None)),
)


def read(
    data: bytes, columns: Schema = COLUMNS, rows_max: int = 10**6, block: int = 1 << 20
) -> Read:
    decoder = JsonDecoder(columns, RECORD_BYTES_MAX)
    return read_bytes(data, columns, decoder, rows_max=rows_max, block_bytes=block)


@pytest.mark.parametrize("bad", MALFORMED, ids=lambda bad: excerpt(bad.record)[:40] or "empty")
def test_a_malformed_record_is_rejected(bad: Malformed) -> None:
    kept = bad.record[: RECORD_BYTES_MAX + 1]
    expected = DeadLetter(
        row=1,
        line=2,
        byte=len(GOOD),
        code=bad.code,
        field=bad.field,
        reason=bad.reason,
        excerpt=excerpt(kept),
    )
    data = GOOD + bad.record + b"\n" + GOOD
    assert read(data) == Read({0: GOOD_ROW, 2: GOOD_ROW}, [expected], len(data))


def test_only_the_first_bytes_tell_the_form_of_a_file() -> None:
    record = b"\xff\xfe{\x00\n"
    reasons = [dead_letter.reason for dead_letter in read(record + GOOD + record).dead_letters]
    found = "byte 0 of the record, 0xff, is not UTF-8"
    assert reasons == [f"{found}; the file is UTF-16, not UTF-8", f"{found}; it reads as cp1252"]


def test_rejects_of_the_corpus_have_numbers_that_count_them() -> None:
    data = b"".join(bad.record + b"\r\n\n" + GOOD for bad in MALFORMED)
    whole = read(data)
    assert [dead_letter.row for dead_letter in whole.dead_letters] == list(
        range(0, 2 * len(MALFORMED), 2)
    )
    assert [dead_letter.code for dead_letter in whole.dead_letters] == [
        bad.code for bad in MALFORMED
    ]
    assert [dead_letter.line for dead_letter in whole.dead_letters] == list(
        range(1, 3 * len(MALFORMED), 3)
    )
    assert set(whole.rows.values()) == {GOOD_ROW}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "rows_max", "block"), [(0, 1, 1 << 20), (1, 7, 1000), (2, 10**6, 64), (0, 3, 7)]
)
def test_the_corpus_is_the_same_in_every_cut(cut: int, rows_max: int, block: int) -> None:
    data = b"".join(bad.record + b"\r\n\n" + GOOD for bad in MALFORMED[cut::3])
    assert read(data, rows_max=rows_max, block=block) == read(data)


def test_good_records_have_these_values() -> None:
    records = (
        '{"id":-9223372036854775808,"small":-2147483648,"ratio":-0.0,"name":"","flag":true,"gap":-1}',
        '{"id":2,"at":"1969-12-31T23:59:59.999999Z","tags":[],"grid":[[],null,[1,null]],"times":[]}',
        ' { "id" : 9223372036854775807 , "name" : "\\u0000\\ud83d\\ude00\\/\\\\" } ',
        '{"id":1,"at":"2024-02-29 23:59","ratio":-0,"tags":["a:b",null,"\\":"]}',
        '{"id":1,"at":"0001-01-01T00:00:00.5+00:00","unknown":{"id":[{"id":1}]},"ratio":1E400e}',
        '{"id":1,"at":253402300799999,"ratio":123456789012345678901234567890}',
        (
            '{"id":1,"at":"2024-01-31T12:00:00.120+14:00","times":[0,"1970-01-01T00:00:01",null],'
            '"customer":{"at":0,"odd":{}},"items":[null,{},{"n":1}],"day":"2024-10-04"}'
        ),
        '{"name":"last","id":0,"at":-1,"ratio":1e-400,"grid":null}',
    )
    data = "\ufeff" + "\n".join(records)
    second = 1_000_000
    nothing: tuple[Value, ...] = (None,) * 14
    expected: dict[int, tuple[Value, ...]] = {
        0: (-(2**63), -(2**31), -0.0, "", True, None, -1, *nothing[7:]),
        1: (2, None, None, None, None, -1, None, (), ((), None, (1, None)), (), *nothing[10:]),
        2: (2**63 - 1, None, None, "\0😀/\\", *nothing[4:]),
        3: (1, None, 0.0, None, None, FEBRUARY, None, ("a:b", None, '":'), *nothing[8:]),
        5: (1, None, 1.2345678901234568e29, None, None, 253_402_300_799_999_000, *nothing[6:]),
        6: (
            1,
            *nothing[1:5],
            1_706_652_000_120_000,
            None,
            None,
            None,
            (0, second, None),
            (None, 0),
            (None, (None,), (1,)),
            20_000,
            None,
        ),
        7: (0, None, 0.0, "last", None, -1000, *nothing[6:]),
    }
    result = read(data.encode())
    width = len(COLUMNS)
    assert result.rows == {n: (*row, *nothing)[:width] for n, row in expected.items()}
    assert [repr(result.rows[row][2]) for row in (0, 3)] == ["-0.0", "-0.0"]
    assert [
        (dead_letter.row, dead_letter.byte, dead_letter.code) for dead_letter in result.dead_letters
    ] == [(4, len(("\ufeff" + "\n".join(records[:4]) + "\n").encode()), 511)]


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("price", '"12\\u002e5"', 1250),
        ("price", '" 12.5 "', 1250),
        ("day", '"2024-10-0\\u0034"', 20_000),
        ("at", '"2024-02-29T23:59\\u005a"', FEBRUARY),
    ],
)
def test_what_only_the_exact_half_reads_has_its_value(field: str, text: str, value: Value) -> None:
    place = [column.name for column in COLUMNS].index(field)
    bad = b'{"id":1,"day":"2024-02-30"}\n'
    read_row = read(GOOD + bad + f'{{"id":2,"{field}":{text}}}\n'.encode() + GOOD).rows
    assert sorted(read_row) == [0, 2, 3]
    assert read_row[2][place] == value
    assert read_row[0] == read_row[3] == GOOD_ROW


def test_a_record_with_two_errors_is_one_dead_letter() -> None:
    """An unreadable timestamp that also looks like a key, and so like a key that occurs twice."""
    result = read(b'{"id":1,"at":":"}')
    assert [
        (dead_letter.row, dead_letter.code, dead_letter.field)
        for dead_letter in result.dead_letters
    ] == [(0, 520, "at")]


def test_unknown_fields_are_counted() -> None:
    decoder = JsonDecoder((Column("a", BIGINT),), 1000)
    records = [
        b'{"a":1}',
        b'{"a":1,"b":2,"c":{"d":1,"e":"\\":"}}',
        b'{"b":": "}',
        b'{"z":' + b"[" * 63 + b"]" * 63 + b"}",
        b'{"a":1,"b":1,"b":2}',
        b'{"a":1,"b":1e400}',
    ]
    result = read_bytes(b"\n".join(records), (Column("a", BIGINT),), decoder)
    assert list(result.rows.values()) == [(1,), (1,), (None,), (None,), (1,)]
    assert decoder.unknown_fields == 2 + 1 + 1 + 1


def test_unknown_fields_are_counted_whatever_half_reads_the_record() -> None:
    """The sign of zero is for the exact half, as are all records of the block that it is in."""
    columns = (Column("a", BIGINT), Column("d", DOUBLE))
    decoder = JsonDecoder(columns, 1000)
    result = read_bytes(b'{"a":1,"b":2}\n{"b":2,"d":-0}\n{"a":2,"d":1}', columns, decoder)
    assert result.rows == {0: (1, None), 1: (None, 0.0), 2: (2, 1.0)}
    assert decoder.unknown_fields == 2


@pytest.mark.parametrize("beside", [b"", b'{"s":"\\\\"}\n'], ids=["", "an escaped backslash"])
def test_colons_within_texts_are_not_those_of_keys(beside: bytes) -> None:
    """Whether a backslash is escaped somewhere in the block decides how colons are counted."""
    columns = (Column("a", BIGINT), Column("s", STRING))
    good = [
        (b'{"a":1,"s":"{\\"a\\": 1, \\"a\\" : {}}"}', (1, '{"a": 1, "a" : {}}')),
        (b'{"a":2,"s":": : :","x":{"y":"\\":"}}', (2, ": : :")),
        (b'{"x\\"":1,"a":3,"y\\"":{"x\\"":": "}}', (3, None)),
    ]
    repeated = [
        b'{"a\\"":1,"a\\"":2}',
        b'{"a":1,"s":": :","x":[{"y":1,"y":2}]}',
        b'{"a":1,"s":"\\": \\":","a":1}',
        b'{"a":1,"\\u0061":1}',
    ]
    if beside:
        repeated.append(b'{"x\\\\":1,"x\\\\":2}')
    decoder = JsonDecoder(columns, 1000)
    result = read_bytes(
        beside + b"\n".join([*(each for each, _ in good), *repeated]), columns, decoder
    )
    first = int(bool(beside))
    rows = {first + number: row for number, (_, row) in enumerate(good)}
    assert result.rows == ({0: (None, "\\")} if beside else {}) | rows
    assert [(each.row, each.code) for each in result.dead_letters] == [
        (first + len(good) + number, DUPLICATE_KEY) for number in range(len(repeated))
    ]
    assert decoder.unknown_fields == 1 + 2


def test_any_column_may_be_required() -> None:
    columns = (Column("a", BIGINT), Column("b", BIGINT, nullable=False), Column("c", BIGINT))
    result = read(b'{"b":1}\n{"a":1,"c":1}\n{"c":2,"b":3}', columns)
    assert result.rows == {0: (None, 1, None), 2: (None, 3, 2)}
    assert [
        (dead_letter.row, dead_letter.code, dead_letter.field)
        for dead_letter in result.dead_letters
    ] == [(1, 521, "b")]


def test_no_column_name_is_too_odd() -> None:
    columns = tuple(Column(name, BIGINT) for name in ('"', "\\", "a\nb", "", "é", "class", "c0"))
    record = json.dumps({column.name: i for i, column in enumerate(columns)})
    assert read(record.encode(), columns).rows == {0: tuple(range(7))}


FUZZED: Schema = (
    Column("a", BIGINT),
    Column("b", DOUBLE),
    Column("s", STRING),
    Column("t", TIMESTAMP),
    Column("l", array_of(BIGINT)),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["2024-01-31T00:00:00Z", "2024-01-31 00:00", "x:y", '":', '{"k": 1}', '\\":']),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
RECORDS = st.dictionaries(st.sampled_from("abstlxy"), VALUES, max_size=6)
EDITS = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(list(' "{}[]:,\\0e-.n\x00é')), st.booleans()),
    max_size=2,
)


def edited(text: str, edits: list[tuple[int, str, bool]]) -> bytes:
    """Return the text with characters put in or replaced at some places."""
    for place, character, replaces in edits:
        at = place % (len(text) + 1)
        text = text[:at] + character + text[at + replaces :]
    return text.encode("utf-8", "surrogatepass")


@drawn(15, st.lists(st.tuples(RECORDS, EDITS, st.booleans()), min_size=1, max_size=6), st.data())
def test_the_fast_half_agrees_with_the_exact_one(
    drawn_records: list[tuple[dict[str, object], list[tuple[int, str, bool]], bool]],
    data: st.DataObject,
) -> None:
    lines = [
        edited(json.dumps(record, ensure_ascii=ascii_, separators=(",", ":")), edits)
        for record, edits, ascii_ in drawn_records
    ]
    kept = [line for line in lines if line.removesuffix(b"\r")]
    expected = {}
    for number, line in enumerate(kept):
        try:
            expected[number], _ = column_values(FUZZED, parse_object(line))
        except MalformedError:
            continue
    rows_max = data.draw(st.integers(1, 6))
    result = read(b"\n".join(lines), FUZZED, rows_max, data.draw(st.integers(1, 80)))
    assert result.rows.keys() == expected.keys()
    for number, values in expected.items():
        for (index, value), column in zip(enumerate(values), FUZZED, strict=True):
            if column.type != TIMESTAMP:
                shown = tuple(value) if isinstance(value, list) else value
                assert repr(result.rows[number][index]) == repr(shown)


@drawn(50, VALUES, EDITS, st.sampled_from(["ascii", "utf-8"]))
def test_exact_json_is_the_json_of_the_standard_library(
    value: object, edits: list[tuple[int, str, bool]], encoding: str
) -> None:
    """But for what Python accepts beyond the standard: constants, lone surrogates, repeated keys."""
    record = edited(json.dumps({"k": value}, ensure_ascii=encoding == "ascii"), edits)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise ValueError("a key occurs twice")
        return made

    try:
        expected = json.loads(
            record.decode(),
            object_pairs_hook=once,
            parse_constant=refuse,
            parse_int=lambda text: (text,),
            parse_float=lambda text: (text,),
        )
        json.dumps(expected, ensure_ascii=False).encode()
        if not isinstance(expected, dict):
            expected = None
    except ValueError:
        expected = None
    try:
        parsed = parse_object(record)
    except MalformedError:
        assert expected is None
    else:
        assert parsed == expected


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0", "-0E5", "-1e-400", "0", "0.0"])
@pytest.mark.parametrize("unknown", ["", ',"x":{"y":[1]}'], ids=["known", "unknown field"])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_zero_has_the_sign_that_is_written(text: str, unknown: str, rows: int) -> None:
    columns = (
        Column("d", DOUBLE, nullable=True),
        Column("i", BIGINT, nullable=True),
        Column("l", array_of(DOUBLE), nullable=True),
    )
    record = f'{{"d":{text},"i":-0,"l":[{text} ,{text}]{unknown}}}\n'.encode()
    other = b'{"d":1.5,"i":2,"l":[]}\n'
    found = read((record + other) * rows, columns).rows
    zero = repr(float(text))
    assert [repr(found[2 * row]) for row in range(rows)] == [
        f"({zero}, 0, ({zero}, {zero}))"
    ] * rows
