"""Analyses of plans: window bounds and keys.

A **key** of a plan is a set of columns in which no two of its rows are equal, after each group of changes
(NULL equals NULL).  A plan can have several: the start of a window determines its end.
Both analyses are computed on demand.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Cast, ColumnRef, Expression
from fsql.compiler.logical import (
    Aggregate,
    AssignWindows,
    Filter,
    Join,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Union,
    Unnest,
    WindowAggregate,
    operators,
)
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEYS_MAX: Final = 16
"""The number of keys can be exponential; the analysis keeps this many of the least."""


class Bound(enum.Enum):
    """Which bound of a window a column holds."""

    START = "window_start"
    END = "window_end"
    TIME = "window_time"


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A column with a bound of the windows that `windows` assigned.

    It is `open` if the rows are those within the window, not the results of the closed window.
    """

    windows: AssignWindows
    bound: Bound
    open: bool


WindowColumns = tuple[WindowColumn | None, ...]


def window_columns(plan: Plan) -> WindowColumns:
    """Return, for each column of `plan`, the window's bound that it holds; None for all others."""
    return _window_columns_of_all(plan)[plan]


def _window_columns_of_all(plan: Plan) -> dict[Plan, WindowColumns]:
    """Return the window columns of `plan` and of all operators below it."""
    found: dict[Plan, WindowColumns] = {}
    for node in operators(plan):
        found[node] = _window_columns(node, [found[below] for below in node.inputs])
    return found


def _window_columns(plan: Plan, below: Sequence[WindowColumns]) -> WindowColumns:
    match plan:
        case Filter() | Unnest() | LateralAggregate() | Over() | Join():
            found = tuple(column for columns in below for column in columns)
        case AssignWindows():
            found = below[0] + tuple(WindowColumn(plan, bound, open=True) for bound in Bound)
        case Project(expressions=expressions):
            found = tuple(_passed_on(expression, below[0]) for expression in expressions)
        case Aggregate() | WindowAggregate():
            keys = (_passed_on(key, below[0]) for key in plan.keys)
            found = tuple(key and replace(key, open=False) for key in keys)
        case Union():
            first, *others = below
            found = tuple(
                column if all(other[i] == column for other in others) else None
                for i, column in enumerate(first)
            )
        case _:
            found = ()
    # Columns that an operator appends or computes are not bounds.
    return found + (None,) * (len(plan.schema) - len(found))


def _passed_on(expression: Expression, below: WindowColumns) -> WindowColumn | None:
    return below[expression.index] if isinstance(expression, ColumnRef) else None


Key = tuple[int, ...]


def derived_keys(plan: Plan) -> tuple[Key, ...]:
    """Return keys of `plan`, none of which contains another, the least first.

    Keys with fewer columns come first, then those further left.  The empty key means at most one row.
    """
    windows = _window_columns_of_all(plan)
    found: dict[Plan, tuple[Key, ...]] = {}
    for node in operators(plan):
        found[node] = _least(_keys(node, [found[below] for below in node.inputs], windows[node]))
    return found[plan]


def _least(keys: Iterable[frozenset[int]]) -> tuple[Key, ...]:
    """Return the keys that contain no other one, the least first."""
    kept: list[frozenset[int]] = []
    for key in sorted(keys, key=lambda key: (len(key), sorted(key))):
        if not any(other <= key for other in kept):
            kept.append(key)
    return tuple(tuple(sorted(key)) for key in kept[:KEYS_MAX])


def _keys(
    plan: Plan, below: Sequence[Sequence[Key]], windows: WindowColumns
) -> list[frozenset[int]]:
    match plan:
        case Aggregate() | WindowAggregate():
            return _keys_of_groups(plan, windows)
        case Filter() | Over():
            return [frozenset(key) for key in below[0]]
        case Project():
            return _keys_of_projection(plan, below[0])
        case Unnest() | LateralAggregate() | AssignWindows():
            return _keys_of_parts(plan, below[0])
        case Join():
            return _keys_of_join(plan, *below)
        case _:
            # A table may have the same row twice, and so may UNION ALL.
            return []


def _keys_of_groups(
    plan: Aggregate | WindowAggregate, windows: WindowColumns
) -> list[frozenset[int]]:
    """Return the keys of the groups; of the bounds of one window, one is enough."""
    by_windows: dict[AssignWindows, list[int]] = {}
    others: list[int] = []
    for place, column in enumerate(windows[: len(plan.keys)]):
        if column is None:
            others.append(place)
        else:
            by_windows.setdefault(column.windows, []).append(place)
    choices = product(*by_windows.values())
    return [frozenset((*others, *chosen)) for chosen in choices]


def _keys_of_projection(plan: Project, below: Sequence[Key]) -> list[frozenset[int]]:
    """Return the keys of which every column is kept, as it is or cast to a wider type."""
    places: dict[int, int] = {}
    for place, expression in enumerate(plan.expressions):
        source = _injective_source(expression)
        if source is not None:
            places.setdefault(source, place)
    return [
        frozenset(places[column] for column in key)
        for key in below
        if all(column in places for column in key)
    ]


def _injective_source(expression: Expression) -> int | None:
    """Return the column of which the expression is an injective function."""
    inner = expression
    if isinstance(expression, Cast):
        source = expression.argument.type
        if source.kind is Kind.NULL or (source.kind is Kind.INT and expression.type.numeric):
            inner = expression.argument
    return inner.index if isinstance(inner, ColumnRef) else None


def _keys_of_parts(
    plan: Unnest | LateralAggregate | AssignWindows, below: Sequence[Key]
) -> list[frozenset[int]]:
    """Rows derived from one row can differ in the appended columns only."""
    width = len(plan.input.schema)
    match plan:
        case Unnest(ordinality_name=None):
            return []
        case Unnest():
            appended: list[Key] = [(width + 1,)]
        case LateralAggregate():
            appended = [tuple(range(width, width + len(plan.keys)))]
        case AssignWindows():
            appended = [(width,), (width + 1,), (width + 2,)]
    return [frozenset((*key, *more)) for key in below for more in appended]


def _keys_of_join(plan: Join, left: Sequence[Key], right: Sequence[Key]) -> list[frozenset[int]]:
    """A pair is identified by both rows; by one alone if it joins with at most one other."""
    width = len(plan.left.schema)
    shifted = [tuple(width + column for column in key) for key in right]
    pairs = [frozenset((*one, *other)) for one in left for other in shifted]
    if _equated(plan.right_keys, right):
        pairs.extend(frozenset(key) for key in left)
    if _equated(plan.left_keys, left):
        pairs.extend(frozenset(key) for key in shifted)
    return pairs


def _equated(join_keys: Sequence[Expression], keys: Sequence[Key]) -> bool:
    """Return whether the join's equalities fix a whole key of the side."""
    fixed = {_injective_source(expression) for expression in join_keys}
    return any(set(key) <= fixed for key in keys)
