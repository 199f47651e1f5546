"""Joins with a time range between two relations of a random script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

    from fsql.tests.property.script_writer import RelationText, ScriptWriter
    from fsql.tests.property.sql_expressions import ColumnText

OUTER: Final = ("LEFT", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")


@dataclass(frozen=True)
class Joined:
    """A join: its kind, empty for an inner one, and whether the first times of both sides are in a range."""

    kind: str
    ranged: bool
    relations: tuple[RelationText, RelationText]

    @property
    def sides(self) -> int:
        """Return of how many sides columns come out."""
        return 1 if self.kind in {"LEFT SEMI", "LEFT ANTI"} else 2

    def keeps_time(self, side: str, column: ColumnText) -> bool:
        """Return whether a column of a side is still event time: of outer joins, that of the range."""
        if not self.kind:
            return column.time and self.ranged
        own = self.relations["lr".index(side)].times[0].name
        return self.kind.startswith("RIGHT" if side == "r" else "LEFT") and column.name == own

    def words(self, random: Random) -> tuple[str, str]:
        """Return what is between the relations, and before the conditions."""
        if self.kind:
            return f" {self.kind} JOIN ", "ON"
        return random.choice(((" JOIN ", "ON"), (" JOIN ", "ON"), (", ", "WHERE")))


def range_text(writer: ScriptWriter, left: str, right: str) -> str:
    """Return a condition that bounds the time between two rows."""
    low, high = writer.interval(0, 0.5, 1, 3), writer.interval(0.5, 1, 4, 10)
    return writer.random.choice(
        (
            f"{right} BETWEEN {left} - {low} AND {left} + {high}",
            f"{left} BETWEEN {right} AND {right} + {high}",
            f"{right} >= {left} AND {right} < {left} + {high}",
        )
    )
