"""Grouping: the only operation with state (FlameStream (2018), 2.5), one bucket for each key.

A bucket that closes contains its punctuation from the beginning, so that it does not wait for an event.  The
results of the punctuation are undone and computed again with each further item, and the barrier keeps them
until they are final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.records import dataclass
from fsql.runtime.hashing import mix
from fsql.runtime.model.bucket import Bucket, no_order
from fsql.runtime.model.item import Item, Punctuation, Row
from fsql.runtime.model.meta import Meta
from fsql.runtime.model.partition import wide_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from fsql.runtime.batch import Root
    from fsql.runtime.model.value_order import Key


@dataclass(frozen=True)
class GroupingRule:
    """Properties of the payloads of a grouping.

    `key` is the bucket of a payload (None: it enters none) and balances the load; `order` orders payloads of
    one root; `closes_at` has the roots of the punctuations of the payload's bucket.  With
    `closes_per_payload` it is evaluated for every payload; the bucket gets those that do not precede it.
    With `closes_roots`, the bucket gets one at the root of each row.  The other fields are those of `Bucket`.
    """

    key: Callable[[Any], Hashable]
    window: int
    order: Callable[[Any], Key] = no_order
    closes_at: Callable[[Any], tuple[Root, ...]] | None = None
    closes_per_payload: bool = False
    closes_roots: bool = False
    undo_partial_windows: bool = False
    check_lineage: bool = False


class Grouping:
    """The buckets of one grouping on one worker; `repairs` counts the tombstones that it made."""

    def __init__(self, vertex: int, rule: GroupingRule) -> None:
        self._vertex = vertex
        self._rule = rule
        self._buckets: dict[Hashable, Bucket] = {}
        self._closings: set[tuple[Hashable, Root]] = set()
        self.repairs = 0

    def accept(self, item: Item, key: Hashable) -> list[Item]:
        """Enter an item into the bucket of `key`, or undo it; return the items that are sent for it."""
        sent: list[Item] = []
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._create(item, key, sent)
        adds_closings = self._rule.closes_per_payload or self._rule.closes_roots
        if adds_closings and isinstance(item.payload, Row):
            sent += self._add_punctuations(item, key, bucket)
        sent += bucket.accept(item)
        if not item.meta.tombstone:
            self.repairs += sum(window.meta.tombstone for window in sent)
        return sent

    def _create(self, item: Item, key: Hashable, sent: list[Item]) -> Bucket:
        """Make the bucket, and add the consequences of its punctuation to `sent`."""
        rule = self._rule
        key_hash = wide_hash(key)
        bucket = self._buckets[key] = Bucket(
            rule.window,
            rule.order,
            mix(self._vertex) ^ key_hash,
            undo_partial_windows=rule.undo_partial_windows,
            check_lineage=rule.check_lineage,
        )
        if rule.closes_at is not None and not rule.closes_per_payload:
            # The punctuations of all buckets may share a root. Vertex and key distinguish their lineages.
            for root in rule.closes_at(item.payload):
                meta = Meta(root, (self._vertex, key_hash))
                sent += bucket.accept(Item(meta, Punctuation(key)))
        return bucket

    def _add_punctuations(self, item: Item, key: Hashable, bucket: Bucket) -> list[Item]:
        """Add those punctuations of a payload that do not exist or precede it; return the outputs."""
        roots: tuple[Root, ...] = (item.meta.global_time,)
        if not self._rule.closes_roots:
            assert self._rule.closes_at is not None
            roots = self._rule.closes_at(item.payload)
        sent: list[Item] = []
        for root in roots:
            if root < item.meta.global_time or (key, root) in self._closings:
                continue
            self._closings.add((key, root))
            meta = Meta(root, (self._vertex, wide_hash(key)))
            sent += bucket.accept(Item(meta, Punctuation(key)))
        return sent
