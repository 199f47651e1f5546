"""The table of casts in docs/language.md, made of the rules of the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.insert import converts
from fsql.compiler.functions.casts import cast_fallible, castable
from fsql.compiler.functions.coercion import coercible, passes
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MONTHS,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    decimal_type,
    instants,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.sqltypes import SqlType

TITLE: Final = "### Casts"
GROUPS: Final[Mapping[str, Sequence[SqlType]]] = {
    "BOOLEAN": (BOOLEAN,),
    "integers": (TINYINT, SMALLINT, INT, BIGINT, UTINYINT, USMALLINT, UINT, UBIGINT),
    "DECIMAL": (decimal_type(10, 2), decimal_type(38, 10)),
    "FLOAT, DOUBLE": (FLOAT, DOUBLE),
    "STRING": (STRING,),
    "BYTES": (BYTES,),
    "DATE": (DATE,),
    "TIME": (TIME,),
    "TIMESTAMP": (TIMESTAMP,),
    "TIMESTAMP_LTZ": (instants("Europe/Oslo"),),
    "intervals": (INTERVAL, MONTHS),
}
"""Types that have a row and a column together; a cell says all that is true of some pair."""


def cast_table() -> str:
    """Return the table, with a line for each type that is cast."""
    lines = [f"| from, to | {' | '.join(GROUPS)} |", "|---" * (len(GROUPS) + 1) + "|"]
    for name, sources in GROUPS.items():
        cells = [_cell(sources, targets) for targets in GROUPS.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(sources: Sequence[SqlType], targets: Sequence[SqlType]) -> str:
    pairs = [(source, target) for source in sources for target in targets if source != target]
    marks = sorted({_mark(*pair) for pair in pairs} - {""}, key=("= = ! i i! c c!").find)
    return ", ".join(f"`{mark}`" for mark in marks)


def _mark(source: SqlType, target: SqlType) -> str:
    if not castable(source, target):
        return ""
    fails = "!" if cast_fallible(source, target) else ""
    if coercible(source, target) or passes(source, target):
        return f"={fails}"
    return f"{'i' if converts(source, target) else 'c'}{fails}"
