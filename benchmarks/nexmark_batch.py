"""What the batches of the Nexmark queries read: the same Parquet files, in DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.nexmark_events import SIDE_INPUT
from fsql.connectors.nexmark.events import KINDS

if TYPE_CHECKING:
    from pathlib import Path

_ROWS: Final = 10**9
_TIME: Final = "EPOCH_US(MAX(dateTime) OVER (ORDER BY file_row_number ROWS UNBOUNDED PRECEDING))"


def open_events(connection: Any, directory: Path) -> None:  # noqa: ANN401 - DuckDB may not be there
    """Create a view of each file.

    Their column `place` orders rows as a streaming query meets them: by the greatest time so far in the file,
    the table, and the row.
    """
    for ordinal, kind in enumerate(KINDS):
        place = (
            f"({_TIME}::HUGEINT * {len(KINDS)} + {ordinal}) * {_ROWS} + file_row_number AS place"
        )
        rows = connection.read_parquet(str(directory / f"{kind}.parquet"), file_row_number=True)
        rows.project(f"* EXCLUDE file_row_number, {place}").create_view(kind)
    connection.read_csv(str(directory / f"{SIDE_INPUT}.csv")).create_view(SIDE_INPUT)
