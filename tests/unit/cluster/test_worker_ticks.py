"""How fast an old owner sends the state of bins that go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from fsql.compiler.holdings import Holdings
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.runtime.batch import START
from fsql.runtime.cluster.frames import PrepareTick, StatePart, TickCopied
from fsql.runtime.cluster.ticks.copied_state import ROWS_OF_PART
from fsql.runtime.cluster.ticks.events import BinsCopied
from fsql.runtime.cluster.ticks.worker_ticks import PART_SECONDS, WorkerTicks
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    NEVER,
    incremental_snapshot,
    merge_snapshots,
)

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item

PARTS = 120


def test_parts_are_sent_by_time_whatever_the_length_of_steps() -> None:
    worker = SimpleNamespace(
        holdings=Holdings(Owners(OwnerMap((0,) * BINS, 2))),
        holdings_after=lambda owners, _: Holdings(owners),
        foreign=SimpleNamespace(is_released=False),
    )
    sent: list[Item] = []
    ticks = WorkerTicks(
        cast("Any", worker), 0, 1, lambda _, item: sent.append(item), lambda _: None
    )
    owners = OwnerMap((1,) * BINS, 2)
    ticks.on_preparation(PrepareTick(1, owners.ranges, snapshots=False))
    count = PARTS * ROWS_OF_PART
    state = pa.RecordBatch.from_pydict({"expires": pa.array([NEVER] * count, pa.int64())})
    keys = [pa.array(range(count), pa.int64())]
    rows = merge_snapshots([incremental_snapshot(keys, state, appends=False)], START)
    ticks.on_copied(BinsCopied(1, 1, (("fold", rows),)), 10.0)

    others: list[Item] = []

    def sent_at(now: float, *, is_behind: bool = False) -> int:
        before = len(sent)
        ticks.continue_work(now, lambda _: is_behind)
        parts = [item for item in sent[before:] if isinstance(item, StatePart)]
        others.extend(item for item in sent[before:] if item not in parts)
        return len(parts)

    assert sent_at(10.0) == 1
    assert sent_at(10.0 + PART_SECONDS / 2) == 0
    assert sent_at(10.0 + PART_SECONDS) == 1
    assert sent_at(10.1, is_behind=True) == 0
    assert sent_at(10.1 + 4.5 * PART_SECONDS) == 4
    assert others == []
    assert sent_at(20.0) == 100
    assert others == [TickCopied(1)]  # nearly all was sent
