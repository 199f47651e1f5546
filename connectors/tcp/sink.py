"""The sink of connector `tcp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.connectors.addresses import loopback
from fsql.connectors.released_lines import ReleasedLines
from fsql.connectors.tcp.proofs import consumer_key
from fsql.connectors.tcp.remote_sink import TIMEOUT_SECONDS, TcpSink
from fsql.formats.factories import make_encoder

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.sink import Sink

STATELESS_TIMEOUT_SECONDS: Final = 3.0
"""How long a run that keeps no state waits for the consumer of a sink."""


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the job's end of the connection.

    Raises:
        FsqlError: E533, E534 or E602, if the options are not valid.
    """
    timeout = STATELESS_TIMEOUT_SECONDS if context.journal is None else TIMEOUT_SECONDS
    lines = ReleasedLines(make_encoder(sink, settings))
    named = settings.optional("key")
    key = consumer_key(None if named is None else context.resolve(named))
    return TcpSink(loopback(settings.text("address")), sink.name, lines, timeout, key=key)
