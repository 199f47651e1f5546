"""Incremental snapshots as bytes: what comes back is what went in, or an error; never other rows."""

from __future__ import annotations

import random

import msgspec
import pyarrow as pa
import pytest
import xxhash
from hypothesis import strategies as st

from fsql.runtime.kernels.keyed.incremental_snapshot import EXPIRES, IncrementalSnapshot
from fsql.runtime.state.encoding import (
    FORMAT,
    UnreadableSnapshotError,
    decode_snapshot,
    encode_snapshot,
    hash_of,
)
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.state.naive_merge import incremental_snapshot, rows_of

ROWS = [(1, "a", 5), (2, "", 6), (3, "é", 2**63 - 1)]


def with_hash(body: bytes) -> bytes:
    return body + xxhash.xxh3_128_digest(body)


def of(header: bytes, batch: pa.RecordBatch | None = None) -> bytes:
    """Return bytes with a header of one's own and an honest hash."""
    body = pa.BufferOutputStream()
    body.write(header + b"\n")
    if batch is not None:
        with pa.ipc.new_stream(body, batch.schema) as stream:
            stream.write_batch(batch)
    return with_hash(body.getvalue().to_pybytes())


def header(**changed: object) -> bytes:
    fields = {"format": FORMAT, "rows": 3, "keys": 1, "appends": False, **changed}
    return msgspec.json.encode(fields)


@drawn(
    200,
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(), st.integers(0, 2**63 - 1))),
    st.booleans(),
)
def test_what_was_encoded_is_decoded(rows: list[tuple[int, str, int]], appends: object) -> None:
    again = decode_snapshot(encode_snapshot(incremental_snapshot(rows, appends=bool(appends))))
    assert (rows_of(again), again.keys, again.appends) == (rows, 1, bool(appends))


def test_columns_of_all_kinds_come_back() -> None:
    columns = {
        "key": pa.array(["a", "b", None]).dictionary_encode(),
        "list": pa.array([[1, 2], None, []], pa.list_(pa.int64())),
        "struct": pa.array([{"x": 1.5, "y": [b"\xff"]}, None, {"x": None, "y": []}]),
        "decimal": pa.array([1, None, 3], pa.decimal128(38, 2)),
        "flag": pa.array([True, None, False]),
        "nan": pa.array([float("nan"), -0.0, None]),
        EXPIRES: pa.array([1, 2, 3], pa.int64()),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    again = decode_snapshot(encode_snapshot(IncrementalSnapshot(batch, 1, appends=True)))
    assert again.rows.schema == batch.schema
    assert [str(column) for column in again.rows] == [str(column) for column in batch]


def test_a_slice_of_a_batch_is_written_without_the_rest() -> None:
    whole = incremental_snapshot((number, "x" * 100, 1) for number in range(10_000))
    part = IncrementalSnapshot(whole.rows.slice(10, 2), 1, appends=False)
    assert len(encode_snapshot(part)) < 2_000
    assert rows_of(decode_snapshot(encode_snapshot(part))) == [
        (10, "x" * 100, 1),
        (11, "x" * 100, 1),
    ]


def test_equal_snapshots_have_equal_bytes() -> None:
    assert bytes(encode_snapshot(incremental_snapshot(ROWS))) == bytes(
        encode_snapshot(incremental_snapshot(ROWS))
    )
    assert hash_of(encode_snapshot(incremental_snapshot(ROWS))) != hash_of(
        encode_snapshot(incremental_snapshot(ROWS[:2]))
    )


def test_no_flipped_bit_and_no_cut_is_read() -> None:
    data = bytes(encode_snapshot(incremental_snapshot(ROWS)))
    bits = random.Random(7).sample(range(len(data) * 8), 1_000)
    altered = [
        data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]
        for bit in bits
    ]
    for each in [*altered, *(data[:length] for length in range(len(data))), data + b"\0"]:
        with pytest.raises(UnreadableSnapshotError, match="its hash does not match"):
            decode_snapshot(each)


BATCH = incremental_snapshot(ROWS).rows
UUIDS = pa.array([b"0123456789abcdef"] * 3, pa.binary(16))
EXTENDED = pa.RecordBatch.from_arrays(
    [pa.ExtensionArray.from_storage(pa.uuid(), UUIDS), BATCH.column(2)], ["k", EXPIRES]
)
NOT_REGISTERED = pa.RecordBatch.from_arrays(
    [BATCH.column(0), BATCH.column(2)],
    schema=pa.schema(
        [
            pa.field("k", pa.int64(), metadata={"ARROW:extension:name": "somebody.else"}),
            pa.field(EXPIRES, pa.int64()),
        ]
    ),
)
OTHER_NAMES = BATCH.rename_columns(["k", "v", "w"])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (of(header(format=FORMAT + 1)), f"its format is {FORMAT + 1}, and this is {FORMAT}"),
        (of(b"{}"), "its header is invalid: Object missing required field `format`"),
        (of(b"\x00"), "its header is invalid: JSON is malformed: invalid character (byte 0)"),
        (
            of(b'{"format":1}'),
            "its header is invalid: Object missing required field `rows`",
        ),
        (of(header(rows=4), BATCH), "it has 3 rows, and its header says 4"),
        (of(header(keys=3), BATCH), "its columns are not those of an incremental snapshot"),
        (of(header(keys=-1), BATCH), "its columns are not those of an incremental snapshot"),
        (of(header(), OTHER_NAMES), "its columns are not those of an incremental snapshot"),
        (of(header(), EXTENDED), "it has extension types"),
        (of(header(), NOT_REGISTERED), "it has extension types"),
        (with_hash(b""), "its hash does not match"),
    ],
)
def test_what_no_fsql_has_written_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSnapshotError) as raised:
        decode_snapshot(data)
    assert str(raised.value) == reason


def test_a_header_without_a_stream_is_refused() -> None:
    with pytest.raises(UnreadableSnapshotError):
        decode_snapshot(of(header()))


def test_invalid_text_under_an_honest_hash_is_refused() -> None:
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    batch = pa.RecordBatch.from_arrays([text, pa.array([1], pa.int64())], ["k", EXPIRES])
    with pytest.raises(UnreadableSnapshotError, match="Invalid UTF8"):
        decode_snapshot(of(header(rows=1), batch))


def test_extension_types_are_not_written() -> None:
    nested = pa.RecordBatch.from_arrays(
        [pa.ListArray.from_arrays([0, 3], EXTENDED.column(0)), pa.array([1], pa.int64())],
        ["k", EXPIRES],
    )
    for batch in (EXTENDED, NOT_REGISTERED, nested):
        with pytest.raises(AssertionError, match="state has no extension types"):
            encode_snapshot(IncrementalSnapshot(batch, 1, appends=False))
