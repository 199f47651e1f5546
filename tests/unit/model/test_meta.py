"""The order of metas.

Catches: an order that is not total, an image that does not stay between its preimage and the next item,
a trace that forgets.  Does not catch: what operators make of metas (see test_bucket and test_machine).
"""

from __future__ import annotations

from itertools import pairwise, permutations
from random import Random

from fsql.runtime.batch import Root
from fsql.runtime.model.meta import Meta


def random_meta(random: Random) -> Meta:
    root = Root(random.randrange(3), random.randrange(2))
    child_ids = tuple(random.randrange(2) for _ in range(random.randrange(4)))
    return Meta(root, child_ids, random.randrange(3), random.random() < 0.5)


def test_the_order_is_total_and_compares_global_time_first() -> None:
    random = Random(0)
    metas = sorted({random_meta(random) for _ in range(300)})
    for before, after in pairwise(metas):
        assert before < after
        assert not after < before
        assert before.global_time <= after.global_time


def test_an_image_follows_its_preimage_and_precedes_the_image_of_the_next_item() -> None:
    random = Random(1)
    for _ in range(300):
        first, second = sorted([random_meta(random), random_meta(random)])
        image = first.output(random.randrange(3), vertex=7)
        assert first < image
        # Metas that differ in trace only are versions of one item, of which one stays live.
        if first[:2] != second[:2] and not second.descends_from(first):
            assert image < second.output(0, vertex=7)


def test_outputs_are_in_the_order_of_their_ordinals() -> None:
    meta = Meta(Root(1, 0), (0,))
    images = [meta.output(ordinal, vertex=3) for ordinal in range(4)]
    assert images == sorted(images)
    assert [image.child_ids for image in images] == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_a_window_keeps_the_lineage_of_its_last_item() -> None:
    meta = Meta(Root(1, 0), (0, 2), 99)
    window = meta.window(bucket=5, tombstone=True)
    assert (window.global_time, window.child_ids) == (meta.global_time, meta.child_ids)
    assert window.tombstone
    assert window.trace != meta.trace


def test_a_copy_leaves_the_trace_as_it_is() -> None:
    assert Meta(Root(1, 0), (), 99).copy(1) == Meta(Root(1, 0), (1,), 99)


def test_the_trace_tells_all_orders_of_visits_apart() -> None:
    # XOR would not: it forgets order, and a vertex that is visited twice.
    traces = set()
    for visits in [*permutations(range(4)), (0, 0), (1, 1), (0, 0, 1), (1,), (0, 1, 0)]:
        meta = Meta(Root(0, 0))
        for vertex in visits:
            meta = meta.output(0, vertex)
        traces.add(meta.trace)
    assert len(traces) == 24 + 5


def test_a_tombstone_invalidates_exactly_its_victim() -> None:
    meta = Meta(Root(1, 0), (0, 1), 5)
    assert meta.is_invalidated_by(meta.undone())
    assert not meta.is_invalidated_by(meta)
    assert not meta.undone().is_invalidated_by(meta.undone())
    for other in (
        meta._replace(global_time=Root(1, 1)),
        meta._replace(child_ids=(0, 0)),
        meta._replace(trace=6),
    ):
        assert not meta.is_invalidated_by(other.undone())


def test_the_tombstones_of_a_map_s_outputs_are_its_outputs_for_the_tombstone() -> None:
    meta = Meta(Root(1, 0), (0,), 5)
    assert meta.undone().output(2, vertex=9) == meta.output(2, vertex=9).undone()
    assert meta.undone().copy(1) == meta.copy(1).undone()


def test_descent_is_a_longer_lineage_of_the_same_root() -> None:
    meta = Meta(Root(1, 0), (0,))
    assert meta.output(1, vertex=2).descends_from(meta)
    assert not meta.descends_from(meta)
    assert not Meta(Root(2, 0), (0, 1)).descends_from(meta)
    assert not Meta(Root(1, 0), (1, 0)).descends_from(meta)
