"""The options of connector `postgres`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Effect,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

SLOT: Final = "slot"
PUBLICATION: Final = "publication"

CONNECTOR: Final = Connector(
    "postgres",
    "a table of PostgreSQL; needs `pip install 'fsql[postgres]'`",
    reads=False,
    writes=True,
    rows_are_messages=True,
    options=(
        Option(
            "url",
            OptionKind.TEXT,
            "the database, `postgresql://USER@HOST:PORT/DATABASE`, without a password",
            required=True,
            effect=Effect.PACE,
        ),
        Option(
            "table",
            OptionKind.TEXT,
            "name of the table, or `SCHEMA.TABLE`",
            required=True,
            elsewhere=("table-name", "table.name"),
        ),
        Option(
            "properties",
            OptionKind.TEXT,
            "file with properties of the connection, such as `password`; see below",
            effect=Effect.PACE,
        ),
        Option(
            SLOT,
            OptionKind.TEXT,
            "reads the changes of the table, by a replication slot of this name, and not just its rows",
            elsewhere=("slot.name",),
        ),
        Option(
            "create",
            OptionKind.CHOICE,
            "whether a table that is written is created if there is none",
            ("true", "false"),
            default="false",
            effect=Effect.PACE,
        ),
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    logs_arrival=True,
    notes="",
)
