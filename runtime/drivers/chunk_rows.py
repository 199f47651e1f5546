"""The rows of a chunk as tuples of Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.arrow_types import from_arrow

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.runtime.ports import Chunk, DeadLetter

    Values = tuple[Value, ...]


def rows_of_chunk(chunk: Chunk, columns: Schema) -> list[Values | DeadLetter]:
    """Return the rows of a chunk as tuples, with malformed rows at their positions.

    If a chunk has arrival times, the arrival time follows the values of each row.
    """
    if not len(chunk.rows) and not chunk.dead_letters:
        return []
    values = [
        from_arrow(array, column.type) for array, column in zip(chunk.columns, columns, strict=True)
    ]
    if chunk.arrivals is not None:
        values.append(chunk.arrivals.tolist())
    by_number: dict[int, Values | DeadLetter] = dict(
        zip(chunk.rows.tolist(), zip(*values, strict=True), strict=True)
    )
    by_number |= {dead_letter.row: dead_letter for dead_letter in chunk.dead_letters}
    return [by_number[number] for number in sorted(by_number)]
