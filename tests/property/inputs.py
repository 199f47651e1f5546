"""Random input for a script's tables: splits of rows, some late, some malformed, times that meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.ports import DeadLetter
from fsql.tests.property.sql_expressions import LETTERS
from fsql.tests.property.values import INTEGERS, NOON, SECOND, random_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.expression import Value
    from fsql.tests.property.sql_expressions import ColumnText

    Row = tuple[Value, ...] | DeadLetter
    Splits = list[list[Row]]

KEYS: Final[dict[str, tuple[Value, ...]]] = {
    "S": ("a", "b", "a", "c", None),
    "B": (1, 2, 1, 3, None),
}
OPERATIONS: Final = ("+I", "+U", "+U", "-D", "-U", None)
REMOVING: Final = ("-D", "-U", "DELETE", "UPDATE_BEFORE")
ADDING: Final = ("+I", "+U", "INSERT", "UPDATE_AFTER")
MALFORMED: Final = (511, 512, 513, 519)


def random_splits(
    random: Random,
    columns: Sequence[ColumnText],
    rows: int,
    *,
    awkward: float = 0.0,
    malformed: float = 0.0,
    late: float = 0.15,
) -> Splits:
    """Return `rows` rows in one to four splits; `awkward`, `malformed`, `late` are probabilities."""
    splits: Splits = [[] for _ in range(random.choice((1, 1, 2, 3, 4)))]
    clocks = [random.choice((0, 0, 4, -20)) for _ in splits]
    there: list[list[tuple[Value, ...]]] = [[] for _ in splits]
    pace = random.choice(((0, 1), (0, 0, 1, 3), (0, 1, 2, 9)))
    for _ in range(rows):
        number = random.randrange(len(splits))
        split = splits[number]
        clocks[number] += random.choice(pace)
        behind = random.choice((2, 5, 9, 30)) if random.random() < late else 0
        if random.random() < malformed:
            code = random.choice(MALFORMED)
            split.append(DeadLetter(len(split), len(split) + 1, 0, code, "", "malformed", ""))
            continue
        at: int | None = NOON + (clocks[number] - behind) * SECOND // 2
        if malformed and random.random() < malformed / 3:
            at = None
        row = tuple(random_field(random, c, at, awkward=awkward) for c in columns)
        if columns[0].name == "kind":
            # Without event time the row may be malformed, so that it is not there.
            row = ("+I", *row[1:]) if at is None else change_of_rows(random, row, there[number])
        if columns[0].name == "op":
            row = (
                row[0],
                *(_not_null(c, value) for c, value in zip(columns[1:], row[1:], strict=True)),
            )
            if row[0] in REMOVING and there[number] and random.random() < 0.7:
                row = (row[0], *random.choice(there[number][-3:]))
            there[number].append(row[1:])
        split.append(row)
    return splits


def random_field(random: Random, column: ColumnText, at: int | None, *, awkward: float) -> Value:
    """Return a value of a column: keys from a few, numbers mostly small; `at` is the event time."""
    if column.name in {"op", "kind"}:
        return random.choice(OPERATIONS)
    if column.time:
        return at
    if column.name == "m":
        return None if at is None else at // 1000
    if column.name == "k":
        return random.choice(KEYS[column.letter])
    if column.letter == "B" and random.random() >= awkward:
        return random.choice(INTEGERS[:8])
    value = random_value(random, LETTERS[column.letter], awkward=awkward)
    finite = not isinstance(value, float) or abs(value) < float("inf")
    return value if finite else None


def change_of_rows(
    random: Random, change: tuple[Value, ...], there: list[tuple[Value, ...]]
) -> tuple[Value, ...]:
    """Return a change of a table without a key, which begins with its kind.

    A row that is removed is one of those that are `there`; few are not.
    """
    kind, *values = change
    if kind not in REMOVING:
        there.append(tuple(values))
    elif there:
        values = list(there.pop(random.randrange(len(there))))
    elif random.random() < 0.98:
        kind = ADDING[REMOVING.index(kind)]
    return (kind, *values)


def _not_null(column: ColumnText, value: Value) -> Value:
    """Return the value of a column that may be in the key of changes."""
    if value is not None or column.name not in {"k", "v"}:
        return value
    return 0 if column.letter == "B" else ""
