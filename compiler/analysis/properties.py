"""Analyses of plans: window bounds and keys.

A **key** of a plan is a set of columns in which no two of its rows are equal, after each group of changes
(NULL equals NULL).  A plan can have several: the start of a window determines its end.
Both analyses are computed on demand.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.analysis.fixed_columns import fixed_columns_of_all
from fsql.compiler.analysis.injective import injective_source
from fsql.compiler.analysis.row_numbers import numbered_keys
from fsql.compiler.expression import Call, Cast, ColumnRef, Expression
from fsql.compiler.logical import (
    Aggregate,
    ApplyChanges,
    AssignEnd,
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    Join,
    JoinKind,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Rank,
    RankFunction,
    Union,
    Unnest,
    WindowAggregate,
    WindowBound,
    operators,
)
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Bound: TypeAlias = WindowBound
"""Which bound of a window a column holds."""

KEYS_MAX: Final = 16
"""The number of keys can be exponential; the analysis keeps this many, the least ones."""


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A column with a bound of the windows that `windows` assigned.

    It is `open` if the rows are those within the window, not the results of the closed window.
    """

    windows: AssignWindows | AssignSessions
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
        case Filter() | Unnest() | LateralAggregate() | Over() | CountLateRows():
            found = below[0]
        case Join(kind=kind, once=once):
            found = below[0] + (below[1] if kind.makes_pairs and not once else ())
        case AssignWindows(over_event_time=False):
            found = below[0]
        case AssignWindows() | AssignSessions():
            found = below[0] + tuple(WindowColumn(plan, bound, open=True) for bound in Bound)
        case Project(expressions=expressions):
            found = tuple(_window_column_of(expression, below[0]) for expression in expressions)
        case Aggregate() | WindowAggregate():
            keys = (_window_column_of(key, below[0]) for key in plan.keys)
            found = tuple(key and replace(key, open=False) for key in keys)
        case Rank():
            found = tuple(column and replace(column, open=False) for column in below[0])
        case Union():
            found = _window_columns_of_branches(below)
        case _:
            found = ()
    # Columns that an operator appends or computes are not bounds.
    return found + (None,) * (len(plan.schema) - len(found))


def _window_columns_of_branches(below: Sequence[WindowColumns]) -> WindowColumns:
    """Return the window columns of a UNION ALL: as in the first branch, where all have windows of one kind.

    The bounds of one window in the first branch are bounds of one window in each of the others.
    """
    found, *others = below
    for other in others:
        both = [
            (mine, theirs) if mine and theirs and _alike(mine, theirs) else None
            for mine, theirs in zip(found, other, strict=True)
        ]
        windows: dict[object, set[object]] = {}
        for mine, theirs in filter(None, both):
            windows.setdefault(mine.windows, set()).add(theirs.windows)
        found = tuple(
            replace(pair[0], open=pair[0].open or pair[1].open)
            if pair and len(windows[pair[0].windows]) == 1
            else None
            for pair in both
        )
    return found


def _alike(one: WindowColumn, other: WindowColumn) -> bool:
    """Return whether columns have the same bound of windows that are computed in the same way."""
    match one.windows, other.windows:
        case AssignWindows() as mine, AssignWindows() as theirs:
            kind = mine.size_us, mine.slide_us, mine.offset_us
            same = kind == (theirs.size_us, theirs.slide_us, theirs.offset_us)
        case mine, theirs:
            same = mine == theirs
    return same and one.bound is other.bound


def _window_column_of(expression: Expression, below: WindowColumns) -> WindowColumn | None:
    return below[expression.index] if isinstance(expression, ColumnRef) else None


Key = tuple[int, ...]


def derived_keys(plan: Plan) -> tuple[Key, ...]:
    """Return keys of `plan`, none of which contains another, the least first.

    Keys with fewer columns come first, then those further left.  The empty key means at most one row.
    """
    windows = _window_columns_of_all(plan)
    fixed = fixed_columns_of_all(plan)
    found: dict[Plan, tuple[Key, ...]] = {}
    for node in operators(plan):
        keys = _keys(node, [found[below] for below in node.inputs], windows[node])
        found[node] = _least(key - fixed[node] for key in keys)
    return found[plan]


