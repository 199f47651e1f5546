"""The load of each hash bin of each fold, in rows, and the heavy keys.

A worker counts the rows that it sends into exchanges, including those to itself.  It samples one batch in
`SAMPLED`; where no hashes are needed, one in `SAMPLED_WITHOUT_HASHES`, of which it hashes a part.  The number
of all rows is known, so the counts are scaled up.  The bytes of a bin are its rows by the mean size of a row
of that side.

Heavy keys are found by a summary of counts, which is cut to `HEAVY_MAX` hashes
whenever it has grown.  The count of a key may be too low by up to `error`: the sum of the greatest counts
that were cut, scaled.  Keys are counted before rows are pre-aggregated, so a heavy key remains one: `rows` is
its share of all rows, scaled to the number of rows that were sent.  No released row depends on any of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import FoldHead
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.compiler.tick_plan import TickPlan, ToFold
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.kernels.keyed.prepare import Evaluator

    Hashes = NDArray[np.uint32]

SAMPLED: Final = 4
SAMPLED_WITHOUT_HASHES: Final = 16
HASHED_ROWS_MAX: Final = 4096
"""The maximum number of rows of a batch that are hashed for statistics alone."""
HEAVY_MAX: Final = 64
HEAVY_ROWS_MAX: Final = 1024
"""The number of keys that are searched for heavy ones at once."""
COUNTED_ROWS_MAX: Final = 16_384
"""The number of keys that are counted at once."""
SEARCHES_IN_A_ROW: Final = 16
SEARCHED_AFTER: Final = 4
"""After so many searches between two records, heavy keys are searched in one of some counts only."""
WEIGHED_ROWS_MAX: Final = 4096
"""The number of rows of a batch whose weights are counted."""
KEY_CHARACTERS_MAX: Final = 64
_POSITION_BYTES: Final = 8
"""The size of each column of the positions of rows."""


class HeavyKey(NamedTuple):
    """A key with many rows; `rows` may be too low by up to `error`."""

    hash: int
    key: str
    rows: int
    error: int


@dataclass(frozen=True, slots=True)
class EdgeLoad:
    """The rows that went into one side of a fold.

    `rows` has their number for each bin, `bytes` their approximate size, and `negative` how many of them have
    a weight below 0: they undo earlier rows, or remove them.
    """

    operator: str
    side: int
    rows: Ints
    bytes: Ints
    negative: Ints
    heavy: tuple[HeavyKey, ...]


class BinLoads:
    """The loads of all edges, as one worker sends rows along them."""

    def __init__(self, plan: TickPlan) -> None:
        self._operators = {
            number: stage.head.operator
            for number, stage in enumerate(plan.stages)
            if isinstance(stage.head, FoldHead)
        }
        self._edges: dict[tuple[int, int], _Edge] = {}

    def add(
        self, to: ToFold, values: Sequence[pa.Array], hashes: Hashes, sent: Hashes, batch: Batch
    ) -> None:
        """Count rows by the hashes and the values of their keys.

        `sent` are the hashes of the rows of `batch`, which are sent; some may be pre-aggregated.
        """
        edge = self._edge(to)
        if edge.is_due(len(sent), SAMPLED):
            edge.add(values, hashes, sent)
            edge.measure(batch, batch.weight, sent)

    def sample(self, to: ToFold, keys: Evaluator, batch: Batch) -> None:
        """Count rows for which no hashes are needed."""
        edge = self._edge(to)
        if not edge.is_due(len(batch), SAMPLED_WITHOUT_HASHES):
            return
        values, kept, _ = keys(batch)
        count = len(values[0]) if values else len(batch)
        first = edge.batches * HASHED_ROWS_MAX % count if count > HASHED_ROWS_MAX else 0
        values = [value.slice(first, HASHED_ROWS_MAX) for value in values]
        hashes = hash_rows(values, min(count - first, HASHED_ROWS_MAX))
        edge.add(values, hashes, hashes)
        weight = batch.weight
        if weight is not None:
            weight = (weight if kept is None else weight[kept])[first : first + len(hashes)]
        edge.measure(batch, weight, hashes)

    def take(self) -> list[EdgeLoad]:
        """Return the loads since the last call, of edges that had rows."""
        edges, self._edges = self._edges, {}
        return [
            edge.load(self._operators[stage], side) for (stage, side), edge in sorted(edges.items())
        ]

    def _edge(self, to: ToFold) -> _Edge:
        key = to.stage, to.side
        edge = self._edges.get(key)
        if edge is None:
            edge = self._edges[key] = _Edge()
        return edge


class _Edge:
    """The load of one edge since the last `load`.

    Keys of small batches are collected until there are enough of them; many keys are sampled.
    """

    def __init__(self) -> None:
        self.batches = 0
        self._rows = 0
        self._counted = 0
        self._looked_at = 0
        self._bins = np.zeros(BINS, np.int64)
        self._waiting: list[tuple[Sequence[pa.Array], Hashes, Hashes]] = []
        self._rows_waiting = 0
        self._measured = self._weighed = self._searches = 0
        self._bytes = 0
        self._negative = np.zeros(BINS, np.int64)
        self._heavy = np.empty(0, np.uint32), np.empty(0, np.int64)
        self._error = 0
        self._keys: dict[int, str] = {}

    def is_due(self, rows: int, one_in: int) -> bool:
        """Count a batch, and return whether its keys are to be sampled."""
        self.batches += 1
        self._rows += rows
        return self.batches % one_in == 1

    def add(self, values: Sequence[pa.Array], hashes: Hashes, sent: Hashes) -> None:
        """Sample the keys of a batch, now or later."""
        self._waiting.append((values, hashes, sent))
        self._rows_waiting += len(hashes)
        if self._rows_waiting >= COUNTED_ROWS_MAX:
            self._inspect()

    def measure(self, batch: Batch, weight: Ints | None, hashes: Hashes) -> None:
        """Add the size of a batch, and count negative weights of rows by the hashes of their keys."""
        self._measured += len(batch)
        self._bytes += sum(column.nbytes for column in batch.columns)
        self._bytes += len(batch) * _POSITION_BYTES * (2 + len(batch.path))
        stride = -(-len(hashes) // WEIGHED_ROWS_MAX)
        self._weighed += -(-len(hashes) // stride) if stride else 0
        if weight is not None and stride:
            negative = hashes[::stride][weight[::stride] < 0] >> BIN_SHIFT
            self._negative += np.bincount(negative, minlength=BINS)

    def _inspect(self) -> None:
        rows, self._rows_waiting = self._rows_waiting, 0
        if not rows:
            return
        hashes = np.concatenate([hashes for _, hashes, _ in self._waiting])
        sent = np.concatenate([sent for _, _, sent in self._waiting])
        stride = -(-len(sent) // COUNTED_ROWS_MAX)
        counted = sent[::stride] >> BIN_SHIFT
        self._bins += np.bincount(counted, minlength=BINS) * stride
        self._counted += len(counted) * stride
        if self._searches < SEARCHES_IN_A_ROW or self._searches % SEARCHED_AFTER == 0:
            self._find_heavy(hashes, -(-rows // HEAVY_ROWS_MAX))
        self._searches += 1
        self._waiting = []

    def _find_heavy(self, hashes: Hashes, stride: int) -> None:
        looked_at = hashes[::stride]
        self._looked_at += len(looked_at) * stride
        found, first, counts = np.unique(looked_at, return_index=True, return_counts=True)
        known, before = self._heavy
        merged, inverse = np.unique(np.concatenate([known, found]), return_inverse=True)
        rows = np.bincount(inverse, np.concatenate([before, counts * stride])).astype(np.int64)
        if len(merged) > HEAVY_MAX:
            order = np.argsort(-rows, kind="stable")
            self._error += int(rows[order[HEAVY_MAX]])
            kept = np.sort(order[:HEAVY_MAX])
            merged, rows = merged[kept], rows[kept]
        self._heavy = merged, rows
        left = set(merged.tolist())
        self._keys = {number: text for number, text in self._keys.items() if number in left}
        often = counts > 1
        for number, index in zip(found[often].tolist(), first[often].tolist(), strict=True):
            if number in left and number not in self._keys:
                self._keys[number] = self._key_text(index * stride)

    def _key_text(self, row: int) -> str:
        """Return a key as text: its values, separated by commas, cut where they are long."""
        for values, hashes, _ in self._waiting:
            if row < len(hashes):
                found = [value[row].as_py() for value in values]
                texts = ["NULL" if each is None else str(each) for each in found]
                return ", ".join(texts)[:KEY_CHARACTERS_MAX]
            row -= len(hashes)
        raise AssertionError(row)

    def load(self, operator: str, side: int) -> EdgeLoad:
        """Return the counts, scaled to all rows."""
        self._inspect()
        scale = self._rows / max(1, self._counted)
        per_row = self._rows / max(1, self._looked_at)
        heavy = [
            HeavyKey(
                number, self._keys[number], round(rows * per_row), round(self._error * per_row)
            )
            for number, rows in zip(*(each.tolist() for each in self._heavy), strict=True)
            if rows > self._error and number in self._keys
        ]
        heavy.sort(key=lambda each: (-each.rows, each.hash))
        rows = np.rint(self._bins * scale).astype(np.int64)
        negative = np.rint(self._negative * (self._rows / max(1, self._weighed))).astype(np.int64)
        size = np.rint(rows * (self._bytes / max(1, self._measured))).astype(np.int64)
        return EdgeLoad(operator, side, rows, size, np.minimum(negative, rows), tuple(heavy))
