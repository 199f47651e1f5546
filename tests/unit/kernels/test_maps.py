from __future__ import annotations

import pyarrow as pa

from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.graph import (
    Closing,
    Compute,
    Explode,
    Late,
    OnTime,
    Pad,
    Renumber,
    ScanRows,
    Select,
)
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, TIMESTAMP, array_of
from fsql.runtime.batch import PUNCTUATION, TIME_START, Batch, Root
from fsql.runtime.kernels.maps import compile_map
from fsql.tests.unit.kernels.rows import Failed, Row, batch_of, failures_of, rows_of

NUMBERS = (Column("a", BIGINT), Column("b", BIGINT))
A, B = (ColumnRef(BIGINT, nullable=True, index=index) for index in range(2))
QUOTIENT = Call(BIGINT, nullable=True, function="divide", arguments=(A, B))
ROWS = [
    Row((6, 2), Root(10, 1), (0,), 1),
    Row((6, 0), Root(10, 2), (0,), -1),
    Row((None, 0), Root(11, 3), (0,), 1),
    Row((9, 3), Root(12, 4), (0,), 1),
]


def batch() -> Batch:
    return batch_of(ROWS, [BIGINT, BIGINT], 1)


def test_compute_drops_failing_rows_and_says_which() -> None:
    result = compile_map(Compute((QUOTIENT, A)), NUMBERS)(batch())
    assert rows_of(result.rows, [BIGINT, BIGINT]) == [
        Row((3, 6), Root(10, 1), (0,), 1),
        Row((None, None), Root(11, 3), (0,), 1),
        Row((3, 9), Root(12, 4), (0,), 1),
    ]
    assert failures_of(result) == [Failed(501, Root(10, 2), -1)]
    assert result.errors is not None
    assert result.errors.columns[0].type == pa.int16()


def test_select_keeps_what_is_true() -> None:
    three = Literal(BIGINT, nullable=False, value=3)
    equal = Call(BOOLEAN, nullable=True, function="eq", arguments=(QUOTIENT, three))
    result = compile_map(Select(equal), NUMBERS)(batch())
    assert rows_of(result.rows, [BIGINT, BIGINT]) == [ROWS[0], ROWS[3]]
    assert failures_of(result) == [Failed(501, Root(10, 2), -1)]


def test_select_by_a_constant() -> None:
    for value, kept in ((True, ROWS), (False, []), (None, [])):
        predicate = Literal(BOOLEAN, nullable=True, value=value)
        result = compile_map(Select(predicate), NUMBERS)(batch())
        assert rows_of(result.rows, [BIGINT, BIGINT]) == kept
        assert result.errors is None


def test_scan_and_pad_deepen_the_path() -> None:
    renumbered = compile_map(ScanRows(3), NUMBERS)(batch()).rows
    assert [row.path for row in rows_of(renumbered, [BIGINT, BIGINT])] == [(0, 3)] * 4
    copied = compile_map(Renumber(3), NUMBERS)(batch()).rows
    assert [row.path for row in rows_of(copied, [BIGINT, BIGINT])] == [(3,)] * 4
    padded = compile_map(Pad(3), NUMBERS)(batch()).rows
    assert [row.path for row in rows_of(padded, [BIGINT, BIGINT])] == [(0, -1, -1)] * 4
    same = compile_map(Pad(1), NUMBERS)(batch()).rows
    assert [row.path for row in rows_of(same, [BIGINT, BIGINT])] == [(0,)] * 4


def test_explode_repeats_strings_and_arrays_by_reference() -> None:
    types = [STRING, array_of(STRING), BIGINT]
    rows = [
        Row(("x", ("a", "b", None), 1), Root(0, 0), (), 1),
        Row((None, (), 2), Root(0, 1), (), 1),
        Row((None, ("b",), 3), Root(0, 2), (), 1),
        Row(("z", None, 4), Root(0, 3), (), 1),
    ]
    schema = tuple(Column(f"c{index}", type_) for index, type_ in enumerate(types))
    array = ColumnRef(types[1], nullable=True, index=1)
    result = compile_map(Explode(array, ordinality=True), schema)(batch_of(rows, types))
    assert rows_of(result.rows, [*types, STRING, BIGINT]) == [
        Row(("x", ("a", "b", None), 1, "a", 1), Root(0, 0), (0,), 1),
        Row(("x", ("a", "b", None), 1, "b", 2), Root(0, 0), (1,), 1),
        Row(("x", ("a", "b", None), 1, None, 3), Root(0, 0), (2,), 1),
        Row((None, ("b",), 3, "b", 1), Root(0, 2), (0,), 1),
    ]
    text, lists, number, element, ordinal = result.rows.columns
    assert all(isinstance(c, pa.DictionaryArray) for c in (text, lists, element))
    assert (number.type, ordinal.type) == (pa.int64(), pa.int64())
    assert text.dictionary.to_pylist() == ["x", "z"]
    assert element.dictionary.to_pylist() == ["a", "b"]


def test_explode_twice_repeats_a_dictionary_by_its_indices() -> None:
    types = [STRING, array_of(BIGINT)]
    schema = tuple(Column(f"c{index}", type_) for index, type_ in enumerate(types))
    rows = [Row(("x", (1, 2)), Root(0, 0), (), 1), Row(("y", (3,)), Root(0, 1), (), 1)]
    function = Explode(ColumnRef(types[1], nullable=True, index=1), ordinality=False)
    once = compile_map(function, schema)(batch_of(rows, types)).rows
    twice = compile_map(function, (*schema, Column("n", BIGINT)))(once).rows
    assert [
        (row.values[0], row.values[2:], row.path)
        for row in rows_of(twice, [*types, BIGINT, BIGINT])
    ] == [
        ("x", (1, 1), (0, 0)),
        ("x", (1, 2), (0, 1)),
        ("x", (2, 1), (1, 0)),
        ("x", (2, 2), (1, 1)),
        ("y", (3, 3), (0, 0)),
    ]
    assert isinstance(twice.columns[0], pa.DictionaryArray)


CLOSING = Closing(window_end=0, delay_us=5, grain_us=10)
"""A window that ends at 95 closes at (105, PUNCTUATION)."""
TIMED = (Column("window_end", TIMESTAMP),)


def test_rows_behind_the_closing_position_are_late() -> None:
    roots = {
        Root(TIME_START, 0): False,
        Root(104, 7): False,
        Root(105, PUNCTUATION): False,
        Root(105, 0): True,
        Root(106, PUNCTUATION): True,
    }
    rows = [Row((95,), root, (0,), 1) for root in roots]
    given = batch_of(rows, [TIMESTAMP], 1)
    in_time = compile_map(OnTime(CLOSING), TIMED)(given)
    late = compile_map(Late(CLOSING), TIMED)(given)
    assert rows_of(in_time.rows, [TIMESTAMP]) == [row for row in rows if not roots[row.root]]
    assert rows_of(late.rows, [TIMESTAMP]) == [row for row in rows if roots[row.root]]
    assert in_time.errors is None
    assert late.errors is None


def test_a_window_end_on_the_grain_closes_there() -> None:
    rows = [Row((end,), Root(95, 0), (), 1) for end in (-5, 89, 90, 91)]
    in_time = compile_map(OnTime(CLOSING), TIMED)(batch_of(rows, [TIMESTAMP]))
    assert [row.values for row in rows_of(in_time.rows, [TIMESTAMP])] == [(91,)]
