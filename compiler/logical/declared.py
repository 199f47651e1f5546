"""Tables as they are declared: tables that are read, and tables that are written."""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import OVERWRITE
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column, Schema
from fsql.compiler.sqltypes import TIMESTAMP

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression


TABLES_MAX: Final = 128
"""The maximum number of tables of a script that can be read: those declared first."""
SPLITS_MAX: Final = 1 << 16
"""The maximum number of splits of a table."""
ROWS_MAX: Final = 1 << 40
"""The maximum number of rows of a split."""


OLD_ROW: Final = "-U"
"""The kind of a change that is the row before an update; the row after it follows in its split."""
ROW_TIME: Final = Column("proctime", TIMESTAMP, nullable=False, time_attribute=True)
"""The column with the time of each row's root position, which fronts add."""


class TimeKind(enum.Enum):
    """The meaning of the time of root positions for the rows of a source."""

    ARRIVAL = "arrival"
    EVENT = "event"
    OFFSET = "offset"
    START = "start"


@dataclass(frozen=True, eq=False)
class Table(Node):
    """A source table as declared: its physical columns, its connector, and its time.

    With `row_time`, its rows have one more column, `ROW_TIME`.

    With `replaced`, the first column is the kind of a change.  After the columns each row has those of the
    last row before it in its split, but for the kind, if that is `OLD_ROW`, else NULLs: an update is two
    rows, of which the second one takes the first one's place.

    `event_time` is an expression over the physical columns (possibly that of a computed column);
    it is present exactly if `time` is EVENT.  The watermark at a position with time T is
    `floor((T - delay_us) / grain_us) * grain_us`.  `ordinal` numbers the tables of the script in the
    order of their declaration: it is the source part of an origin, and less than `TABLES_MAX`.
    """

    name: str
    ordinal: int
    columns: Schema
    options: tuple[tuple[str, str], ...]
    time: TimeKind
    event_time: Expression | None = None
    delay_us: int = 0
    grain_us: int = 1_000
    row_time: bool = False
    replaced: bool = False

    @property
    def schema(self) -> Schema:
        """Return the columns of the rows that fronts emit."""
        return (*self.columns, *self.replaced_columns, *((ROW_TIME,) if self.row_time else ()))

    @property
    def replaced_columns(self) -> Schema:
        """Return the columns of the row before each row that fronts add."""
        if not self.replaced:
            return ()
        return tuple(
            replace(each, name=f"before.{each.name}", nullable=True, time_attribute=False)
            for each in self.columns[1:]
        )

    @property
    def stops_on_error(self) -> bool:
        """Return whether the job stops at a malformed row."""
        return dict(self.options).get("on_error", "stop") == "stop"


class Changes(enum.Enum):
    """The changes that a sink receives (language.md, "what a sink is given")."""

    APPEND = "append"
    UPSERT = "upsert"
    RETRACT = "retract"


@dataclass(frozen=True, eq=False)
class SinkTable(Node):
    """A table that is written: its columns, connector options, and how changes are written.

    `key` has the indexes of the columns by which a removed and an added row of one group are versions of the
    same row (`-U`/`+U`): the PRIMARY KEY for UPSERT, else the derived key of the query (None: there is none).
    It also orders the changes of a group.
    """

    name: str
    columns: Schema
    options: tuple[tuple[str, str], ...]
    changes: Changes
    key: tuple[int, ...] | None
    operation_column: str = "op"

    @property
    def shards(self) -> int | None:
        """Return the number of shards to which the table is written, None if it is not sharded."""
        shards = dict(self.options).get("shards")
        return None if shards is None else int(shards)

    @property
    def overwrites(self) -> bool:
        """Return whether a new job replaces what the table has: INSERT OVERWRITE."""
        return OVERWRITE in dict(self.options)
