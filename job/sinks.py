"""What a job that keeps state writes: for each output, what is promised of it, and its consumer.

The outputs are the job's INSERTs, their late rows, the rejects of its tables, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.connectors import open_consumer, sink_lines
from fsql.connectors.file.store import FileStore
from fsql.connectors.settings import Settings
from fsql.connectors.side_outputs import LateLines, Origins, RejectedLines
from fsql.connectors.tcp.consumer import TcpConsumer
from fsql.job.file_uses import FileUses
from fsql.job.outputs import check_standard_output, window_columns
from fsql.job.places import pointing_at
from fsql.runtime.cluster.delivery import DeliveryOption
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.consumer import LocalConsumer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Insert
    from fsql.job.compiled import Compiled
    from fsql.runtime.consumer import Consumer, ContentsEncoder
    from fsql.runtime.ports import Split


@dataclass(frozen=True, slots=True)
class ConsumedOutput:
    """An output as its coordinator must know it, and who takes it."""

    output: Output
    consumer: Consumer


def job_consumers(
    compiled: Compiled,
    splits: Mapping[int, Sequence[Split]],
    positions: Path,
    *,
    stdout: tuple[str, int] | None = None,
    option: DeliveryOption | None = None,
) -> list[ConsumedOutput]:
    """Return all outputs of a job.  Nothing is opened yet.

    Args:
        compiled: the job.
        splits: the splits of its tables.
        positions: the directory where files' positions are kept.
        stdout: where the process listens that owns standard output; None if this one does.
        option: what is promised of every output, whatever its table asks for.

    Raises:
        FsqlError: E532 to E534, if an output cannot be what the script says.
    """
    making = _Making(compiled, splits, positions, stdout, option)
    making.files.check()
    return [*making.sinks(), *making.late(), *making.rejects()]


class _Making:
    """Makes one kind of output after the other."""

    def __init__(
        self,
        compiled: Compiled,
        splits: Mapping[int, Sequence[Split]],
        positions: Path,
        stdout: tuple[str, int] | None,
        option: DeliveryOption | None,
    ) -> None:
        self._compiled = compiled
        self._job = compiled.job
        self._positions = positions
        self._stdout = stdout
        self._option = option
        self.files = FileUses(compiled)
        self._origins = Origins({table.ordinal: table.name for table in self._job.tables}, splits)

    def sinks(self) -> list[ConsumedOutput]:
        outputs = []
        for number, insert in enumerate(self._job.inserts):
            with pointing_at(self._compiled.syntax, insert.sink.name, "path"):
                consumer = self._of_insert(insert, self._positions / f"insert-{number}")
            name = f'table "{insert.sink.name}"'
            output = Output(self._delivery_of(insert), insert=number, name=name)
            outputs.append(ConsumedOutput(output, consumer))
        return outputs

    def _of_insert(self, insert: Insert, journal: Path) -> Consumer:
        to_stdout = Settings(insert.sink.options).connector.name == "stdout"
        if to_stdout and self._stdout is not None:
            return TcpConsumer(self._stdout, insert.sink.name, sink_lines(insert.sink))
        check_standard_output(insert)
        directory = self._compiled.script.base_directory
        return open_consumer(insert.sink, directory, journal)

    def _delivery_of(self, insert: Insert) -> DeliveryOption:
        """Return what is promised of an INSERT's table."""
        wanted = Settings(insert.sink.options).text("delivery")
        return self._option or DeliveryOption(wanted)

    def late(self) -> list[ConsumedOutput]:
        outputs = []
        for number, insert in enumerate(self._job.inserts):
            for use in self.files.of(insert.sink.name, "late_path"):
                windows = window_columns(self._job, insert)
                option, name = self._delivery_of(insert), f'late rows of table "{insert.sink.name}"'
                output = Output(option, windows=frozenset(windows), name=name)
                lines = LateLines(windows, self._origins)
                outputs.append(self._in_file(output, use.path, f"late-{number}", lines))
        return outputs

    def rejects(self) -> list[ConsumedOutput]:
        options = {self._delivery_of(insert) for insert in self._job.inserts}
        option = DeliveryOption.EXACTLY_ONCE
        if options in ({DeliveryOption.AT_MOST_ONCE}, {DeliveryOption.NONE}):
            [option] = options
        outputs = []
        for table in self._job.tables:
            for use in self.files.of(table.name, "rejects_path"):
                name = f'rejects of table "{table.name}"'
                output = Output(option, rejects_of=table.ordinal, name=name)
                lines = RejectedLines(self._origins)
                journal = f"rejects-{table.ordinal}"
                outputs.append(self._in_file(output, use.path, journal, lines))
        return outputs

    def _in_file(
        self, output: Output, path: Path, name: str, lines: ContentsEncoder
    ) -> ConsumedOutput:
        store = FileStore(path, self._positions / name)
        return ConsumedOutput(output, LocalConsumer(store, lines))
