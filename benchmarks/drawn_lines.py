"""Lines of random letters for conditions of LIKE and regular expressions, of which half match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

_GROUP_ROWS: Final = 65_536
_MATCHING: Final = " abx1y"
"""The end of every other text, which makes it match."""


class DrawnLines(NamedTuple):
    """How many different texts there are, of how many characters, drawn from which letters.

    With `numbers_below`, rows also have a number `n` from 0 on.
    """

    texts: int
    characters: int
    letters: str
    numbers_below: int | None = None

    def write(self, folder: Path, rows: int) -> None:
        """Write rows with a text in the column `line` as a Parquet file, the same in each run."""
        folder.mkdir()
        random = np.random.default_rng(7)
        letters = np.array(list(self.letters))
        drawn = ["".join(random.choice(letters, self.characters)) for _ in range(self.texts)]
        lines = pa.array([text + _MATCHING * (number % 2) for number, text in enumerate(drawn)])
        schema = pa.schema([("line", pa.string())])
        if self.numbers_below is not None:
            schema = schema.append(pa.field("n", pa.int64()))
        with pq.ParquetWriter(folder / "lines.parquet", schema) as file:
            for first in range(0, rows, _GROUP_ROWS):
                count = min(_GROUP_ROWS, rows - first)
                columns = [lines.take(pa.array(random.integers(0, self.texts, count)))]
                if self.numbers_below is not None:
                    columns.append(pa.array(random.integers(0, self.numbers_below, count)))
                file.write_table(pa.table(columns, schema=schema))
