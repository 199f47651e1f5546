"""All codes that fsql reports: their meanings, causes, remedies, and minimal examples.

`docs/errors.md` and `fsql explain-error CODE` are made from this table, and a test fails if a code has no
`.test` case.  The meaning of a code never changes; a code that is no longer reported is removed.

| codes | about                                  | codes | about                              |
|-------|----------------------------------------|-------|------------------------------------|
| E1xx  | the form of the text                   | E5xx  | data: a row that fails or is malformed |
| E2xx  | names and types                        | E6xx  | the cluster                        |
| E3xx  | meaning: unbounded, not supported      | Wxxx  | warnings                           |
| E4xx  | functions and determinism              | I9xx  | bugs of fsql itself                |
| E7xx  | projects: settings and tests           |       |                                    |
"""

from __future__ import annotations

from typing import Final

from fsql.compiler.diagnostics.codes_cluster import CLUSTER_ROWS
from fsql.compiler.diagnostics.codes_data import DATA_ROWS
from fsql.compiler.diagnostics.codes_meaning import MEANING_ROWS
from fsql.compiler.diagnostics.codes_names import NAME_ROWS
from fsql.compiler.diagnostics.codes_project import PROJECT_ROWS
from fsql.compiler.diagnostics.codes_syntax import SYNTAX_ROWS
from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A row of the table; `example` is the smallest query or input line for which the code is reported."""

    code: str
    title: str
    cause: str
    fix: str
    example: str


_ROWS: Final = (
    *(Code(*row) for row in (*SYNTAX_ROWS, *NAME_ROWS, *MEANING_ROWS, *DATA_ROWS, *CLUSTER_ROWS)),
    *(Code(*row) for row in PROJECT_ROWS),
    Code(
        "I901",
        "internal error",
        "fsql detected a state that should be impossible: a bug.",
        "Please report it with the script and the report that fsql printed.",
        "-- none is known",
    ),
    Code(
        "I902",
        "an invariant of the protocol does not hold",
        "A check that runs in every job has failed, for example because a message arrived below a position "
        "that had been passed. Rows released before are correct. The epoch ends; a job on several processes "
        "continues at its newest snapshot. After three such epochs in which nothing was stored, it ends with "
        "this error.",
        "Please report it with the script and the message.",
        "-- none is known",
    ),
)

CODES: Final = {row.code: row for row in _ROWS}
"""The table by code, such as "E101"; messages show `FSQL-E101`."""
assert len(CODES) == len(_ROWS), "a code has two rows"
