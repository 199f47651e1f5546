"""The sink of connector `postgres`: transactions of rows, with the position if the job keeps state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.postgres.client import database_of, table_name
from fsql.connectors.postgres.options import SLOT
from fsql.connectors.postgres.table_sink import TableSink

if TYPE_CHECKING:
    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.sink import Sink


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the sink that writes the table.

    Raises:
        FsqlError: E531, if the client is not installed; E531, E533 or E534, if the options are not valid.
    """
    if settings.gives(SLOT):
        message = f"a table with option '{SLOT}' is read as it changes, and not written"
        helps = ("declare another table for writing, without the option",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    database = database_of(settings, context)
    name = table_name(settings.text("table"))
    create, keeps = settings.flag("create"), context.journal is not None
    return TableSink(database, name, sink, create=create, keeps=keeps)
