"""The options of connector `results`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import CHANGE_OPTIONS, Connector

CONNECTOR: Final = Connector(
    "results",
    "a result that running jobs are asked for: `fsql query`, `fsql serve`",
    reads=False,
    writes=True,
    options=CHANGE_OPTIONS,
    notes="""\
The changes are kept in the state directory of the job, so the job needs one.
See [queries on running jobs](queries_on_jobs.md).
""",
    rows_are_messages=True,
    tells_bounds=True,
)
