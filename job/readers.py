"""Which worker reads each split of the input, as `fsql tick propose --readers` gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.numbers import count_text
from fsql.job.owners_file import check_worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.tick_plan import TickPlan

_NAMES_MAX = 8
"""How many splits an error names."""


def check_readers(
    readers: Sequence[int], workers: int, plan: TickPlan, splits: Mapping[int, Sequence[str]]
) -> None:
    """Check that there is a worker of the job for each split, in the order of the tables and splits.

    `splits` has the names of each table's splits, by its ordinal.

    Raises:
        FsqlError: E651, if there is not.
    """
    tables = plan.tables
    names = [
        f"{splits[task.ordinal][task.split]} of {tables[task.ordinal].name}"
        for task in plan.fronts(splits)
    ]
    if len(readers) != len(names):
        of_job = "1 split" if len(names) == 1 else f"{count_text(len(names))} splits"
        message = f"--readers has {count_text(len(readers))}, and the input of the job has {of_job}"
        more = ["..."] * (len(names) > _NAMES_MAX)
        order = ", ".join([*names[:_NAMES_MAX], *more])
        help_ = f"Give the number of a worker for each split, in this order: {order}."
        raise FsqlError([Diagnostic("E651", message, helps=(help_,))])
    for worker in readers:
        check_worker(worker, workers, "--readers: ")
