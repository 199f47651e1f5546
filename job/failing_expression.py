"""Where in its script a job failed: the expression, or all expressions that may have failed.

Error rows have only a code, so that the output does not depend on the plan or the engine.  The failed
expression is found afterwards, from the script and the row, which is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.failing import FailingPart, failing_part, parts_that_may_fail
from fsql.compiler.diagnostics import FsqlError, Label
from fsql.compiler.diagnostics.codes import CODES
from fsql.connectors.memory.source import GrowingSplit, MemorySplit
from fsql.connectors.opening import open_source
from fsql.job.sources import source_surroundings
from fsql.runtime.batch import PUNCTUATION, origin_parts
from fsql.runtime.drivers.chunk_rows import rows_of_chunk
from fsql.runtime.ports import Chunk, DeadLetter

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.logical import Table
    from fsql.job.compilation import Compiled
    from fsql.runtime.dataflow.barrier import Stopped

READ_AGAIN_ROWS_MAX: Final = 1_000_000
"""Later rows are not read again, because that would take seconds."""
_PLACES_MAX: Final = 8
_CHUNK_ROWS: Final = 4_096


def failing_labels(compiled: Compiled, stopped: Stopped) -> list[Label]:
    """Return a label on the failed expression; if it is unknown, on all candidates, if they are few."""
    found = _failing_part(compiled, stopped)
    spans = [] if found is None else list(compiled.source_spans.of(found.part))
    said = "" if found is None else str(found.failure)
    if not spans:
        parts = parts_that_may_fail(compiled.bound, stopped.code)
        each = [compiled.source_spans.of(part) for part in parts]
        if not all(each):
            return []
        spans = [span for of_part in each for span in of_part]
        said = ""
    if len(spans) > _PLACES_MAX:
        return []
    spans = sorted(dict.fromkeys(spans), key=lambda span: (span.start, span.end))
    if len(spans) > 1:
        first = Label(spans[0], f"{said or 'this failed'}, here or at another label")
        return [first, *map(Label, spans[1:])]
    return [Label(span, "" if said == CODES[f"E{stopped.code}"].title else said) for span in spans]


def _failing_part(compiled: Compiled, stopped: Stopped) -> FailingPart | None:
    if stopped.root.origin == PUNCTUATION:
        return None
    ordinal, split, number = origin_parts(stopped.root.origin)
    # The job as bound: rules remove unused columns.
    table = next(table for table in compiled.bound.tables if table.ordinal == ordinal)
    row = _row(compiled, table, split, number)
    if row is None:
        return None
    return failing_part(compiled.bound, table, row, stopped.code, time=stopped.root.time)


def _row(compiled: Compiled, table: Table, split: int, number: int) -> tuple[Value, ...] | None:
    """Return a row of a file, read again; None if it cannot be read."""
    if number >= READ_AGAIN_ROWS_MAX:
        return None
    try:
        source = open_source(table, source_surroundings(compiled))[split]
        if isinstance(source, GrowingSplit):
            kept = source.read_again(number)
            return None if kept is None else _good(rows_of_chunk(kept, table.columns)[0])
        if getattr(source, "path", None) is None and not isinstance(source, MemorySplit):
            return None
        reader = source.open()
        try:
            while isinstance(chunk := reader.read(_CHUNK_ROWS), Chunk):
                rows = rows_of_chunk(chunk, table.columns)
                if number < len(rows):
                    return _good(rows[number])
                number -= len(rows)
        finally:
            reader.close()
    except (FsqlError, IndexError):
        # The file has changed; the error is reported without the expression.
        return None
    return None


def _good(row: tuple[Value, ...] | DeadLetter) -> tuple[Value, ...] | None:
    return None if isinstance(row, DeadLetter) else row
