"""Opens sources and sinks, by the option `connector` of their tables.

The modules of a connector are imported on demand, so that a job loads only the connectors that it uses.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

from fsql.compiler.connectors import Layout
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.context import ConnectorContext
from fsql.connectors.file.metadata import partition_names
from fsql.connectors.settings import has_envelope, has_layout, settings_of
from fsql.formats.factories import make_encoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.compiler.connectors import Options
    from fsql.compiler.logical import SinkTable, Table
    from fsql.connectors.context import OutputStream
    from fsql.connectors.released_lines import ReleasedLines
    from fsql.formats.factories import InferredColumns
    from fsql.formats.lines import LineEncoder
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split
    from fsql.runtime.sink import Sink


class SourceModule(Protocol):
    """The module `source` of a connector that reads."""

    def open_source(
        self, table: Table, settings: Settings, context: ConnectorContext
    ) -> Sequence[Split]:
        """Return the splits of a table, sorted by name.

        Raises:
            FsqlError: E531, E533 or E534, if the source cannot be opened.
        """


class SinkModule(Protocol):
    """The module `sink` of a connector that writes."""

    def open_sink(self, sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
        """Return the sink of a table, not opened yet.

        Raises:
            FsqlError: E533 or E534, if the options are not valid.
        """


def open_source(table: Table, context: ConnectorContext) -> Sequence[Split]:
    """Return the splits of a table, sorted by name.

    Raises:
        FsqlError: E531, E533 or E534, if the source cannot be opened.
    """
    settings = settings_of(table.options)
    module = import_module(f"fsql.connectors.{settings.connector.name}.source")
    return cast("SourceModule", module).open_source(table, settings, context)


def count_splits(table: Table, context: ConnectorContext) -> int:
    """Return how many splits a source has, without its decoder where that can tell nothing more.

    Raises:
        FsqlError: E531, E533, E534 or E543, if it cannot be opened.
    """
    settings = settings_of(table.options)
    package = f"fsql.connectors.{settings.connector.name}"
    if find_spec(f"{package}.inputs") is not None:
        module: Any = import_module(f"{package}.inputs")
        count: int | None = module.count_inputs(table, settings, context)
        if count is not None:
            return count
    return len(open_source(table, context))


def infer_columns(options: Options, context: ConnectorContext) -> InferredColumns:
    """Return the columns of a table with these options, other options, and notes, inferred from its input.

    Raises:
        FsqlError: E225, if they cannot be inferred; E531, E533 or E535, if the input cannot be read.
    """
    settings = settings_of(options)
    name = settings.connector.name
    if not settings.connector.infers_columns:
        message = f"the columns of a table with connector '{name}' cannot be inferred"
        helps = ("declare the columns in CREATE TABLE",)
        raise FsqlError([Diagnostic("E225", message, helps=helps)])
    module: Any = import_module(f"fsql.connectors.{name}.inferred")
    return cast(
        "InferredColumns",
        module.infer_columns(settings, context, partition_names(options)),
    )


def open_sink(
    sink: SinkTable,
    base_directory: Path,
    *,
    journal: Path | None = None,
    stdout: OutputStream | None = None,
    data_roots: Sequence[Path] = (),
    append: bool = False,
    shard: int | None = None,
) -> Sink:
    """Return the sink of a table; the arguments are those of `ConnectorContext`.

    Raises:
        FsqlError: E533 or E534, if the options are not valid.
    """
    settings = settings_of(sink.options)
    context = ConnectorContext(
        base_directory, data_roots, stdout=stdout, journal=journal, append=append, shard=shard
    )
    module = import_module(f"fsql.connectors.{settings.connector.name}.sink")
    return cast("SinkModule", module).open_sink(sink, settings, context)


def sink_lines(sink: SinkTable) -> ReleasedLines:
    """Return the encoder of released rows of a table.

    Raises:
        FsqlError: E534, if its format cannot represent its changes.
    """
    from fsql.connectors.released_lines import ReleasedLines  # a reader needs no encoder

    return ReleasedLines(make_encoder(sink, settings_of(sink.options)))


def make_row_encoder(sink: SinkTable) -> LineEncoder | None:
    """Return the encoder of single rows of a table; None if it is not written as lines with labels.

    If the table is sharded, positions precede the columns.

    Raises:
        FsqlError: E534, if its format cannot represent its changes.
    """
    settings = settings_of(sink.options)
    if sink.shards is not None:
        from fsql.connectors.file.shard_files import shard_encoder

        return shard_encoder(sink)
    messages = settings.connector.rows_are_messages
    if messages or not has_layout(settings, Layout.LINES) or has_envelope(settings):
        return None
    return make_encoder(sink, settings)
