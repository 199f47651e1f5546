"""The outputs of a job: for each, its delivery guarantee and its sink.

The outputs are the job's INSERTs, their late rows and the dead letters of its tables, in this order.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from fsql.compiler.analysis.sharding import sharding_of
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import REACHED, CountLateRows, has_late_rows, operators
from fsql.compiler.records import dataclass
from fsql.connectors.file.sink import file_store
from fsql.connectors.opening import open_sink, sink_lines
from fsql.connectors.settings import settings_of
from fsql.connectors.side_outputs import (
    NOTHING_TO_JOIN,
    WINDOW_CLOSED,
    DeadLetterLines,
    LateFrom,
    LateLines,
    Origins,
)
from fsql.job.file_uses import FileUses, journal_name, shard_name
from fsql.job.option_spans import locate_errors
from fsql.runtime.batch import Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.delivery.shards import RowSharder, Shard
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Insert, Job, SinkTable
    from fsql.connectors.context import OutputStream
    from fsql.job.compilation import Compiled
    from fsql.job.file_uses import FileUse
    from fsql.runtime.ports import Split
    from fsql.runtime.sink import ContentsEncoder, Sink


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """The address and key of the process that owns standard output."""

    address: tuple[str, int]
    key: bytes | None = None


@dataclass(frozen=True, slots=True)
class ConsumedOutput:
    """An output for the coordinator, and its sink.

    The option `option` of the table `table` declares it.
    """

    output: Output
    consumer: Sink
    table: str
    option: str


def job_consumers(
    compiled: Compiled,
    splits: Mapping[int, Sequence[Split]],
    positions: Path | None,
    *,
    stdout: StandardOutput | OutputStream | None = None,
    option: DeliveryOption | None = None,
    append: bool = False,
    since: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> list[ConsumedOutput]:
    """Return all outputs of a job, not yet opened.

    Args:
        compiled: the job.
        splits: the splits of its tables.
        positions: the directory of the positions of files; None in a run without state.
        stdout: the process that owns standard output; if it is this one, the stream that is written
            instead, or None.
        option: the delivery guarantee of all outputs; overrides those of their tables.
        append: whether files keep their content when the job first starts.
        since: the positions from which outputs exist that were added to the job, by their names.

    Raises:
        FsqlError: E532 to E534, if an output cannot be used.
    """
    making = _SinkFactory(compiled, splits, positions, stdout, option, append=append)
    making.files.check()
    standard_outputs(compiled)
    consumed = [*making.sinks(), *making.late(), *making.dead_letters()]
    return [_existing_since(each, since) for each in consumed]


def shard_consumers(
    compiled: Compiled,
    positions: Path,
    *,
    option: DeliveryOption | None,
    append: bool,
    since: Mapping[str, tuple[int, int]],
) -> Mapping[int, ConsumedOutput]:
    """Return the shards of a job, not yet opened, by their numbers among its outputs.

    The arguments are those of `job_consumers`.

    Raises:
        FsqlError: E532 to E534, if one cannot be used.
    """
    shards = _SinkFactory(compiled, {}, positions, None, option, append=append).shards()
    return {number: _existing_since(each, since) for number, each in shards.items()}


def check_sinks(compiled: Compiled) -> None:
    """Check the options of the tables that are written; nothing is opened or written.

    Raises:
        FsqlError: the errors of `open_sink`.
    """
    for insert in compiled.job.inserts:
        sink = insert.sink
        shard = None if sink.shards is None else 0
        with locate_errors(compiled.syntax, sink.name, "path"):
            open_sink(sink, compiled.script.base_directory, shard=shard)


def standard_outputs(compiled: Compiled) -> list[SinkTable]:
    """Return the table that writes standard output, if there is one.

    The lines of two tables would be in an order that depends on batches.

    Raises:
        FsqlError: E532, if there are several.
    """
    sinks = [each.sink for each in compiled.job.inserts]
    found = [sink for sink in sinks if dict(sink.options)["connector"] == "stdout"]
    if len(found) > 1:
        names = " and ".join(f'"{sink.name}"' for sink in found[:2])
        message = f"standard output can be written by one table, not by {names}"
        with locate_errors(compiled.syntax, found[1].name, "connector"):
            raise FsqlError([Diagnostic("E532", message, helps=("write the others to files",))])
    return found


def _existing_since(
    consumed: ConsumedOutput, since: Mapping[str, tuple[int, int]]
) -> ConsumedOutput:
    position = since.get(consumed.output.name)
    if position is None:
        return consumed
    return replace(consumed, output=replace(consumed.output, since=Root(*position)))


class _SinkFactory:
    """Creates the outputs of each kind."""

    def __init__(
        self,
        compiled: Compiled,
        splits: Mapping[int, Sequence[Split]],
        positions: Path | None,
        stdout: StandardOutput | OutputStream | None,
        option: DeliveryOption | None,
        *,
        append: bool,
    ) -> None:
        self._compiled = compiled
        self._job = compiled.job
        self._positions = positions
        self._stdout = stdout
        self._option = option
        self._append = append
        self.files = FileUses(compiled)
        self._origins = Origins({table.ordinal: table.name for table in self._job.tables}, splits)

    def sinks(self) -> list[ConsumedOutput]:
        return [self._output(*each) for each in self._parts()]

    def shards(self) -> dict[int, ConsumedOutput]:
        return {
            number: self._output(insert, declared, shard)
            for number, (insert, declared, shard) in enumerate(self._parts())
            if shard is not None
        }

    def _parts(self) -> Iterator[tuple[int, Insert, Shard | None]]:
        """Yield each INSERT, with its number, once for each of its outputs."""
        for number, insert in enumerate(self._job.inserts):
            sharding = sharding_of(insert)
            if sharding is None:
                yield number, insert, None
                continue
            sharder = RowSharder(sharding.shards, sharding.shard_key)
            for shard in range(sharding.shards):
                yield number, insert, Shard(shard, sharder)

    def _output(self, number: int, insert: Insert, shard: Shard | None) -> ConsumedOutput:
        table = insert.sink.name
        part = "" if shard is None else shard_name(shard.number, shard.sharder.shards)
        with locate_errors(self._compiled.syntax, table, "path"):
            consumer = self._sink_of_insert(
                insert, self._journal(journal_name("insert", table, part)), shard
            )
        name = _rows_name(table, part)
        connector = settings_of(insert.sink.options).connector
        output = Output(
            self._delivery_of(insert),
            insert=number,
            name=name,
            shard=shard,
            tells_bounds=connector.tells_bounds,
        )
        return ConsumedOutput(output, consumer, table, "path")

    def _sink_of_insert(self, insert: Insert, journal: Path | None, shard: Shard | None) -> Sink:
        memory = self._compiled.script.memory
        to_stdout = settings_of(insert.sink.options).connector.name == "stdout"
        if to_stdout and memory is not None and memory.result is not None:
            return memory.result
        if to_stdout and isinstance(self._stdout, StandardOutput):
            from fsql.connectors.tcp.remote_sink import TcpSink

            return TcpSink(
                self._stdout.address,
                insert.sink.name,
                sink_lines(insert.sink),
                key=self._stdout.key,
            )
        check_standard_output(insert)
        directory = self._compiled.script.base_directory
        stream = None if isinstance(self._stdout, StandardOutput) else self._stdout
        return open_sink(
            insert.sink,
            directory,
            journal=journal,
            stdout=stream,
            append=self._append and not insert.sink.overwrites,
            shard=None if shard is None else shard.number,
        )

    def _delivery_of(self, insert: Insert) -> DeliveryOption:
        """Return the delivery guarantee of an INSERT's table."""
        wanted = settings_of(insert.sink.options).text("delivery")
        return self._option or DeliveryOption(wanted)

    def late(self) -> list[ConsumedOutput]:
        outputs = []
        for insert in self._job.inserts:
            for use in self.files.of(insert.sink.name, "late_path"):
                windows = late_operators(self._job, insert)
                option, name = self._delivery_of(insert), _late_name(insert.sink.name)
                output = Output(option, windows=frozenset(windows), name=name)
                outputs.append(self._in_file(output, use, LateLines(windows, self._origins)))
        return outputs

    def dead_letters(self) -> list[ConsumedOutput]:
        options = {self._delivery_of(insert) for insert in self._job.inserts}
        option = DeliveryOption.EXACTLY_ONCE
        if options in ({DeliveryOption.AT_MOST_ONCE}, {DeliveryOption.NONE}):
            [option] = options
        outputs = []
        for table in self._job.tables:
            for use in self.files.of(table.name, "rejects_path"):
                name = _dead_letters_name(table.name)
                output = Output(option, dead_letters_of=table.ordinal, name=name)
                outputs.append(self._in_file(output, use, DeadLetterLines(self._origins)))
        return outputs

    def _in_file(self, output: Output, use: FileUse, lines: ContentsEncoder) -> ConsumedOutput:
        assert use.journal is not None
        append = self._append and not use.overwritten
        store = file_store(use.path, self._journal(use.journal), append=append)
        return ConsumedOutput(output, LocalSink(store, lines), use.table, use.option)

    def _journal(self, name: str) -> Path | None:
        return None if self._positions is None else self._positions / name


