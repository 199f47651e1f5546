"""The results of SHOW, DESCRIBE and EXPLAIN in a script, which are printed before the job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.logical import Job


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of what a script declares: names of columns, and rows of texts; None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A query to show at a stage of compilation, as the job of it alone; the query does not run."""

    stage: str
    job: Job


Inspection = Listing | Explanation
