"""The options of connector `stdout`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import CHANGE_OPTIONS, FORMAT, Connector, Layout

CONNECTOR: Final = Connector(
    "stdout",
    "standard output; a bare SELECT prints there",
    reads=False,
    writes=True,
    options=(FORMAT, *CHANGE_OPTIONS),
    layouts=(Layout.LINES,),
    notes="""\
Rows are written exactly once as long as the process that owns standard output lives.
One table of a job can write it: the order of lines of several would not be defined.
""",
)
