"""The example queries: their scripts, their input as rows, and what they are to write."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.job.compilation import Compiled, compile_job
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.runtime.drivers.chunk_rows import rows_of_chunk
from fsql.runtime.drivers.local import CHUNK_ROWS
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.job.script import Script
    from fsql.runtime.ports import DeadLetter, Split

    Row = tuple[Value, ...]

QUERIES = Path(__file__).parents[2] / "queries"


@dataclass(frozen=True)
class Example:
    """A folder of `queries`."""

    name: str

    @property
    def folder(self) -> Path:
        return QUERIES / self.name

    @property
    def functions(self) -> tuple[Path, ...]:
        """Return the folder of the functions in Python, if there are some."""
        folder = self.folder / "functions"
        return (folder,) if folder.exists() else ()

    @cached_property
    def compiled(self) -> Compiled:
        return compile_job(self._script(self.folder / "query.sql"))

    @cached_property
    def splits(self) -> Mapping[int, Sequence[Split]]:
        return open_splits(self.compiled)

    @property
    def fronts(self) -> dict[int, int]:
        return {ordinal: len(splits) for ordinal, splits in self.splits.items()}

    @cached_property
    def inputs(self) -> dict[int, list[list[Row | DeadLetter]]]:
        """Return the rows of each split of each table, by its ordinal."""
        return {
            table.ordinal: [
                rows_of_split(split, table.columns) for split in self.splits[table.ordinal]
            ]
            for table in self.compiled.job.tables
        }

    @cached_property
    def expected(self) -> dict[str, str]:
        """Return the text of each file that the query is to write, by its name."""
        return {path.name: path.read_text() for path in sorted(self.folder.glob("expected/*"))}

    def script_in(self, folder: Path) -> Script:
        """Copy script and input to where the query may write; return the script with its functions."""
        return self._script(self.copy_to(folder))

    def _script(self, path: Path) -> Script:
        return replace(read_script(str(path), {}), functions=self.functions)

    def copy_to(self, folder: Path) -> Path:
        """Copy script and input to where the query may write; return the script."""
        shutil.copytree(self.folder / "input", folder / "input")
        return Path(shutil.copy(self.folder / "query.sql", folder))


def rows_of_split(split: Split, columns: Schema) -> list[Row | DeadLetter]:
    """Return all rows of a split that does not wait."""
    rows: list[Row | DeadLetter] = []
    reader = split.open()
    while (chunk := reader.read(CHUNK_ROWS)) is not None:
        assert isinstance(chunk, Chunk)
        rows += rows_of_chunk(chunk, columns)
    reader.close()
    return rows


NAMES = (
    "word_count",
    "inverted_index",
    "top_speeds",
    "bank_transfers",
    "nested_orders",
    "labels",
    "sessions",
    "moving_average",
    "last_minute_rule",
    "card_testing",
    "top_three_per_hour",
    "deduplication",
    "latest_value",
    "change_data",
    "changed_keys",
    "distinct_users",
    "weighted_prices",
    "event_windows",
    "page_views",
    "changing_dimension",
    "currency_at_the_time",
    "web_log",
    "adaptive",
    "csv_decimals",
    "left_join",
    "unpaid_orders",
    "sales_report",
)
EXAMPLES = {name: Example(name) for name in NAMES}
