"""The sink of connector `blackhole`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.stream_stores import NullStore
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.sink import Sink


class NullEncoder:
    """Encodes rows as no lines at all."""

    header = b""

    def __call__(self, contents: Contents) -> Sequence[memoryview]:
        """Return no lines."""
        del contents
        return ()


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return a sink that drops the rows."""
    del sink, settings, context
    return LocalSink(NullStore(), NullEncoder())
