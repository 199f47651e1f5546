"""The options of connector `memory`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    READ_CHANGE_OPTIONS,
    TIME_OPTIONS,
    Connector,
    InputEnd,
    Option,
    OptionKind,
)

GROWING: Final = "growing"
"""The option of a table of a session, whose rows come while queries run."""

CONNECTOR: Final = Connector(
    "memory",
    "rows that a Python program hands to `fsql.sql`",
    reads=True,
    writes=False,
    end=InputEnd(ends=True, key=GROWING),
    options=(
        Option(
            GROWING,
            OptionKind.CHOICE,
            "given for a table of a session: its rows come while queries run",
            ("yes",),
        ),
        *TIME_OPTIONS,
        *READ_CHANGE_OPTIONS,
    ),
    library_only=True,
    notes="""\
For the library only: it declares such tables itself, from the columns of the data. Scripts cannot declare
them. The table is one split, and its rows are numbered in their order. A table of a session gets its rows
while queries run.
""",
)
