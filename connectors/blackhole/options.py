"""The options of connector `blackhole`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import CHANGE_OPTIONS, Connector

CONNECTOR: Final = Connector(
    "blackhole",
    "nothing; rows are discarded",
    reads=False,
    writes=True,
    options=CHANGE_OPTIONS,
)