def output_names(compiled: Compiled) -> list[str]:
    """Return the names of all outputs of a job, as `Output.name` has them."""
    files = FileUses(compiled)
    names = [
        _rows_name(insert.sink.name, part)
        for insert in compiled.job.inserts
        for part in _parts(insert.sink)
    ]
    names += [
        _late_name(insert.sink.name)
        for insert in compiled.job.inserts
        if files.of(insert.sink.name, "late_path")
    ]
    names += [
        _dead_letters_name(table.name)
        for table in compiled.job.tables
        if files.of(table.name, "rejects_path")
    ]
    return names


def _parts(sink: SinkTable) -> list[str]:
    """Return the names of the shards of a table, or "" for a table that is not sharded."""
    if sink.shards is None:
        return [""]
    return [shard_name(shard, sink.shards) for shard in range(sink.shards)]


def _rows_name(table: str, part: str) -> str:
    return f'table "{table}"' if not part else f'shard {part} of table "{table}"'


def _late_name(table: str) -> str:
    return f'late rows of table "{table}"'


def _dead_letters_name(table: str) -> str:
    return f'rejects of table "{table}"'


def check_standard_output(insert: Insert) -> None:
    """Check that standard output is open if an INSERT writes to it.

    Raises:
        FsqlError: E532.
    """
    if dict(insert.sink.options)["connector"] == "stdout" and sys.stdout is None:
        message = "standard output cannot be written: it is closed"
        raise FsqlError([Diagnostic("E532", message)])


def late_operators(job: Job, insert: Insert) -> dict[int, LateFrom]:
    """Return what is late for each operator of an INSERT that rows can be late for, by its number.

    The operators of a job are numbered in the order of lowering.
    """
    counting = dict.fromkeys(
        operator
        for each in job.inserts
        for operator in operators(each.query)
        if has_late_rows(operator)
    )
    own = set(operators(insert.query))
    return {
        number: LateFrom(
            operator.input.schema,
            NOTHING_TO_JOIN
            if isinstance(operator, CountLateRows) and operator.wait_us != REACHED
            else WINDOW_CLOSED,
        )
        for number, operator in enumerate(counting)
        if operator in own
    }
