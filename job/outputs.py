"""What a job writes, opened in a run of one process: its INSERTs, its late rows, its rejects."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from fsql.job.places import pointing_at
from fsql.job.sinks import job_consumers
from fsql.runtime.drivers.output_writer import Outputs, OutputWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.job.compiled import Compiled
    from fsql.runtime.ports import Split


@contextmanager
def opened_outputs(compiled: Compiled, splits: Mapping[int, Sequence[Split]]) -> Iterator[Outputs]:
    """Open all that the job writes, which empties the files; close it at the end.

    Raises:
        FsqlError: E532 to E534, if an output cannot be opened; E535, if it cannot be closed.
    """
    consumed = job_consumers(compiled, splits, None)  # checks all before the first is emptied
    with ExitStack() as opened:
        writers = []
        for each in consumed:
            with pointing_at(compiled.syntax, each.table, each.option):
                writers.append(OutputWriter(each.output, each.consumer))
            opened.callback(writers[-1].close)
        yield Outputs(writers)
