"""The source of connector `socket`: read directly, or through its front log in a job that keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.live.live_splits import (
    InflowSplit,
    bound_options,
    front_log_of,
    socket_inflow,
)
from fsql.connectors.live.log_split import LogSplit
from fsql.formats.factories import make_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import Split


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the rows received over connections as a split.

    Raises:
        FsqlError: E534, if the options are not valid.
    """
    decoder = make_decoder(table.columns, settings)
    bounds = bound_options(table, settings)
    if context.front_logs is not None:
        log = front_log_of(context.front_logs, table)
        return [LogSplit("socket", log, decoder, bounds)]
    return [InflowSplit("socket", lambda: socket_inflow(settings), decoder, bounds)]
