"""The source of connector `socket`: read directly, or through its front log in a job that keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.connectors.addresses import loopback
from fsql.connectors.live.inflows import SocketInflow
from fsql.connectors.live.live_splits import live_split

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
    return [live_split("socket", table, settings, context)]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> SocketInflow:
    """Listen at the address of the table.

    Raises:
        FsqlError: E531 or E534, if it cannot be listened on.
    """
    ends = settings.text("ends") == "connection"
    return SocketInflow(
        loopback(settings.text("address")),
        ends_with_connection=ends,
        name=f'table "{table.name}"',
        on_notice=context.on_notice,
    )
