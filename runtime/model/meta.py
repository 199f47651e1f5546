"""Meta: the label that orders items, with their lineage.

    Meta = (global_time, child_ids, trace, tombstone), compared in that order

* `global_time` is the root position of the input row, or punctuation, from which the item derives.
* `child_ids` is its lineage below that root: each Map appends the ordinal of the output, each Broadcast
  that of the reader.  A prefix sorts first, so an image follows its preimage and precedes all items derived
  from the next one (FlameStream (2018), 2.4); a state, whose lineage continues its item's, sorts right after
  that item.
* `trace` distinguishes items with the same lineage that took different paths through the graph: it is a hash
  chain over the vertices visited and, for groupings, their buckets.  FlameStream uses the XOR of random ids
  of processes; but XOR cancels a vertex that is visited twice, as on every cycle, and with random ids two
  runs differ.
* A `tombstone` undoes the item whose other three parts are equal: its victim.

Two live items never have equal metas.  A tombstone takes the path of its victim, because all functions are
pure and all routes only depend on the payload; the links are first-in first-out, so it arrives later.  The
replacement of an item may arrive before the tombstone if the two take different paths (they then differ in
`trace`).

`tests/unit/model/test_meta.py` checks the order, the other tests in that directory its consequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.hashing import mix

if TYPE_CHECKING:
    from fsql.runtime.batch import Root


class Meta(NamedTuple):
    """The label of an item; metas compare as tuples."""

    global_time: Root
    child_ids: tuple[int, ...] = ()
    trace: int = 0
    tombstone: bool = False

    def copy(self, ordinal: int) -> Meta:
        """Return the meta of a Broadcast's copy for reader `ordinal`."""
        return Meta(self.global_time, (*self.child_ids, ordinal), self.trace, self.tombstone)

    def output(self, ordinal: int, vertex: int) -> Meta:
        """Return the meta of output `ordinal` of the Map at `vertex`."""
        trace = mix(self.trace ^ vertex)
        return Meta(self.global_time, (*self.child_ids, ordinal), trace, self.tombstone)

    def window(self, bucket: int, *, tombstone: bool) -> Meta:
        """Return the meta of the window of `bucket` whose last item this is."""
        return Meta(self.global_time, self.child_ids, mix(self.trace ^ bucket), tombstone)

    def undone(self) -> Meta:
        """Return the meta of this item's tombstone."""
        return self._replace(tombstone=True)

    def victim(self) -> Meta:
        """Return the meta of the item that this tombstone undoes (for an item, its own meta)."""
        return self._replace(tombstone=False)

    def is_invalidated_by(self, other: Meta) -> bool:
        """Return whether `other` is the tombstone of this item."""
        return other.tombstone and not self.tombstone and other.victim() == self

    def descends_from(self, other: Meta) -> bool:
        """Return whether this item derives from `other`."""
        length = len(other.child_ids)
        return (
            self.global_time == other.global_time
            and len(self.child_ids) > length
            and self.child_ids[:length] == other.child_ids
        )
