"""Files of cases: queries that end with a semicolon, each below the comments that concern it.

`-- duckdb: TEXT` is the query for DuckDB where the same text means something else there, and a comment above
says what.  `-- refused: CODE` is the code of the error of a query that fsql refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = Path(__file__).parent
_DUCKDB: Final = "-- duckdb: "
_REFUSED: Final = "-- refused: "


@dataclass(frozen=True, slots=True)
class PublishedCase:
    """A query, and what it is compared with."""

    name: str
    """The file and the line."""
    query: str
    duckdb: str
    """The query for DuckDB."""
    refused: str | None = None
    """The code of the error that refuses the query."""

    @property
    def file(self) -> str:
        """Return the name of the file, or of the form that is generated."""
        return self.name.partition(":")[0]


def published_cases(folder: Path = FOLDER) -> Iterator[PublishedCase]:
    """Yield the cases of all files of a folder."""
    for path in sorted(folder.glob("*.sql")):
        yield from _cases(path)


def _cases(path: Path) -> Iterator[PublishedCase]:
    duckdb, refused, lines = None, None, list[str]()
    first = 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(_DUCKDB):
            duckdb = line.removeprefix(_DUCKDB)
        elif line.startswith(_REFUSED):
            refused = line.removeprefix(_REFUSED)
        elif not line.startswith("--"):
            first = first if lines else number
            lines.append(line)
        if line.endswith(";") and lines:
            query = "\n".join(lines).removesuffix(";")
            yield PublishedCase(f"{path.stem}:{first}", query, duckdb or query, refused)
            duckdb, refused, lines = None, None, []
    assert not lines, f"{path}: the last query has no semicolon"
