"""What a fold and its kernel say to each other.

A kernel knows one stateful operator and nothing of disorder: it is given rows in the total order and the
slots of their keys, and can restore what an application changed, for some of the slots.  The fold
(`fsql.runtime.protocol.fold`) has everything about disorder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fsql.runtime.order import concat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.kernels.slots import SlotTable

    Ints = NDArray[np.int64]


class Slotted(NamedTuple):
    """Rows, and the slot of each row's key."""

    batch: Batch
    slot: Ints


@dataclass(slots=True)
class Applied:
    """What an application of rows made: outputs and errors by slot, and how to take the state back.

    `undo` is the kernel's own; None where it was not asked for.
    """

    rows: Slotted | None
    errors: Slotted | None
    undo: object | None


def joined_rows(parts: Sequence[Slotted | None]) -> Slotted | None:
    """Return all rows of the parts that there are, one after the other; None if there are none."""
    some = [part for part in parts if part is not None and len(part.batch)]
    if len(some) <= 1:
        return some[0] if some else None
    batch = concat([part.batch for part in some])
    return Slotted(batch, np.concatenate([part.slot for part in some]))


def joined(parts: Sequence[Applied]) -> Applied | None:
    """Return the rows and errors of all parts, without undo; None if there are none."""
    rows = joined_rows([part.rows for part in parts])
    errors = joined_rows([part.errors for part in parts])
    return None if rows is None and errors is None else Applied(rows, errors, None)


class Kernel(Protocol):
    """One stateful operator over slots."""

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Return the rows with the columns that the kernel needs, and the errors of making them.

        Called once for each row that comes in; rows that can never matter are left out.
        """

    def slots(self, side: int, batch: Batch) -> Ints:
        """Return the slots of prepared rows."""

    @property
    def table(self) -> SlotTable:
        """Return the table of the slots; the fold says when retired slots may be used again."""

    def apply(self, sides: Sequence[Slotted | None], *, undoable: bool) -> Applied:
        """Apply prepared rows, each side in the total order, behind all rows of their slots so far.

        At least one side has rows.
        """

    def restore(self, undo: object, affected: NDArray[np.bool_]) -> None:
        """Take back an application for the slots that `affected` marks; the latest goes first."""

    def settle(self, undo: object | None) -> None:
        """Forget how to undo an application; all its rows are final."""

    def expire(self, horizon: Root) -> None:
        """Learn that no row below `horizon` will be given again: state that only those need may go."""

    def close(self, min_time: Root) -> Applied | None:
        """Close the windows whose punctuation is below `min_time`; each closes once."""

    def next_close(self) -> Root | None:
        """Return the least punctuation at which `close` may make rows, if any is known."""

    def state_rows(self) -> int:
        """Return how many rows or groups the state holds."""
