"""The options of connector `memory`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import TIME_OPTIONS, Connector

CONNECTOR: Final = Connector(
    "memory",
    "rows that a Python program hands to `fsql.sql`",
    reads=True,
    writes=False,
    options=TIME_OPTIONS,
    notes="""\
The library declares such tables itself, from the columns of what it is given; a script that is run by the
command line has none.  The table is one split, and its rows are numbered in their order.
""",
)
