"""Splits of sources that cannot be read again: directly, or through a front log.

A run without state reads them directly.  In a job with state, the launcher writes the input to a log
(`open_feed`), and workers read that log (`LogSplit`).  The module `source` of such a connector has a function
`open_inflow`.
"""

from __future__ import annotations

import fcntl
import os
import termios
from array import array
from contextlib import ExitStack, closing
from dataclasses import field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.diagnostics.numbers import bytes_text
from fsql.compiler.durations import duration_us
from fsql.compiler.logical import TimeKind
from fsql.compiler.records import dataclass
from fsql.connectors import paths
from fsql.connectors.live.front_log import LogWriter, segments
from fsql.connectors.live.inflows import Feed, LocatedInflow, PipeOutflow, ResumableInflow
from fsql.connectors.live.log_split import LogSplit
from fsql.connectors.live.logged_bounds import BoundWriter, LogClock
from fsql.connectors.live.options import LOG_SIZE, NO_LIMIT
from fsql.connectors.live.time_bounds import ArrivalClock, BoundOptions, ClockedBlocks
from fsql.connectors.settings import settings_of
from fsql.connectors.streams.blocks import LiveBlocks
from fsql.connectors.streams.line_reader import LineReader
from fsql.connectors.streams.replay import not_replayable
from fsql.formats.factories import make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.connectors.live.inflows import Inflow
    from fsql.connectors.live.places import Places
    from fsql.connectors.streams.blocks import Blocks
    from fsql.formats.lines import LineDecoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import RowPlace, SourceOffset, Split

_BLOCK_BYTES: Final = 1 << 20
_MIB: Final = 1 << 20
_KEPT_ROWS_MAX: Final = 65_536
"""How many rows before the last chunk have a known place: an expression may have failed in one of them."""


def front_log_of(front_logs: Path, table: Table) -> Path:
    """Return the directory of a table's log; tables are numbered as the job declares them."""
    return front_logs / str(table.ordinal)


def open_feed(
    table: Table,
    front_logs: Path,
    on_failure: Callable[[FsqlError], None],
    context: ConnectorContext,
) -> Feed:
    """Start a thread that writes the input of a table to its log.

    `on_failure` is called in that thread.

    Raises:
        FsqlError: E531, E532, E534, E535 or E536, if the input or the log cannot be used.
    """
    settings = settings_of(table.options)
    directory = front_log_of(front_logs, table)
    with ExitStack() as stack:
        inflow = stack.enter_context(closing(_open_inflow(table, settings, context)))
        resumed = inflow if isinstance(inflow, ResumableInflow) else None
        known_end = None if resumed is None else resumed.open_journal(directory)
        log = LogWriter(directory, settings.number(LOG_SIZE) * _MIB, known_end=known_end)
        stack.enter_context(closing(log))
        if resumed is None and log.bytes_cut:
            context.on_notice(
                f'table "{table.name}": the run before ended within a line; the'
                f" {bytes_text(log.bytes_cut)} that it had of this line are dropped"
            )
        log.on_full = lambda: context.on_notice(
            f'table "{table.name}" waits until there is space on the disk of "{directory}", which is full'
        )
        clock = _log_clock(directory, log, bound_options(table, settings))
        if resumed is not None:
            resumed.resume(log)
        stack.pop_all()
    return Feed(inflow, log, on_failure, clock)


def _open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> Inflow:
    """Open the inflow of a table, by the function of its connector.

    Raises:
        FsqlError: E531, E533 or E534, if it cannot be opened.
    """
    module: Any = import_module(f"fsql.connectors.{settings.connector.name}.source")
    inflow: Inflow = module.open_inflow(table, settings, context)
    return inflow


def live_split(
    name: str,
    table: Table,
    settings: Settings,
    context: ConnectorContext,
    decoder: Callable[[], LineDecoder] | None = None,
    *,
    root: Path | None = None,
    places: Places | None = None,
) -> Split:
    """Return the input of a table as one split, read directly or through its log.

    `decoder` makes the decoders of its lines; without one they are those of the format.  If the bytes are
    those of files, these are in the directory `root`, and `places` has those in the log.

    Raises:
        FsqlError: E534, if the options of the format are not valid.
    """
    decoder = decoder or make_decoder(table.columns, settings)
    bounds = bound_options(table, settings)
    if context.front_logs is not None:
        log = front_log_of(context.front_logs, table)
        return LogSplit(name, log, decoder, bounds, root=root, places=places)
    inflow = partial(_open_inflow, table, settings, context)
    return InflowSplit(name, inflow, decoder, bounds, root)


