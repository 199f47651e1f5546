"""The outputs of a job in one process: its INSERTs, late rows and dead letters."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from fsql.connectors.file.output_files import Existing
from fsql.job.file_uses import FileUses
from fsql.job.option_spans import locate_errors
from fsql.job.sinks import job_consumers
from fsql.runtime.drivers.output_writer import Outputs, OutputWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.connectors.context import OutputStream
    from fsql.job.compilation import Compiled
    from fsql.runtime.ports import Split


@contextmanager
def open_outputs(
    compiled: Compiled,
    splits: Mapping[int, Sequence[Split]],
    existing: Existing,
    stdout: OutputStream | None = None,
) -> Iterator[Outputs]:
    """Open all outputs of the job; close them at the end.

    `existing` says how files that are not empty are handled; `stdout` replaces standard output.

    Raises:
        FsqlError: E532 to E534, E540 or E542, if an output cannot be opened; E535, if it cannot be closed.
    """
    append = existing is Existing.APPEND
    # Everything is checked before the first file is emptied.
    consumed = job_consumers(compiled, splits, None, stdout=stdout, append=append)
    with FileUses(compiled).lock(existing), ExitStack() as opened:
        writers = []
        for each in consumed:
            with locate_errors(compiled.syntax, each.table, each.option):
                writers.append(OutputWriter(each.output, each.consumer))
            opened.callback(writers[-1].close)
        yield Outputs(writers)
