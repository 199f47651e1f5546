"""The ports between the dataflow and its environment: what a source returns, what a sink receives.

The dataflow uses nothing else of the environment.  Clocks, files and standard streams are used through these
protocols; `fsql.connectors` and `fsql.runtime.drivers` implement them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import ROWS_MAX
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

OPERATIONS = ("+I", "-U", "+U", "-D")
"""The labels of changes; a change is carried as its index in this tuple."""
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(len(OPERATIONS))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A malformed row of a source.

    `row` is its number in the split, `line` its line from 1 and `byte` its offset in the file (-1 where
    there is none), `code` the number of the error (511 for FSQL-E511), `field` the path of the field
    ("" for the row as a whole), `reason` a sentence fragment, `excerpt` up to 256 escaped characters.  If the
    split consists of several files, `file` is the one with this line and byte.
    """

    row: int
    line: int
    byte: int
    code: int
    field: str
    reason: str
    excerpt: str
    file: str = ""


VALUE_UNAVAILABLE: Final = 527
"""The error of a change that lacks values which no earlier row has: a malformed row, found by an operator."""


def unavailable_row(row: int) -> DeadLetter:
    """Return a change, row number `row` of its split, that lacks values which no earlier row has."""
    reason = "a value is left out of the event, and there is no earlier row of its key that has it"
    return DeadLetter(row, -1, -1, VALUE_UNAVAILABLE, "", reason, "")


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row begins: line (from 1) and byte; `file` is "" unless its split consists of several files."""

    line: int
    byte: int
    file: str = ""


FOLLOWING_ROWS: Final = 16
"""How many rows after it decide whether a row of a table at rest is far ahead (`max_ahead`)."""


class FollowingRows(NamedTuple):
    """How far ahead a row at rest may be, and the next `FOLLOWING_ROWS` rows after a chunk, in parts."""

    max_ahead_us: int
    parts: Sequence[Sequence[pa.Array]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a split, decoded: the table's physical columns, in order.

    `rows` are the row numbers, ascending; numbers that are missing among them belong to `dead_letters`.
    `bytes_read` is the size of the input of the chunk, `unknown_fields` the number of fields that are not
    columns, `nulled_fields` the number of malformed values that were replaced by NULL.

    Rows with an event time after `time_at_most`, in microseconds since 1970, are malformed.  All rows after
    the chunk count as at least `time_at_least`: a silent source returns it with a chunk without rows.
    `arrivals` are the times at which the rows came, where that is the table's time.  With `following`, rows
    that are far ahead of the rows around them are malformed.
    """

    columns: Sequence[pa.Array]
    rows: NDArray[np.int64]
    dead_letters: Sequence[DeadLetter]
    bytes_read: int
    unknown_fields: int = 0
    time_at_most: int | None = None
    time_at_least: int | None = None
    arrivals: NDArray[np.int64] | None = None
    nulled_fields: int = 0
    following: FollowingRows | None = None

    def check_row_numbers(self) -> None:
        """Check that every row has a number that its origin has room for.

        Raises:
            FsqlError: E539.
        """
        last = int(self.rows[-1]) if len(self.rows) else -1
        if (
            max(last, max((dead_letter.row for dead_letter in self.dead_letters), default=-1))
            >= ROWS_MAX
        ):
            message = f"a split has more than {ROWS_MAX:,} rows"
            helps = ("start the job again, with an empty state directory and new input",)
            raise FsqlError([Diagnostic("E539", message, helps=helps)])


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to read now; a live source can be read again after `seconds`."""

    seconds: float


class SourceOffset(NamedTuple):
    """Where a reader stands in its split: the row and line that come next, and where they begin.

    `content` is a hash of the last bytes of the split before the offset, "" if a split has none.  With it, a
    split that was replaced is not mistaken for the one that was read.
    """

    row: int
    line: int
    byte: int
    content: str = ""


class SplitReader(Protocol):
    """Reads one split from its beginning to its end."""

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return up to about `rows_max` further rows, a Wait, or None at the end of the split.

        How the rows are cut into chunks may depend on anything; the rows may not.
        """

    def bytes_passed(self) -> int:
        """Return how many bytes of its file the reader has read; 0 if it reads no file.

        It is for monitoring.
        """

    def source_offset(self) -> SourceOffset:
        """Return where the reader stands: after what `read` has returned.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """

    def close(self) -> None:
        """Release what the reader holds; it is not used afterwards."""


class Split(Protocol):
    """A part of a source that has an order of its own: a file, a stream, a generator."""

    @property
    def name(self) -> str:
        """Return the name; splits are numbered in the order of their names."""

    def open(self, source_offset: SourceOffset | None = None) -> SplitReader:
        """Return a reader at the first row, or at the source offset of another reader of the split.

        Raises:
            FsqlError: E531, if the split cannot be opened; E536, if the data before the offset is not
                what was read.
        """


@runtime_checkable
class LocatesRows(Protocol):
    """A split or reader that knows where the rows are that were read last."""

    def place_of(self, row: int) -> RowPlace | None:
        """Return where a row begins, by its number; None if that is not known.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """


@runtime_checkable
class ReadsOnce(Protocol):
    """A reader of input of which it may have received more than it has returned as rows."""

    def bytes_lost(self) -> int:
        """Return how many bytes were received that are in no row and cannot be read again.

        Nothing more is read after this call.
        """


@dataclass(frozen=True, slots=True)
class Release:
    """Rows that a barrier releases to one sink: final, in order, whole groups.

    `operations` are indexes into `OPERATIONS`, or None for an append-only sink.  `time` and `origin`
    are the rows' root positions, for measurements; a sink writes columns and operations only.
    If the rows are `encoded`, the first column has their lines, with the operations (`row_encoding`).  If
    they are also sharded, the second column has the numbers of their shards until they are split.
    """

    columns: Sequence[pa.Array]
    operations: NDArray[np.int8] | None
    time: NDArray[np.int64]
    origin: NDArray[np.int64]
    encoded: bool = False
