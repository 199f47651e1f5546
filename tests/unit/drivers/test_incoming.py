"""What comes on a connection is made into the parts that were sent, however the bytes are cut on the way."""

from __future__ import annotations

import random

import pytest

from fsql.runtime.drivers.incoming import CutOffError, PartsOfStream, head_of

PART_BYTES_MAX = 1 << 20


def some_parts(chance: random.Random) -> list[bytes]:
    sizes = (0, 1, 7, 100, 70_000, 300_000)
    return [chance.randbytes(chance.choice(sizes)) for _ in range(chance.randint(1, 5))]


def put(stream: PartsOfStream, data: bytes) -> list[list[bytes]]:
    """Give the stream bytes as a connection does: where it has room for them, if it says so."""
    came = []
    while data:
        room = stream.room()
        taken = len(data) if room is None else min(len(data), len(room))
        rest = data[:taken]
        if room is not None:
            room[:taken] = data[:taken]
            stream.take(taken)
            rest = b""
        came += [[bytes(part) for part in parts] for parts in stream.feed(rest)]
        data = data[taken:]
    return came


@pytest.mark.parametrize("seed", range(20))
def test_cuts_do_not_show(seed: int) -> None:
    chance = random.Random(seed)
    sent = [some_parts(chance) for _ in range(chance.randint(1, 8))]
    data = b"".join(head_of(parts) + b"".join(parts) for parts in sent)
    stream = PartsOfStream(PART_BYTES_MAX)
    came: list[list[bytes]] = []
    while data:
        cut = chance.choice((1, 3, 11, 60_000, 200_000, 1 << 20))
        came += put(stream, data[:cut])
        data = data[cut:]
    assert came == sent


@pytest.mark.parametrize(
    "data",
    [
        b"G",
        b"FSQX",
        b"FSQL" + bytes(4),
        b"FSQL\xff\xff\xff\xff",
        head_of([bytes(PART_BYTES_MAX + 1)]),
        head_of([b"x"]) + b"x" + b"FSQl",
    ],
)
def test_what_is_nothing_of_ours_is_cut_off(data: bytes) -> None:
    with pytest.raises(CutOffError):
        put(PartsOfStream(PART_BYTES_MAX), data)
