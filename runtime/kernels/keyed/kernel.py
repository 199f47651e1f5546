"""The interface between a fold and its kernel.

A kernel implements one stateful operator.  It receives rows in the total order and the slots of their keys,
and can undo an application for some of the slots.  The fold (`fsql.runtime.dataflow.fold`) handles all
disorder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from fsql.compiler.records import dataclass
from fsql.runtime.order import below, concat

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.kernels.keyed.slots import SlotTable


UndoT = TypeVar("UndoT")
"""The data with which a kernel undoes an application."""


class KeyedRows(NamedTuple):
    """Rows, and the slot of each row's key."""

    batch: Batch
    slot: Ints


@dataclass(slots=True)
class ApplyResult(Generic[UndoT]):
    """The results of applying rows: outputs and errors by slot, and how to undo the application.

    `undo` is defined by the kernel; None if it was not requested.  If there is a `rest`, only the rows below
    that root were applied: the results of all would have been too large.
    """

    rows: KeyedRows | None
    errors: KeyedRows | None
    undo: UndoT | None
    rest: Root | None = None


def merge_rows(parts: Sequence[KeyedRows | None]) -> KeyedRows | None:
    """Return the rows of all parts, one after the other, or None if they have no rows."""
    some = [part for part in parts if part is not None and len(part.batch)]
    if len(some) <= 1:
        return some[0] if some else None
    batch = concat([part.batch for part in some])
    return KeyedRows(batch, np.concatenate([part.slot for part in some]))


def merge_results(parts: Sequence[ApplyResult[UndoT]]) -> ApplyResult[UndoT] | None:
    """Return the rows and errors of all parts, without undo; None if they have neither."""
    rows = merge_rows([part.rows for part in parts])
    errors = merge_rows([part.errors for part in parts])
    return None if rows is None and errors is None else ApplyResult(rows, errors, None)


def filter_rows(rows: KeyedRows, marks: Bools) -> KeyedRows | None:
    """Return the rows that are marked; None if no row is."""
    if marks.all():
        return rows
    indexes = np.flatnonzero(marks)
    return KeyedRows(rows.batch.take(indexes), rows.slot[indexes]) if len(indexes) else None


def split_rows(
    rows: KeyedRows | None, affected: Bools
) -> tuple[KeyedRows | None, KeyedRows | None]:
    """Return the rows whose slot is not affected, and those whose slot is."""
    if rows is None:
        return None, None
    marked = affected[rows.slot]
    return filter_rows(rows, ~marked), filter_rows(rows, marked)


def split_at_position(
    sides: Sequence[KeyedRows | None], bound: Root
) -> tuple[list[KeyedRows | None], list[KeyedRows | None]]:
    """Return the rows of each side below `bound`, and the others."""
    passed: list[KeyedRows | None] = [None] * len(sides)
    later: list[KeyedRows | None] = [None] * len(sides)
    for side, rows in enumerate(sides):
        if rows is not None:
            under = below(rows.batch, bound)
            passed[side], later[side] = filter_rows(rows, under), filter_rows(rows, ~under)
    return passed, later


class KernelSnapshots(Protocol):
    """The kernel's part of snapshots: the changes in its state, and its state as of a position.

    Applications never have rows from both sides of the position that is announced.
    """

    @property
    def position(self) -> Root | None:
        """Return the announced position, if there is one."""

    def announce(self, position: Root) -> None:
        """Prepare a snapshot as of `position`; no row at or above it was applied."""

    def cancel(self) -> None:
        """Cancel the announced snapshot; the next one includes its changes."""

    def on_apply(self, sides: Sequence[KeyedRows | None]) -> None:
        """Record that these rows are about to be applied."""

    def on_undo(self, slots: Ints, greatest: Root) -> None:
        """Record that an application with rows up to `greatest` was undone for these slots."""

    def on_slots_freed(self, slots: list[int]) -> None:
        """Record that slots have lost their keys."""

    def take(self) -> IncrementalSnapshot | None:
        """Return the changes since the last snapshot, as of the announced position, or None.

        All rows below the position have been applied and are final.  This copies the changed state; the rows
        of the snapshot are computed when they are used.
        """

    def changed_keys(self) -> int:
        """Return the approximate number of keys that have changed since the last snapshot, all without one.

        For a join it is the number of rows that have become final since then.
        """

    def load(self, state: IncrementalSnapshot, position: Root) -> None:
        """Load the state as of `position`; nothing has been applied, and keys are unique."""

    def stage(self, state: IncrementalSnapshot) -> None:
        """Add state of keys for which no rows arrive yet; it replaces their staged state, or is added to it.

        The results of the kernel do not change, except that snapshots may include the staged state.
        """

    def adopt(self, position: Root) -> None:
        """Use the staged state, which is as of `position`, from now on.

        The next snapshot does not include it: the caller stores it by other means.
        """

    def discard_staged(self) -> None:
        """Discard the staged state; the fold releases its slots."""


@runtime_checkable
class KeptResult(Protocol):
    """The part of a kernel whose state has its whole result; see `compiler.analysis.kept_results`."""

    def result(self, root: Root) -> Batch | None:
        """Return the rows that all changes so far add up to, each at `root`; None for none.

        The rows are in any order, and their paths have no meaning.

        Nothing that may be undone has been applied.
        """


class Kernel(Protocol[UndoT]):
    """One stateful operator over slots."""

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Return the rows with the columns that the kernel needs, and the errors of making them.

        This is called once for each input row; rows that cannot affect a result are left out.
        """

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        """Return the key columns of prepared rows, of any side."""

    def slots(self, side: int, batch: Batch) -> Ints:
        """Return the slots of prepared rows."""

    @property
    def table(self) -> SlotTable:
        """Return the table of the slots; the fold decides when retired slots may be used again."""

    @property
    def snapshots(self) -> KernelSnapshots:
        """Return the kernel's part of snapshots."""

    def apply(self, sides: Sequence[KeyedRows | None], *, undoable: bool) -> ApplyResult[UndoT]:
        """Apply prepared rows, each side in the total order, after all rows of their slots so far.

        At least one side has rows.  The least root is always applied, and others unless there is a `rest`.
        """

    def restore(self, undo: UndoT, affected: NDArray[np.bool_]) -> None:
        """Undo an application for the slots that `affected` marks; the latest one first."""

    def settle(self, undo: UndoT | None) -> None:
        """Discard the undo of an application; all its rows are final."""

    def expire(self, horizon: Root) -> None:
        """Drop the state that is only needed for rows below `horizon`, of which none will be applied."""

    def close(self, min_time: Root) -> ApplyResult[UndoT] | None:
        """Close the windows whose punctuation is below `min_time`; each closes once."""

    def give_up(self, bins: BinRanges) -> None:
        """Return no more rows of keys in these bins (() for no bins); the fold releases their slots."""

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        """Return the slots among `slots` whose keys have hashes in the bins."""

    def release(self, slots: Ints, marks: Bools) -> None:
        """Drop all state of these slots, which `marks` marks; no application to them is undone afterwards."""

    @property
    def releases_in_parts(self) -> bool:
        """Return whether the cost of `release` depends only on the number of slots."""

    def next_close(self) -> Root | None:
        """Return the least punctuation at which `close` may make rows, or None."""

    def state_rows(self) -> int:
        """Return the number of rows or groups in the state."""
