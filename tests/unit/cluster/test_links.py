"""When a peer is behind with what was sent to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.runtime.cluster.frames import Start, StatePart
from fsql.runtime.cluster.links.link import LinkSettings
from fsql.runtime.cluster.links.links import Links
from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item


def part(size: int) -> StatePart:
    """Return a part of state that has so many bytes."""
    rows = pa.RecordBatch.from_pydict({"state": pa.array([0] * (size // 8), pa.int64())})
    return StatePart(1, (("fold", IncrementalSnapshot(rows, 0, appends=False)),), last=False)


@pytest.mark.parametrize(
    ("item", "frames", "is_behind"),
    [
        pytest.param(Start(), 200, False, id="many small frames, as with rows"),
        pytest.param(part(256 << 10), 15, False, id="parts of state below the limit"),
        pytest.param(part(256 << 10), 17, True, id="parts of state above the limit"),
        pytest.param(Start(), 300, True, id="frames that wait for the window"),
    ],
)
def test_a_peer_is_behind_by_the_bytes_that_it_has_not_acknowledged(
    item: Item, *, frames: int, is_behind: bool
) -> None:
    links = Links("job", 1, 1, 0, {1: "one"}, LinkSettings())
    for _ in range(frames):
        links.put(1, item)
        links.send(0.0)
    assert links.is_behind(1) is is_behind
