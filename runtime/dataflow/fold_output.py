"""The output of a fold: rows and errors of applications, or the differences that a repair causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.records import dataclass
from fsql.runtime.kernels.keyed.kernel import ApplyResult, KeyedRows, merge_rows
from fsql.runtime.order import concat
from fsql.runtime.weights import consolidate, negate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Batch


@dataclass(slots=True)
class FoldOutput:
    """Rows, error rows, and whether they correct rows that the fold sent before."""

    rows: list[Batch]
    errors: list[Batch]
    repairs: bool = False

    def append(self, applied: ApplyResult[Any]) -> None:
        """Append the results of an application."""
        for batches, made in ((self.rows, applied.rows), (self.errors, applied.errors)):
            if made is not None and len(made.slot):
                batches.append(made.batch)

    def append_differences(
        self, made: Sequence[ApplyResult[Any]], old: Sequence[ApplyResult[Any]], *, by_path: bool
    ) -> None:
        """Append the rows that are only in `made`, and the undo of rows that are only in `old`."""
        self.repairs = True
        new_rows = merge_rows([applied.rows for applied in made])
        old_rows = merge_rows([applied.rows for applied in old])
        _append_difference(self.rows, new_rows, old_rows, by_path=by_path)
        new_errors = merge_rows([applied.errors for applied in made])
        old_errors = merge_rows([applied.errors for applied in old])
        _append_difference(self.errors, new_errors, old_errors, by_path=False)


def _append_difference(
    batches: list[Batch], new: KeyedRows | None, old: KeyedRows | None, *, by_path: bool
) -> None:
    parts = [] if new is None else [new.batch]
    if old is not None:
        parts.append(negate(old.batch))
    if not parts:
        return
    difference = parts[0] if old is None else consolidate(concat(parts), by_path=by_path)
    if len(difference):
        batches.append(difference)
