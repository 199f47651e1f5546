"""The options of connector `file`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    FORMAT,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Layout,
    Option,
    OptionKind,
)

CONNECTOR: Final = Connector(
    "file",
    "a file, or a directory whose files are one split each, in the order of their names",
    reads=True,
    writes=True,
    options=(
        Option("path", OptionKind.TEXT, "file or directory", required=True),
        FORMAT,
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *CHANGE_OPTIONS,
    ),
    layouts=(Layout.LINES,),
    notes="""\
A relative path starts from the script's directory.  Of a directory only its own regular files are read,
and none that is hidden.

A run without a state directory empties the file that it writes.  A job that keeps state notes beside its
state how much of the file belongs to which position: rows that were written and not yet noted come again
as the same bytes in the same place.
""",
)
