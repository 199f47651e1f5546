"""The outcome of a run, from the report of its coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.encoding import error_of
from fsql.runtime.batch import Root
from fsql.runtime.dataflow.barrier import Stopped
from fsql.runtime.ports import DeadLetter

if TYPE_CHECKING:
    from fsql.runtime.drivers.processes.lines import Finished


def stopped_of(finished: Finished) -> Stopped | None:
    """Return where and why the job stopped; None if it reached the end of its input.

    Raises:
        FsqlError: if it cannot continue.
    """
    if finished.diagnostics is not None:
        raise error_of(finished.diagnostics)
    if finished.refused is not None:
        message = f"an output cannot continue: {finished.refused[1]}"
        raise FsqlError([Diagnostic("E537", message)])
    if finished.stopped is None:
        return None
    row = finished.stopped
    dead_letter = None if row.dead_letter is None else DeadLetter(*row.dead_letter)
    return Stopped(Root(*row.root), row.code, dead_letter)
