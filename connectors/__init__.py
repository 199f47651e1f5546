"""Sources and sinks: what the outside hands in, and where results go.

`open_source` makes the splits of a table, `open_sink` the writer of a sink table, each by the table's
option `connector`.  Whatever cannot be opened is a `FsqlError` with a code and what to do.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, BinaryIO

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import Changes
from fsql.connectors import paths
from fsql.connectors.addresses import loopback
from fsql.connectors.file.source import StreamSplit, file_splits
from fsql.connectors.file.store import FileStore
from fsql.connectors.generated.generators import generator_split
from fsql.connectors.live.front_log import LogSplit
from fsql.connectors.live.live_splits import SocketSplit, front_log_of
from fsql.connectors.released_lines import ReleasedLines
from fsql.connectors.settings import Settings
from fsql.connectors.sinks import BlackholeSink, FileSink, StreamSink
from fsql.connectors.stream_stores import NowhereStore, StreamStore
from fsql.connectors.tcp.consumer import PATIENCE_SECONDS, TcpConsumer
from fsql.connectors.tcp.sink import TcpSink
from fsql.formats.json.decoder import JsonDecoder
from fsql.formats.json.encoder import JsonEncoder
from fsql.formats.text.decoder import TextDecoder
from fsql.formats.text.encoder import TextEncoder
from fsql.runtime.consumer import LocalConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fsql.compiler.logical import SinkTable, Table
    from fsql.connectors.sinks import LineEncoder
    from fsql.formats.lines import LineDecoder
    from fsql.runtime.consumer import Consumer
    from fsql.runtime.ports import SinkWriter, Split

_STDIN_DESCRIPTOR = 0
TCP_PATIENCE_SECONDS = 3.0
"""How long a run that keeps no state waits for the consumer of a sink."""


def open_source(
    table: Table,
    base_directory: Path,
    *,
    data_roots: Sequence[Path] = (),
    clock: Callable[[], float] = time.monotonic,
    stdin: int = _STDIN_DESCRIPTOR,
    front_logs: Path | None = None,
) -> Sequence[Split]:
    """Return the splits of a table, sorted by name.

    `clock` gives the seconds that the rate of a generator is measured by, `stdin` is the descriptor of
    standard input.  Where `front_logs` are given, what cannot be read again is read by way of its log there.

    Raises:
        FsqlError: E318, E531, E533 or E534, if the source cannot be opened.
    """
    settings = Settings(table.options)
    match settings.connector.name:
        case "file":
            path = paths.resolve(settings.text("path"), base_directory, data_roots)
            splits = file_splits(path, _decoder(table, settings))
            for split in splits:  # a directory may have links that lead elsewhere
                paths.resolve(str(split.path), base_directory, data_roots)
            return splits
        case "stdin" | "socket" as name if front_logs is not None:
            return [LogSplit(name, front_log_of(front_logs, table), _decoder(table, settings))]
        case "socket":
            return [SocketSplit("socket", settings, _decoder(table, settings))]
        case "stdin":
            return [StreamSplit("stdin", stdin, _decoder(table, settings))]
        case "documents" | "words":
            return [generator_split(table, settings, clock)]
        case name:
            raise AssertionError(f"the compiler let a table read from {name}")


def open_sink(
    sink: SinkTable,
    base_directory: Path,
    stdout: BinaryIO | None = None,
    *,
    data_roots: Sequence[Path] = (),
) -> SinkWriter:
    """Return the writer of a sink table; `stdout` is where the connector of that name writes.

    Raises:
        FsqlError: E532, E533 or E534, if the sink cannot be opened.
    """
    settings = Settings(sink.options)
    match settings.connector.name:
        case "file":
            path = paths.resolve(settings.text("path"), base_directory, data_roots)
            return FileSink(path, _encoder(sink, settings))
        case "stdout":
            stream = stdout or sys.stdout.buffer
            return StreamSink(stream, "standard output", _encoder(sink, settings))
        case "tcp":
            return TcpSink(_tcp_consumer(sink, settings, TCP_PATIENCE_SECONDS))
        case "blackhole":
            return BlackholeSink()
        case name:
            raise AssertionError(f"the compiler let a table write to {name}")


def open_consumer(
    sink: SinkTable,
    base_directory: Path,
    journal: Path,
    stdout: BinaryIO | None = None,
    *,
    data_roots: Sequence[Path] = (),
) -> Consumer:
    """Return the consumer of a sink table, for a job that keeps state.

    `journal` is where a file's position is kept: a path, to which something is appended.

    Raises:
        FsqlError: E533 or E534, if the options cannot be followed.
    """
    settings = Settings(sink.options)
    match settings.connector.name:
        case "file":
            path = paths.resolve(settings.text("path"), base_directory, data_roots)
            lines = sink_lines(sink)
            return LocalConsumer(FileStore(path, journal), lines)
        case "stdout":
            stream = stdout or sys.stdout.buffer
            lines = sink_lines(sink)
            return LocalConsumer(StreamStore(stream, "standard output"), lines)
        case "tcp":
            return _tcp_consumer(sink, settings, PATIENCE_SECONDS)
        case "blackhole":
            return LocalConsumer(NowhereStore(), lambda _: ())
        case name:
            raise AssertionError(f"the compiler let a table write to {name}")


def sink_lines(sink: SinkTable) -> ReleasedLines:
    """Return what makes lines of the rows of a sink table.

    Raises:
        FsqlError: E534, if its format has no place for its changes.
    """
    return ReleasedLines(_encoder(sink, Settings(sink.options)))


def _tcp_consumer(sink: SinkTable, settings: Settings, patience: float) -> TcpConsumer:
    address = loopback(settings.text("address"))
    lines = sink_lines(sink)
    return TcpConsumer(address, sink.name, lines, patience)


def _decoder(table: Table, settings: Settings) -> Callable[[], LineDecoder]:
    """Return what makes the decoder of one split."""
    record_bytes_max = settings.record_bytes_max()
    if settings.text("format") == "text":
        return lambda: TextDecoder(record_bytes_max)
    return lambda: JsonDecoder(table.columns, record_bytes_max)


def _encoder(sink: SinkTable, settings: Settings) -> LineEncoder:
    changes = sink.changes is not Changes.APPEND
    if settings.text("format") == "text":
        if changes:
            message = f'table "{sink.name}" is written as text, which has no place for changes'
            helps = ("write it as JSON: 'format' = 'json'",)
            raise FsqlError([Diagnostic("E534", message, helps=helps)])
        return TextEncoder()
    return JsonEncoder(
        [column.name for column in sink.columns],
        [column.type for column in sink.columns],
        sink.operation_column if changes else None,
    )
