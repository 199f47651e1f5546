"""The options of connector `tcp`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    FORMAT,
    Connector,
    Effect,
    Layout,
    Option,
    OptionKind,
)

CONNECTOR: Final = Connector(
    "tcp",
    "a consumer that listens on this machine, such as `fsql consume`;"
    " [its protocol](protocols/tcp_consumer.md)",
    reads=False,
    writes=True,
    options=(
        Option("address", OptionKind.TEXT, "`127.0.0.1:PORT`", required=True),
        Option(
            "key",
            OptionKind.TEXT,
            "file of the key that job and consumer share; the user's own unless given",
            effect=Effect.PACE,
        ),
        FORMAT,
        *CHANGE_OPTIONS,
    ),
    layouts=(Layout.LINES,),
)
