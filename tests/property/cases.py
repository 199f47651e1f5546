"""A case: what a seed stands for.  A script, its input, and how to print both."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from fsql.runtime.ports import Reject
from fsql.tests.property.inputs import random_splits
from fsql.tests.property.scripts import random_script

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits


@dataclass(frozen=True)
class Case:
    """A script, and the splits of each of its source tables by the table's name."""

    script: str
    tables: dict[str, Splits]

    def __str__(self) -> str:
        """Return the case to be read."""
        lines = [self.script, ""]
        for name, splits in self.tables.items():
            for number, split in enumerate(splits):
                lines.append(f"-- {name}, split {number}")
                lines += [f"--     {_row(row)}" for row in split]
        return "\n".join(lines)


def _row(row: object) -> str:
    return f"malformed: {row.code}" if isinstance(row, Reject) else repr(row)


def random_case(random: Random) -> Case:
    """Return a script with input."""
    writer = random_script(random)
    awkward, malformed = random.choice((0.0, 0.05, 0.2)), random.choice((0.0, 0.0, 0.04))
    tables = {
        table.name: random_splits(
            random, table.columns, int(table.rows), awkward=awkward, malformed=malformed
        )
        for table in writer.tables
    }
    return Case("\n".join(writer.statements), tables)


def case_of_seed(seed: int) -> Case:
    """Return the case of a seed."""
    return random_case(Random(seed))