def latest_keys(plan: Plan) -> tuple[Key, ...]:
    """Return keys for which `plan` has at most one row at a time, although ended groups may begin again."""
    match plan:
        case Aggregate(idle_us=int()):
            return (tuple(range(len(plan.keys) - 1)),)
        case Filter() | CountLateRows():
            return latest_keys(plan.input)
        case Project():
            return _least(_keys_of_projection(plan, latest_keys(plan.input)))
        case _:
            return ()


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
    found: list[frozenset[int]] = []
    match plan:
        case ApplyChanges(counted=True):
            pass  # A table without a key may have the same row twice.
        case ApplyChanges() | Aggregate() | WindowAggregate():
            found = _keys_of_groups(plan, windows)
        case Filter() | CountLateRows() | AssignEnd():
            found = [frozenset(key) for key in below[0]]
        case Over() | AssignSessions():
            found = [*map(frozenset, below[0]), *numbered_keys(plan)]
        case Rank():
            found = _keys_of_ranks(plan, below[0], windows)
        case Project():
            found = _keys_of_projection(plan, below[0])
        case Unnest() | LateralAggregate() | AssignWindows():
            found = _keys_of_parts(plan, below[0])
        case Join():
            found = _keys_of_join(plan, *below)
        case _:
            pass  # A table may have the same row twice, and so may UNION ALL.
    return found


def _keys_of_groups(
    plan: ApplyChanges | Aggregate | WindowAggregate, windows: WindowColumns
) -> list[frozenset[int]]:
    """Return the keys of the groups; one bound of a window is enough if it determines the window.

    Sessions of two keys can have one bound in common, and so can a session that is closed and a later one.
    """
    by_windows: dict[AssignWindows | AssignSessions, list[int]] = {}
    others: list[int] = []
    for index, column in enumerate(windows[: len(plan.keys)]):
        if column is None or not _known_by_one_bound(column.windows):
            others.append(index)
        else:
            by_windows.setdefault(column.windows, []).append(index)
    return [frozenset((*others, *chosen)) for chosen in product(*by_windows.values())]


def _known_by_one_bound(windows: AssignWindows | AssignSessions) -> bool:
    return isinstance(windows, AssignWindows) and windows.known_by_one_bound


def _keys_of_ranks(
    plan: Rank, below: Sequence[Key], windows: WindowColumns
) -> list[frozenset[int]]:
    """ROW_NUMBER gives each row of a partition another number."""
    keys = [frozenset(key) for key in below]
    partition = [injective_source(key) for key in plan.partition]
    if plan.function is not RankFunction.ROW_NUMBER:
        return keys
    numbered: list[int] = []
    if plan.limit is None or plan.limit - plan.skipped > 1:
        if plan.rank_name is None:
            return keys
        numbered = [len(plan.input.schema)]
    columns = [column for column in partition if column is not None]
    if len(columns) < len(partition):
        return keys
    by_windows: dict[AssignWindows | AssignSessions, list[int]] = {}
    others: list[int] = []
    for column in columns:
        bound = windows[column]
        if bound is None or not _known_by_one_bound(bound.windows):
            others.append(column)
        else:
            by_windows.setdefault(bound.windows, []).append(column)
    choices = product(*by_windows.values())
    return keys + [frozenset((*others, *numbered, *chosen)) for chosen in choices]


def _keys_of_projection(plan: Project, below: Sequence[Key]) -> list[frozenset[int]]:
    """Return the keys of which every column is kept, unchanged or cast to a type that has its values.

    A row keeps the columns that are its fields.
    """
    alone: dict[int, int] = {}
    in_rows: dict[int, int] = {}
    for index, expression in enumerate(plan.expressions):
        source = injective_source(expression, plan.input)
        if source is not None:
            alone.setdefault(source, index)
        for field in _fields(expression):
            source = injective_source(field, plan.input)
            if source is not None:
                in_rows.setdefault(source, index)
    kept = [
        frozenset(places[column] for column in key)
        for places in (in_rows | alone, alone | in_rows)
        for key in below
        if all(column in places for column in key)
    ]
    return [*kept, *_keys_of_merged_columns(plan)]


