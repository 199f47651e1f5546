"""The source of connector `postgres`: the rows of a table, or with a slot the rows and then its changes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors.live.live_splits import live_split
from fsql.connectors.postgres.capture_inflow import CaptureInflow
from fsql.connectors.postgres.captured_table import UNAVAILABLE, Declared
from fsql.connectors.postgres.change_stream import Capture
from fsql.connectors.postgres.client import database_of, table_name
from fsql.connectors.postgres.options import SLOT
from fsql.formats.debezium_json.decoder import make_decoder
from fsql.formats.debezium_json.options import FORMAT
from fsql.formats.settings import RECORD_BYTES_CAP, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Schema
    from fsql.connectors.context import ConnectorContext
    from fsql.runtime.ports import Split

_SLOT: Final = re.compile("[a-z0-9_]{1,63}")


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the rows of the table, or the events of its changes, as a split.

    Raises:
        FsqlError: E531, if the client is not installed; E531, E533 or E534, if the options are not valid.
    """
    database_of(settings, context)
    if not settings.gives(SLOT):
        message = f"a table of PostgreSQL is read by its changes, and has no option '{SLOT}'"
        helps = (
            f"add '{SLOT}' = 'NAME': the table is copied, and then its changes are read",
            "with 'ends' = 'latest', too, it is read as it is, and the run ends",
        )
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    name = str(table_name(settings.text("table")))
    decoder = make_decoder(table.columns, _settings_of_events(table, settings))
    return [live_split(name, table, settings, context, decoder)]


def open_inflow(table: Table, settings: Settings, context: ConnectorContext) -> CaptureInflow:
    """Connect to the database of the table.

    Raises:
        FsqlError: E531, E533 or E534, if its changes cannot be read.
    """
    slot = settings.text(SLOT)
    if not _SLOT.fullmatch(slot):
        message = f"option '{SLOT}' is no name of a slot: '{slot}'"
        helps = ("use lower-case letters, digits and `_` only, at most 63",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    columns, key = _declared(table, settings)
    capture = Capture(
        database_of(settings, context),
        Declared(
            table_name(settings.text("table")),
            columns,
            key,
            tuple(each.name for each in columns if each.time_attribute),
        ),
        slot,
        settings.optional("publication") or slot,
        from_latest=settings.text("start") == "latest",
        ends=settings.text("ends") == "latest",
    )
    return CaptureInflow(capture, context.on_notice)


def _declared(table: Table, settings: Settings) -> tuple[Schema, tuple[str, ...]]:
    """Return the columns that the script declares, and the names of those of its key.

    The compiler has added others: the kind of a change, and what is read of the old row.
    """
    if settings.old_key is None:
        return table.columns[1 : 1 + len(table.columns) // 2], ()
    columns = table.columns[1 : -len(settings.old_key) - 1]
    return columns, tuple(columns[index].name for index in settings.old_key)


def _settings_of_events(table: Table, settings: Settings) -> Settings:
    """Return the settings with which events are decoded: those of the format, with values of our own."""
    connector = settings.connector
    own = (("max_record_bytes", str(RECORD_BYTES_CAP)), ("unavailable_value", UNAVAILABLE))
    connector = replace(connector, options=(*connector.options, *FORMAT.options))
    return Settings((*table.options, *own), connector)
