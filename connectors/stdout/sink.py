"""The sink of connector `stdout`, in the process that owns standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.released_lines import ReleasedLines
from fsql.connectors.stream_stores import StreamStore
from fsql.formats.factories import make_encoder
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.sink import Sink


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the sink that writes to standard output.

    Raises:
        FsqlError: E534, if the options are not valid.
    """
    lines = ReleasedLines(make_encoder(sink, settings))
    return LocalSink(StreamStore(context.standard_output(), "standard output"), lines)
