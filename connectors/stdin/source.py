"""The source of connector `stdin`: read directly, or through its front log in a job that keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.inflows import DescriptorInflow
from fsql.connectors.live.live_splits import StreamSplit, bound_options, front_log_of
from fsql.connectors.live.log_split import LogSplit
from fsql.formats.factories import make_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return standard input as a split.

    Raises:
        FsqlError: E534, if the options are not valid.
    """
    decoder = make_decoder(table.columns, settings)
    bounds = bound_options(table, settings)
    if context.front_logs is not None:
        log = front_log_of(context.front_logs, table)
        return [LogSplit("stdin", log, decoder, bounds)]
    return [StreamSplit("stdin", context.stdin, decoder, bounds)]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> DescriptorInflow:
    """Return the bytes of standard input."""
    del table, settings
    return DescriptorInflow(context.stdin)
