"""When a worker that the layout does not have leaves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from fsql.runtime.cluster.frames import MemberLeft
from fsql.runtime.cluster.members.epoch_members import EpochMembers


def test_a_worker_stays_until_a_manifest_is_without_it() -> None:
    """Its part of the snapshot at the position of the tick may not be stored before."""
    put: list[tuple[int, object]] = []
    asked: list[int] = []
    without: set[int] = set()
    links = SimpleNamespace(
        addresses={0: "x", 1: "y"},
        put=lambda peer, item: put.append((peer, item)),
        remove=lambda _: None,
    )
    snapshots = SimpleNamespace(
        is_without=lambda worker: worker in without, ask_without=asked.append
    )
    ignored = SimpleNamespace(forget=lambda _: None, remove=lambda _: None)
    members = EpochMembers(
        2, cast("Any", links), cast("Any", ignored), cast("Any", ignored), cast("Any", snapshots)
    )
    members.change_layout([0])
    assert members.take_left() == []
    assert (asked, put, members.numbers) == ([1], [], [0, 1])
    without.add(1)
    assert members.take_left() == [(1, "y")]
    assert (put, members.numbers) == ([(0, MemberLeft(1))], [0])
