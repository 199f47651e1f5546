"""What is encoded and decoded is the same, and lies where it came, not copied."""

from __future__ import annotations

import random
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.batch import Batch
from fsql.runtime.cluster import frames
from fsql.runtime.cluster.frames import Datagram, Frame
from fsql.runtime.dataflow.messages import Message
from fsql.runtime.wire.codec import decode, encode
from fsql.runtime.wire.parts import LARGE_BYTES, PIECE_BYTES
from fsql.tests.unit.wire.frames import (
    CONTROL,
    DATAGRAMS,
    TYPES,
    batch,
    column,
    frame,
    message,
    same,
    some_frame,
)


def encoded(what: Frame | Datagram) -> list[bytes]:
    return [bytes(part) for part in encode(what)]


def back(what: Frame | Datagram) -> Frame | Datagram:
    return decode(encoded(what))


def rows_of(what: Frame | Datagram) -> Batch:
    assert isinstance(what, Frame)
    [item] = what.items
    assert isinstance(item, Message)
    assert item.parcel.batch is not None
    return item.parcel.batch


def test_every_kind_of_item_and_datagram_is_among_the_examples() -> None:
    assert set(get_args(frames.Control)) <= {type(item) for item in CONTROL}
    assert set(get_args(Datagram)) == {type(datagram) for datagram in DATAGRAMS}


@pytest.mark.parametrize("datagram", DATAGRAMS, ids=lambda each: type(each).__name__)
def test_a_datagram_comes_back(datagram: Datagram) -> None:
    assert same(back(datagram), datagram)


@pytest.mark.parametrize("item", CONTROL, ids=lambda item: type(item).__name__)
def test_an_item_comes_back(item: frames.Item) -> None:
    assert same(back(frame(item)), frame(item))


@pytest.mark.parametrize("seed", range(150))
def test_a_frame_comes_back(seed: int) -> None:
    assert same(back(some_frame(seed)), some_frame(seed))


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_large_column_comes_back_in_parts_of_its_own(kind: pa.DataType) -> None:
    values = column(kind, 20_000, random.Random(1)).slice(1)
    positions = np.arange(len(values))
    sent = frame(message(Batch([values], positions, positions, ())))
    parts = encoded(sent)
    assert len(parts) > 2
    assert len(parts[0]) < 3 * LARGE_BYTES
    assert same(back(sent), sent)


def test_large_columns_are_copied_on_neither_side() -> None:
    numbers = np.arange(100_000)
    sent = frame(message(Batch([pa.array(numbers)], numbers, numbers, ())))
    put = [np.frombuffer(pa.py_buffer(part), np.int64) for part in encode(sent)[1:]]
    assert [np.shares_memory(part, numbers) for part in put] == [True] * 3
    came = encoded(sent)
    rows = rows_of(decode(came))
    addresses = [np.frombuffer(part, np.uint8).ctypes.data for part in came[1:]]
    assert rows.columns[0].buffers()[1].address == addresses[0]
    assert [rows.time.ctypes.data, rows.origin.ctypes.data] == addresses[1:]


def test_what_is_larger_than_a_part_may_be_comes_in_pieces() -> None:
    numbers = np.arange((2 * PIECE_BYTES + 80) // 8)
    sent = frame(message(Batch([pa.array(numbers)], numbers, numbers, ())))
    sizes = [len(part) for part in encoded(sent)[1:]]
    assert sizes == [PIECE_BYTES, PIECE_BYTES, 80] * 3
    assert same(back(sent), sent)


def test_parts_may_lie_anywhere() -> None:
    rows = batch(20_000, random.Random(1))
    shifted = [memoryview(b"x" + part)[1:] for part in encoded(frame(message(rows)))]
    came = rows_of(decode(shifted))
    assert same(came, rows)
    buffers = [buffer for column in came.columns for buffer in column.buffers() if buffer]
    assert {buffer.address % 8 for buffer in buffers} == {0}


def test_a_short_column_takes_the_words_that_it_uses_along() -> None:
    words = pa.array([f"word {i}" for i in range(100_000)])
    column = pa.DictionaryArray.from_arrays(pa.array([7, None, 9_000, 7], pa.int32()), words)
    positions = np.arange(4)
    sent = frame(message(Batch([column], positions, positions, ())))
    assert sum(map(len, encoded(sent))) < 300
    came = rows_of(back(sent)).columns[0]
    assert same(came, column)
    assert came.dictionary.to_pylist() == ["word 7", "word 9000"]


def test_a_few_strings_come_without_their_dictionary() -> None:
    words = pa.array(["a", "unused", "b", ""])
    column = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 3, 2], pa.int32()), words)
    positions = np.arange(5)
    came = rows_of(back(frame(message(Batch([column], positions, positions, ()))))).columns[0]
    assert came.equals(pa.array(["b", "a", None, "", "b"]))


def test_few_strings_that_are_long_keep_their_dictionary() -> None:
    words = pa.array(["x" * 10_000, "y"])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), words)
    positions = np.arange(1_000)
    sent = frame(message(Batch([column], positions, positions, ())))
    assert sum(map(len, encoded(sent))) < 50_000


def test_positions_need_not_lie_in_a_row() -> None:
    numbers = np.arange(10)[::2]
    rows = Batch([], numbers, np.broadcast_to(np.int64(3), 5), (numbers[::-1],))
    assert same(rows_of(back(frame(message(rows)))), rows)


def test_equal_frames_are_equal_bytes() -> None:
    assert encoded(some_frame(3)) == encoded(some_frame(3))