def _keys_of_merged_columns(plan: Project) -> list[frozenset[int]]:
    """Return the key COALESCE(a.k, b.k) of a FULL JOIN on a.k = b.k, where k is a key of both sides.

    A row has a partner where the other side has its key, so no two rows of the result have one.  A key that
    may be NULL is none: NULL is never equal.
    """
    join = plan.input
    if not isinstance(join, Join) or join.kind is not JoinKind.FULL or join.time_range is not None:
        return []
    width = len(join.left.schema)
    merged: list[int] = []
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        if not isinstance(left, ColumnRef) or not isinstance(right, ColumnRef):
            return []
        if join.left.schema[left.index].nullable or join.right.schema[right.index].nullable:
            return []
        sides = {left.index, width + right.index}
        found = [index for index, each in enumerate(plan.expressions) if _coalesced(each) == sides]
        merged += found[:1]
    whole = len(merged) == len(join.left_keys)
    covered = covers_key(join.left_keys, derived_keys(join.left)) and covers_key(
        join.right_keys, derived_keys(join.right)
    )
    return [frozenset(merged)] if whole and covered else []


def _coalesced(expression: Expression) -> set[int]:
    """Return the columns of which an expression is COALESCE; empty for other expressions."""
    if not isinstance(expression, Call) or expression.function != "coalesce":
        return set()
    columns = {each.index for each in expression.arguments if isinstance(each, ColumnRef)}
    return columns if len(columns) == len(expression.arguments) else set()


def _fields(expression: Expression) -> Sequence[Expression]:
    """Return the fields of a row that an expression makes of them, perhaps cast to one with other names."""
    made = expression.argument if isinstance(expression, Cast) else expression
    if not isinstance(made, Call) or made.function != "row" or not expression.type.fields:
        return ()
    if made is expression:
        return made.arguments
    return [
        field if field.type == type_ else Cast(type_, field.nullable, field)
        for field, (_, type_) in zip(made.arguments, expression.type.fields, strict=True)
    ]


def _keys_of_parts(
    plan: Unnest | LateralAggregate | AssignWindows, below: Sequence[Key]
) -> list[frozenset[int]]:
    """Rows derived from one row can only differ in the appended columns."""
    width = len(plan.input.schema)
    match plan:
        case Unnest(ordinality_name=None):
            return []
        case Unnest():
            appended: list[Key] = [(width + 1,)]
        case LateralAggregate():
            appended = [tuple(range(width, width + len(plan.keys)))]
        case AssignWindows(known_by_one_bound=True):
            appended = [(width,), (width + 1,), (width + 2,)]
        case AssignWindows():
            appended = [(width, width + 1), (width, width + 2)]
    return [frozenset((*key, *more)) for key in below for more in appended]


def _keys_of_join(plan: Join, left: Sequence[Key], right: Sequence[Key]) -> list[frozenset[int]]:
    """A pair is identified by both rows; by one alone if it joins with at most one other.

    A row without a partner is returned once, with NULLs.  So the key of a side that is padded is not a key of
    the result; and in a FULL join a key of NULLs could be that of a row of either side.
    """
    if not plan.kind.makes_pairs:
        return [frozenset(key) for key in left]
    width = len(plan.left.schema)
    shifted = [tuple(width + column for column in key) for key in right]
    nullable = [column.nullable for column in (*plan.left.schema, *plan.right.schema)]
    pairs = [
        frozenset((*one, *other))
        for one in left
        for other in shifted
        if plan.kind is not JoinKind.FULL or not all(nullable[i] for i in (*one, *other))
    ]
    if covers_key(plan.right_keys, right) and not plan.kind.keeps_right:
        pairs.extend(frozenset(key) for key in left)
    # With `once`, a row of the right may have changed its join key between two rows of the left.
    if (
        covers_key(plan.left_keys, left)
        and plan.kind in {JoinKind.INNER, JoinKind.RIGHT}
        and not plan.once
    ):
        pairs.extend(frozenset(key) for key in shifted)
    return pairs


def covers_key(join_keys: Sequence[Expression], keys: Sequence[Key]) -> bool:
    """Return whether the equalities of a join fix a key of a side, so that a row has one partner there."""
    fixed = {injective_source(expression) for expression in join_keys}
    return any(set(key) <= fixed for key in keys)
