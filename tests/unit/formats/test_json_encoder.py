"""The encoder against a naive one, over random rows of random types.

Catches any wrong byte, in any form that a column may come in, and anything that an encoder keeps from
one batch and uses for another.  Cannot catch what the naive encoder gets wrong as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, Kind, SqlType, array_of
from fsql.formats.json import encoder as json_encoder
from fsql.formats.json import pieces as json_pieces
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.arrow_types import arrow_type, to_arrow
from fsql.runtime.ports import OPERATIONS
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.naive_json import TEXT, TYPES, naive_lines, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DataObject

    from fsql.compiler.expression import Value


def column_of(data: DataObject, column: Sequence[Value], sql_type: SqlType) -> pa.Array:
    """Return the values in one of the forms that a column may come in: sliced, as a dictionary."""
    array = to_arrow(column, sql_type)
    if data.draw(st.booleans()):
        other = to_arrow(column[-1:] or [None], sql_type)
        array = pa.concat_arrays([other, array, other]).slice(1, len(column))
    if sql_type.kind is Kind.STRING and data.draw(st.booleans()):
        array = array.dictionary_encode()
    return array


FEW_MAX = st.sampled_from([0, 1 << 10])
"""Nothing counts as few, or everything here: both ways of writing have to come to the same."""


@drawn(30, st.data(), st.lists(TYPES, min_size=1, max_size=4))
def test_writes_what_the_naive_encoder_writes(data: DataObject, types: list[SqlType]) -> None:
    names = data.draw(st.lists(TEXT, min_size=len(types), max_size=len(types)))
    rows = data.draw(st.lists(st.tuples(*map(values, types)), max_size=12))
    run_length = data.draw(st.sampled_from([1, 1, 1, 10]))
    rows = [row for row in rows for _ in range(run_length)]
    labels = st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
    operations = data.draw(st.none() | labels)
    columns = [
        column_of(data, [row[i] for row in rows], sql_type) for i, sql_type in enumerate(types)
    ]
    given = None if operations is None else np.array(operations, np.int8)
    name = None if operations is None else "op"
    encoder = JsonEncoder(names, types, name, data.draw(FEW_MAX))
    written = b"".join(encoder.encode(columns, given))
    assert written == naive_lines(rows, names, types, operations)
    lines = [line for part in encoder.encode_rows(columns, given) for line in part.to_pylist()]
    assert (len(lines), b"".join(lines)) == (len(rows), written)
    labels_at = [line[encoder.label_at :][:2].decode() for line in lines]
    assert operations is None or labels_at == [OPERATIONS[number] for number in operations]


@drawn(20, st.data(), st.lists(st.sampled_from([STRING, BIGINT, DOUBLE]), min_size=1, max_size=4))
def test_nothing_of_one_batch_shows_in_another(data: DataObject, types: list[SqlType]) -> None:
    """Batches of one schema that share dictionaries, larger and smaller than a batch."""
    names = [f"c{i}" for i in range(len(types))]
    encoder = JsonEncoder(names, types, few_max=data.draw(FEW_MAX))
    dictionaries = [
        pa.array(["a", 'b"', "", "√"]),
        pa.array([f"w{i}" for i in range(40)]),
        pa.array(["x", "y", "z", "q"]),
    ]
    for _ in range(6):
        rows = data.draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=6))
        by_column = [list(column) for column in zip(*rows, strict=True)]
        columns = []
        for i, sql_type in enumerate(types):
            if sql_type != STRING or data.draw(st.booleans()):
                columns.append(to_arrow(by_column[i], sql_type))
                continue
            picked = st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
            indices = pa.array(data.draw(picked), pa.int32())
            words = data.draw(st.sampled_from(dictionaries))
            columns.append(pa.DictionaryArray.from_arrays(indices, words))
            by_column[i] = columns[i].to_pylist()
        expected = naive_lines(list(zip(*by_column, strict=True)), names, types)
        assert b"".join(encoder.encode(columns)) == expected


@pytest.mark.parametrize("rows", [3, 6, 40])
def test_a_dictionary_may_grow_from_batch_to_batch(rows: int) -> None:
    words = ["a", 'b"', "", "√", "\n", "c", "d\\", "e"]
    encoder = JsonEncoder(["s", "n"], [STRING, BIGINT], few_max=0)
    for size in (4, 5, 5, 7, 3, 8):
        picked = [(size - 1 - row) % size for row in range(rows)]
        indices = pa.array(picked, pa.int32())
        column = pa.DictionaryArray.from_arrays(indices, pa.array(words[:size]))
        expected = [(words[code], code) for code in picked]
        written = b"".join(encoder.encode([column, pa.array(picked, pa.int64())]))
        assert written == naive_lines(expected, ["s", "n"], [STRING, BIGINT])


@pytest.mark.parametrize("few_max", [0, 3])
def test_whole_output(few_max: int) -> None:
    columns = [
        pa.array(["a", None, 'é"\n'], pa.string()),
        pa.array([1, -(2**63), None], pa.int64()),
        pa.array([[1, None], [], None], pa.list_(pa.int64())),
        pa.array([0.1, -0.0, math.nan]),
    ]
    types = [STRING, BIGINT, array_of(BIGINT), DOUBLE]
    encoder = JsonEncoder(["s", "n", "a", "d"], types, "op", few_max)
    written = b"".join(encoder.encode(columns, np.array([0, 1, 3], np.int8)))
    assert written.decode() == (
        '{"op":"+I","s":"a","n":1,"a":[1,null],"d":0.1}\n'
        '{"op":"-U","s":null,"n":-9223372036854775808,"a":[],"d":-0.0}\n'
        '{"op":"-D","s":"é\\"\\n","n":null,"a":null,"d":"NaN"}\n'
    )


def test_no_rows_are_no_text() -> None:
    assert JsonEncoder(["a"], [BIGINT]).encode([pa.array([], pa.int64())]) == []


@pytest.mark.parametrize("few_max", [0, 3])
def test_what_lies_under_a_null_does_not_show(few_max: int) -> None:
    under = pa.py_buffer(np.array([7, -(10**9), 3], np.int64))
    validity = pa.py_buffer(bytes([0b101]))
    numbers = pa.Array.from_buffers(pa.int64(), 3, [validity, under])
    offsets = pa.py_buffer(np.array([0, 1, 3, 3], np.int32))
    arrays = pa.Array.from_buffers(
        arrow_type(array_of(BIGINT)), 3, [validity, offsets], children=[numbers]
    )
    encoder = JsonEncoder(["n", "a"], [BIGINT, array_of(BIGINT)], few_max=few_max)
    assert (
        b"".join(encoder.encode([numbers, arrays]))
        == b'{"n":7,"a":[7]}\n{"n":null,"a":null}\n{"n":3,"a":[]}\n'
    )


def test_a_large_batch_is_written_in_parts() -> None:
    rows = 100_000
    columns = [pa.array([f"w{i % 7}" for i in range(rows)]).dictionary_encode()]
    columns.append(pa.array(np.arange(rows)))
    buffers = JsonEncoder(["w", "n"], [STRING, BIGINT]).encode(columns)
    expected = "".join(f'{{"w":"w{i % 7}","n":{i}}}\n' for i in range(rows))
    assert b"".join(buffers).decode() == expected
    assert all(bytes(buffer).endswith(b"\n") for buffer in buffers)


def test_no_buffer_is_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "OUTPUT_BYTES_MAX", 2_000)
    monkeypatch.setattr(json_encoder, "OUTPUT_BYTES_MAX", 2_000)
    types = [STRING, STRING, array_of(BIGINT)]
    rows = [("w" * (i % 50), f"own {i}", tuple(range(i % 7))) for i in range(1_000)]
    columns = [to_arrow([row[i] for row in rows], types[i]) for i in range(3)]
    columns[0] = columns[0].dictionary_encode()
    buffers = JsonEncoder(["a", "b", "c"], types).encode(columns)
    assert b"".join(buffers) == naive_lines(rows, ["a", "b", "c"], types)
    assert max(len(buffer) for buffer in buffers) <= 2_000
    with pytest.raises(FsqlError, match="E535: a row is longer than 2,000 bytes"):
        JsonEncoder(["a"], [STRING]).encode([pa.array(["x", "y" * 3_000])])
