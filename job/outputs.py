"""What a job writes, opened: the sinks of its INSERTs, its late rows, its rejects."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import WindowAggregate, operators
from fsql.connectors import open_sink
from fsql.connectors.side_outputs import LateOutput, Origins, RejectsOutput
from fsql.job.file_uses import FileUses
from fsql.job.places import pointing_at
from fsql.runtime.batch import origin_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.logical import Insert, Job
    from fsql.compiler.schema import Schema
    from fsql.job.compiled import Compiled
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.ports import Reject, SinkWriter, Split


@dataclass(frozen=True, slots=True)
class Outputs:
    """A writer for each INSERT, and the side outputs that the script asks for."""

    sinks: Sequence[SinkWriter]
    late: Sequence[LateOutput]
    rejects: Mapping[int, RejectsOutput]

    def write_late(self, window: int, rows: Batch) -> None:
        """Write the late rows of a window operator, for each INSERT that it belongs to."""
        for output in self.late:
            if window in output.windows:
                output.write(window, rows)

    def write_rejects(self, rejects: Sequence[tuple[Root, Reject]]) -> None:
        """Write malformed rows, each for its own table."""
        for ordinal, output in self.rejects.items():
            own = [each for each in rejects if origin_parts(each[0].origin)[0] == ordinal]
            if own:
                output.write(own)


@contextmanager
def opened_outputs(compiled: Compiled, splits: Mapping[int, Sequence[Split]]) -> Iterator[Outputs]:
    """Open all that the job writes, which empties the files; close it at the end.

    Raises:
        FsqlError: E532 to E534, if an output cannot be opened; E535, if it cannot be closed.
    """
    opening = _Opening(compiled, splits)
    opening.files.check()  # before the first is emptied
    with ExitStack() as open_files:
        yield Outputs(
            opening.sinks(open_files), opening.late(open_files), opening.rejects(open_files)
        )


class _Opening:
    """Opens one kind of output after the other; each is closed by the stack that it is put on."""

    def __init__(self, compiled: Compiled, splits: Mapping[int, Sequence[Split]]) -> None:
        self._compiled = compiled
        self._job = compiled.job
        self.files = FileUses(compiled)
        self._origins = Origins({table.ordinal: table.name for table in self._job.tables}, splits)

    def sinks(self, open_files: ExitStack) -> list[SinkWriter]:
        sinks = []
        for insert in self._job.inserts:
            check_standard_output(insert)
            with pointing_at(self._compiled.syntax, insert.sink.name, "path"):
                sink = open_sink(insert.sink, self._compiled.script.base_directory)
            open_files.callback(sink.close)
            sinks.append(sink)
        return sinks

    def late(self, open_files: ExitStack) -> list[LateOutput]:
        outputs = []
        for insert in self._job.inserts:
            for use in self.files.of(insert.sink.name, "late_path"):
                with pointing_at(self._compiled.syntax, use.table, use.option):
                    windows = window_columns(self._job, insert)
                    outputs.append(LateOutput(use.path, windows, self._origins))
                open_files.callback(outputs[-1].close)
        return outputs

    def rejects(self, open_files: ExitStack) -> dict[int, RejectsOutput]:
        outputs = {}
        for table in self._job.tables:
            for use in self.files.of(table.name, "rejects_path"):
                with pointing_at(self._compiled.syntax, use.table, use.option):
                    outputs[table.ordinal] = RejectsOutput(use.path, self._origins)
                open_files.callback(outputs[table.ordinal].close)
        return outputs


def check_standard_output(insert: Insert) -> None:
    """Check that there is a standard output where an INSERT writes to it.

    Raises:
        FsqlError: E532.
    """
    if dict(insert.sink.options)["connector"] == "stdout" and sys.stdout is None:
        message = "standard output cannot be written: it is closed"
        raise FsqlError([Diagnostic("E532", message)])


def window_columns(job: Job, insert: Insert) -> dict[int, Schema]:
    """Return the columns of the rows that come into each window operator of an INSERT, by its number.

    The operators of a job are numbered as lowering meets them.
    """
    windows = dict.fromkeys(
        operator
        for each in job.inserts
        for operator in operators(each.query)
        if isinstance(operator, WindowAggregate)
    )
    own = set(operators(insert.query))
    return {
        number: operator.input.schema for number, operator in enumerate(windows) if operator in own
    }