def _log_clock(directory: Path, log: LogWriter, options: BoundOptions) -> LogClock | None:
    """Return the clock of a log, None if its table does not need one.

    Raises:
        FsqlError: E532, if the file of the bounds cannot be written.
    """
    if not options:
        return None
    known = segments(directory)
    try:
        writer = BoundWriter(directory, known[0].start if known else 0, log.length)
    except OSError as error:
        raise paths.open_error("E532", directory, error) from None
    return LogClock(ArrivalClock(options), log, writer)


def bound_options(table: Table, settings: Settings) -> BoundOptions:
    """Return the clock options of a live table; they are empty if its rows have no time."""
    if table.time is TimeKind.ARRIVAL:
        return BoundOptions(arrival=True)
    if table.time is not TimeKind.EVENT:
        return BoundOptions()
    idle, ahead = settings.optional("idle"), settings.optional("max_ahead")
    return BoundOptions(
        None if idle is None else duration_us(idle),
        None if ahead in {None, NO_LIMIT} else duration_us(ahead),
    )


@dataclass(frozen=True, slots=True)
class StreamSplit:
    """An open stream, such as standard input, which can be read only once."""

    name: str
    descriptor: int
    decoder: Callable[[], LineDecoder]
    bounds: BoundOptions
    block_bytes: int = _BLOCK_BYTES
    readers: list[LineReader] = field(default_factory=list, compare=False)
    """The readers that were opened, of which there is one in a run."""

    def open(self, source_offset: SourceOffset | None = None) -> LineReader:
        """Return a reader that returns available input and never blocks.

        Raises:
            FsqlError: E531, if the stream is closed; E536, if it is to be read from an offset on.
        """
        if source_offset is not None and source_offset.byte:
            raise not_replayable(self.name, source_offset, "a stream can be read once only")
        try:
            descriptor = os.dup(self.descriptor)
        except OSError as error:
            raise paths.open_error("E531", self.name, error) from None
        blocks = _add_clock(LiveBlocks(descriptor, self.name, self.block_bytes), self.bounds)
        reader = LineReader(blocks, self.decoder(), header_of=self.name, rows_kept=_KEPT_ROWS_MAX)
        self.readers.append(reader)
        return reader

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins; None if it is not one of the last that were read."""
        return self.readers[-1].place_of(row) if self.readers else None


@dataclass(frozen=True, slots=True)
class InflowSplit:
    """The bytes of connections to an address, or of followed files, in a run without state."""

    name: str
    inflow: Callable[[], Inflow]
    decoder: Callable[[], LineDecoder]
    bounds: BoundOptions
    root: Path | None = None
    readers: list[LineReader] = field(default_factory=list, compare=False)
    """The readers that were opened, of which there is one in a run."""

    def open(self, source_offset: SourceOffset | None = None) -> LineReader:
        """Open the inflow, and return a reader of it.

        Raises:
            FsqlError: E531, if it cannot be opened; E536, if it is to be read from an offset on.
        """
        if source_offset is not None and source_offset.byte:
            raise not_replayable(self.name, source_offset, "a stream can be read once only")
        inflow = self.inflow()
        reading, writing = os.pipe()
        blocks = _FedBlocks(reading, self.name, _BLOCK_BYTES)
        blocks.feed = Feed(inflow, PipeOutflow(writing), blocks.on_failure)
        bounded = _add_clock(blocks, self.bounds)
        places = inflow.places if isinstance(inflow, LocatedInflow) else None
        header_of, rows_kept = self.name, _KEPT_ROWS_MAX
        reader = LineReader(
            bounded, self.decoder(), header_of=header_of, places=places, rows_kept=rows_kept
        )
        self.readers.append(reader)
        return reader

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins; None if it is not one of the last that were read."""
        return self.readers[-1].place_of(row) if self.readers else None


def _bytes_in_pipe(descriptor: int) -> int:
    """Return how many bytes can be read from a pipe."""
    count = array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]


def _add_clock(blocks: Blocks, options: BoundOptions) -> Blocks:
    """Return the blocks with the bounds of a clock, if the table needs one."""
    return ClockedBlocks(blocks, ArrivalClock(options)) if options else blocks


class _FedBlocks(LiveBlocks):
    """The bytes of a feed, and its failure."""

    feed: Feed
    _failure: FsqlError | None = None

    def bytes_lost(self, byte: int) -> int:
        """Return how many bytes after an offset have been received; ends the feed."""
        self.feed.close()
        if self.feed.can_resume:
            return 0
        return super().bytes_lost(byte) + _bytes_in_pipe(self._descriptor) + self.feed.bytes_dropped

    def on_failure(self, error: FsqlError) -> None:
        """Record why the input ended."""
        self._failure = error

    def read(self) -> bytes | None:
        """Return available bytes.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        data = super().read()
        if data == b"" and self._failure is not None:
            raise self._failure
        return data

    def close(self) -> None:
        """Close the descriptor and the feed."""
        super().close()
        self.feed.close()
