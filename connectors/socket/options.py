"""The options of connector `socket`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    FORMAT,
    READ_CHANGE_OPTIONS,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    InputEnd,
    Layout,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

CONNECTOR: Final = Connector(
    "socket",
    "lines received on an address of this machine, one connection at a time",
    reads=True,
    writes=False,
    end=InputEnd(ends=False, key="ends", value="connection"),
    options=(
        Option("address", OptionKind.TEXT, "`127.0.0.1:PORT`", required=True),
        FORMAT,
        Option(
            "ends",
            OptionKind.CHOICE,
            "whether the input ends with the first connection",
            ("never", "connection"),
            default="never",
        ),
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *READ_CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    layouts=(Layout.LINES,),
    logs_arrival=True,
    notes="""\
A line that a connection does not finish ends with the connection.  Of several connections, the one that sends
first is read until it ends; those that send nothing keep no other waiting, and the oldest of more than 64 of
them is closed.  A job that keeps state writes what
comes to its state directory first, since a socket cannot be read again.
""",
)
