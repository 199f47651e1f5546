"""The options of connector `one_row`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import ALWAYS_ENDS, Connector

CONNECTOR: Final = Connector(
    "one_row",
    "one row, which `VALUES` and queries without FROM read",
    reads=True,
    writes=False,
    end=ALWAYS_ENDS,
    options=(),
    library_only=True,
    notes="""\
Queries without FROM read such a table; scripts do not declare it. It is a table at rest: its row comes
before all rows that have event time.
""",
)
