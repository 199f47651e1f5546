"""The options of connector `stdin`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    ALWAYS_ENDS,
    FORMAT,
    READ_CHANGE_OPTIONS,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Layout,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

CONNECTOR: Final = Connector(
    "stdin",
    "standard input",
    reads=True,
    writes=False,
    end=ALWAYS_ENDS,
    options=(
        FORMAT,
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *READ_CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    layouts=(Layout.LINES,),
    logs_arrival=True,
    notes="""\
A job that keeps state first writes its input to the state directory, since standard input cannot be read
again.
""",
)
