"""What is no frame is refused with a `WireError`: garbage, damage, other keys, other versions, lies.

The lies are made by an honest encoder and then altered, under a seal that is right: what a node with a
bug might send.  Whatever is not refused must be a frame whose every column is valid.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsql.runtime.batch import Batch
from fsql.runtime.cluster.frames import Datagram, Frame, Heartbeat
from fsql.runtime.dataflow.messages import Message
from fsql.runtime.wire.codec import decode, encode
from fsql.runtime.wire.errors import (
    DamagedError,
    ForeignError,
    MalformedError,
    NotOursError,
    VersionError,
    WireError,
)
from fsql.runtime.wire.parts import padding
from fsql.runtime.wire.seal import Seal
from fsql.tests.seeds import examples
from fsql.tests.unit.wire.frames import DATAGRAMS, batch, frame, message, some_frame

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = bytes(range(32))
SEAL = Seal(KEY)
SOURCE = "tcp://127.0.0.1:5555"


def sealed(what: Frame | Datagram, seal: Seal = SEAL) -> list[bytes]:
    return [bytes(part) for part in seal.close(SOURCE, encode(what))]


def received(parts: list[bytes]) -> Frame | Datagram:
    _, opened = SEAL.open(parts)
    return decode(opened)


SMALL = sealed(some_frame(5))


@cache
def large() -> list[bytes]:
    """Return a sealed frame of several parts. It takes a second, which collecting tests need not."""
    return sealed(frame(message(batch(9_000, random.Random(1)))))


def test_a_sealed_frame_says_where_it_comes_from() -> None:
    source, opened = SEAL.open(SMALL)
    assert source == SOURCE
    assert [bytes(part) for part in opened] == [bytes(part) for part in encode(some_frame(5))]


def garbage_is_not_ours(parts: list[bytes]) -> None:
    with pytest.raises(NotOursError):
        SEAL.open(parts)
    with pytest.raises(WireError):
        SEAL.open([b"fsql" + parts[0], *parts[1:]] if parts else [b"fsql"])


test_garbage_is_not_ours = given(st.lists(st.binary(max_size=200), max_size=3))(garbage_is_not_ours)


def test_serialised_python_is_not_ours() -> None:
    call = b"cos\nsystem\n(S'exit 1'\ntR."
    for parts in ([call], [b"\x80\x04" + call], [b"", call]):
        with pytest.raises(NotOursError):
            SEAL.open(parts)


def one_bit_is_damage(make: Callable[[], list[bytes]], data: st.DataObject) -> None:
    parts = make()
    number = data.draw(st.integers(0, len(parts) - 1))
    altered = bytearray(parts[number])
    bit = data.draw(st.integers(0, 8 * len(altered) - 1))
    altered[bit // 8] ^= 1 << bit % 8
    with pytest.raises(NotOursError if number == 0 and bit < 32 else (DamagedError, ForeignError)):
        SEAL.open([*parts[:number], bytes(altered), *parts[number + 1 :]])


def what_is_cut_off_is_damage(make: Callable[[], list[bytes]], data: st.DataObject) -> None:
    parts = make()
    number = data.draw(st.integers(0, len(parts) - 1))
    kept = parts[number][: data.draw(st.integers(0, len(parts[number]) - 1))]
    short = number == 0 and len(kept) < 40
    with pytest.raises(NotOursError if short else DamagedError):
        SEAL.open([*parts[:number], kept, *parts[number + 1 :]])


EITHER = pytest.mark.parametrize("make", [lambda: SMALL, large], ids=["small", "large"])
test_one_bit_is_damage = EITHER(
    settings(max_examples=examples(70))(given(data=st.data())(one_bit_is_damage))
)
test_what_is_cut_off_is_damage = EITHER(given(data=st.data())(what_is_cut_off_is_damage))


def test_a_lost_or_doubled_part_is_damage() -> None:
    whole = large()
    for parts in (whole[:-1], [whole[0], *whole[2:]], [*whole, whole[-1]], [*whole, b"x"]):
        with pytest.raises(DamagedError):
            SEAL.open(parts)


def test_parts_that_are_cut_elsewhere_are_refused() -> None:
    first, second, third, *rest = large()
    joined = [first, second + third, *rest]
    with pytest.raises(MalformedError, match=r"^a part has \d+ bytes in place of \d+$"):
        received(joined)
    with pytest.raises(MalformedError, match=r"^there is more than was announced$"):
        received([*SMALL, b""])


def test_another_key_is_foreign() -> None:
    with pytest.raises(ForeignError):
        SEAL.open(sealed(DATAGRAMS[0], Seal(bytes(32))))


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(VersionError) as raised:
        SEAL.open(sealed(DATAGRAMS[0], Seal(KEY, version=1)))
    assert str(raised.value) == (
        "the node at tcp://127.0.0.1:5555 uses version 1 of the wire format, this one version 16"
    )


def test_a_header_that_is_too_deep_is_refused() -> None:
    deep = b"\x95\x03\xa3job\x07\x00" + b"\x91" * 100_000 + b"\x00"
    length = len(deep).to_bytes(4, "little")
    with pytest.raises(MalformedError):
        decode([length + deep + padding(4 + len(deep))])


def test_a_dictionary_with_null_is_refused() -> None:
    words = pa.array(["a", None])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 3, pa.int32()), words)
    positions = np.arange(6)
    with pytest.raises(MalformedError, match=r"^a dictionary holds NULL$"):
        decode(encode(frame(message(Batch([column], positions, positions, ())))))


HOSTILE = (
    -1,
    0,
    1,
    7,
    2**31 - 1,
    2**31,
    2**32,
    2**63 - 1,
    2**64 - 1,
    -(2**63),
    None,
    "",
    "s",
    "[[s",
    b"",
)


def places(value: object, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    found = [path]
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += places(each, (*path, index))
    return found


def put(value: object, path: tuple[int, ...], new: object) -> object:
    if not path:
        return new
    assert isinstance(value, list)
    index = path[0]
    return [*value[:index], put(value[index], path[1:], new), *value[index + 1 :]]


def a_lie_in_the_header_is_refused_or_harmless(seed: int, data: st.DataObject) -> None:
    first, *rest = [bytes(part) for part in encode(some_frame(seed))]
    end = 4 + int.from_bytes(first[:4], "little")
    header = msgspec.msgpack.decode(first[4:end])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(header)))
        header = put(header, path, data.draw(st.sampled_from(HOSTILE)))
    written = msgspec.msgpack.encode(header)
    body = first[end + len(padding(end)) :]
    length = len(written).to_bytes(4, "little")
    check_refused_or_valid([length + written + padding(4 + len(written)) + body, *rest])


def a_lie_in_the_bytes_is_refused_or_harmless(seed: int, data: st.DataObject) -> None:
    first, *rest = [bytes(part) for part in encode(some_frame(seed))]
    altered = bytearray(first)
    for _ in range(data.draw(st.integers(1, 4))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from((len(altered), len(altered), len(altered) - 8, 3)))
    check_refused_or_valid([bytes(altered[:cut]), *rest])


def check_refused_or_valid(parts: list[bytes]) -> None:
    try:
        what = decode(parts)
    except MalformedError:
        return
    if isinstance(what, Frame):
        for item in what.items:
            if isinstance(item, Message) and (rows := item.parcel.batch) is not None:
                for column in rows.columns:
                    column.validate(full=True)
                    assert len(column.take(pa.array(np.arange(len(rows))))) == len(rows)


LIES = given(seed=st.integers(0, 30), data=st.data())
MANY = settings(max_examples=examples(170))
test_a_lie_in_the_header_is_refused_or_harmless = MANY(
    LIES(a_lie_in_the_header_is_refused_or_harmless)
)
test_a_lie_in_the_bytes_is_refused_or_harmless = MANY(
    LIES(a_lie_in_the_bytes_is_refused_or_harmless)
)


def test_heartbeats_are_refused_where_they_are_cut() -> None:
    [part] = map(bytes, encode(Heartbeat("job", 7, 3)))
    for size in range(len(part)):
        with pytest.raises(MalformedError):
            decode([part[:size]])
    with pytest.raises(MalformedError):
        decode([])
