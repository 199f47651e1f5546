"""Temporal joins: `JOIN t FOR SYSTEM_TIME AS OF o.at ON o.k = t.k`, with the version valid at that time.

Each row of the right table is a version of its key, from its event time on (`versions.py`); so is each row of
which a view keeps the last of each key (`version_views.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.row_time import is_row_time, is_row_time_call
from fsql.compiler.binder.joins.join import all_from, equality_keys, shift_columns, side_by_side
from fsql.compiler.binder.joins.lookup_join import read_first, with_rows_at_rest
from fsql.compiler.binder.joins.outer_join import with_columns
from fsql.compiler.binder.joins.versions import VersionedSide, rename_fields, with_versions
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.windows.event_time import event_time_field
from fsql.compiler.bound.pending import replace_pending
from fsql.compiler.expression import Call, Case, Cast, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.logical import (
    ApplyChanges,
    Filter,
    JoinKind,
    Plan,
    Project,
    Scan,
    TimeKind,
    append_only,
    tables,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.joins.changed_versions import (
    changed_versions,
    found_beside_changes,
    last_changes,
    only_present,
    with_condition,
)
from fsql.compiler.planner.joins.version_views import carry_columns, ranked_versions
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BOOLEAN, FLOATING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.planner.joins.changed_versions import ChangedVersions
    from fsql.compiler.text.source import Span


_MATCHES: Final = "matches"


def join_versions(
    clause: syntax.JoinClause,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    context: Context,
) -> Relation:
    """Return the join of each row of the left with the version of the right at its event time.

    A table at rest has one version of each key (`lookup_join.py`).

    Raises:
        Refusal: E203, E204, E304, E310, E323.
    """
    assert isinstance(clause.right, syntax.TableReference)
    span, at, kind = clause.right.span, clause.right.system_time, JoinKind(clause.kind)
    rows, left_key = _left_rows(left, span)
    time = None
    if isinstance(at, syntax.ColumnReference):
        time = event_time_field(rows, at, context.source_spans)
    elif not (isinstance(at, syntax.FunctionCall) and is_row_time_call(at)):
        raise _invalid(
            "FOR SYSTEM_TIME AS OF an expression", span, "name a column of the left side"
        )
    changed = changed_versions(right.plan)
    right, primary, versions = _versions(right, changed, span, context)
    if isinstance(at, syntax.FunctionCall) and versions is not None:
        raise _invalid(
            f"FOR SYSTEM_TIME AS OF {at.name.parts[-1].name.upper()}() of a table that has event time",
            span,
            "name a column of the left side; for the time of its rows, declare it in CREATE TABLE: proc AS"
            " PROCTIME()",
        )
    pairs, rest = _matched_keys(left, right, primary, on, context, span)
    if versions is None:
        right, rest = _filtered(left, right, rest, context, changed=changed is not None)
    found_kind = kind if left_key is None else JoinKind.LEFT
    if versions is None or time is None:
        read_first(right.plan, left.plan, context)
        plan = with_rows_at_rest(found_kind, rows.plan, right.plan, pairs)
    else:
        plan = with_versions(
            found_kind,
            VersionedSide(rows.plan, time.index, tuple(mine for mine, _ in pairs)),
            VersionedSide(right.plan, versions, tuple(theirs for _, theirs in pairs)),
            context,
            span,
        )
    found = FoundVersions(kind, left_key, None if changed is not None else primary[0], primary[0])
    return found.relation(left, right, plan, rest, context)


@dataclass(frozen=True, slots=True)
class FoundVersions:
    """What is done with the rows of a left side and the versions that were found for them.

    `left_key` is the key of the left if its rows are changes, else None.  `marked` is a column of the right
    that is NULL without a version; None if the right ends with a column that says whether it is present.
    `key` is a column of the right that is not NULL in rows.
    """

    kind: JoinKind
    left_key: tuple[int, ...] | None
    marked: int | None
    key: int

    def relation(
        self,
        left: Relation,
        right: Relation,
        plan: Plan,
        conditions: Sequence[Expression],
        context: Context,
    ) -> Relation:
        """Return the join: versions that are present and match, or the table that the changes make."""
        if self.left_key is not None:
            plan = found_beside_changes(plan, left.width, self.marked)
            matches = _matches(plan, conditions, len(plan.schema) - 2, context)
            plan = last_changes(self.kind, plan, left.width, self.left_key, matches)
        else:
            if self.marked is None:
                plan = only_present(self.kind, plan, left.width)
            plan = _where(self.kind, plan, _over(plan, conditions, context), left.width, self.key)
        return Relation(plan, rename_fields(side_by_side(left, right), plan))


def _over(plan: Plan, conditions: Sequence[Expression], context: Context) -> list[Expression]:
    """Return conditions over both sides as conditions over their join, whose columns may be NULL."""
    columns = column_refs(plan)
    return [
        replace_pending(
            each,
            lambda part: columns[part.index] if isinstance(part, ColumnRef) else None,
            context.source_spans,
        )
        for each in conditions
    ]


def _left_rows(left: Relation, span: Span) -> tuple[Relation, tuple[int, ...] | None]:
    """Return the rows of the left, and None; of a table of changes its changes, and its key.

    Raises:
        Refusal: E310 for other rows that can be retracted.
    """
    if append_only(left.plan):
        return left, None
    changed = changed_versions(left.plan)
    if changed is None:
        raise refusal(
            "E310",
            "temporal join of rows that can be retracted",
            span,
            help="the left side may be a table that is read as changes by its PRIMARY KEY, or a view that"
            " filters it",
        )
    return with_columns(left.fields, changed.plan), changed.key


def _matches(
    joined: Plan, conditions: Sequence[Expression], found: int, context: Context
) -> Expression:
    """Return whether a version is found, by a column, for which the conditions are TRUE."""
    there = column_refs(joined)[found]
    if not conditions:
        return there
    condition = combine_balanced("and", _over(joined, conditions, context))
    never = Literal(BOOLEAN, nullable=False, value=False)
    whole = Case(BOOLEAN, nullable=True, branches=((there, condition),), otherwise=never)
    return call("coalesce", whole, never)


def _where(
    kind: JoinKind, joined: Plan, conditions: Sequence[Expression], width: int, key: int
) -> Plan:
    """Return a join with its further conditions; for `width` and `key` see `_matching`."""
    if kind is JoinKind.INNER:
        return filter_relation(joined, conditions)
    return _matching(joined, conditions, width, key) if conditions else joined


def _matching(joined: Plan, conditions: Sequence[Expression], width: int, key: int) -> Plan:
    """Return a LEFT join with NULL instead of a version for which the conditions are not TRUE.

    `width` is that of the left side, `key` a column of the key of the right.  The conditions are not
    evaluated where there is no version.
    """
    columns = column_refs(joined)
    found = call("is_not_null", columns[width + key])
    matches = Case(
        BOOLEAN,
        nullable=True,
        branches=((found, combine_balanced("and", conditions)),),
        otherwise=Literal(BOOLEAN, nullable=True, value=None),
    )
    names = (*(column.name for column in joined.schema), _MATCHES)
    return only_present(JoinKind.LEFT, Project(joined, (*columns, matches), names), width)


def _filtered(
    left: Relation,
    right: Relation,
    conditions: Sequence[Expression],
    context: Context,
    *,
    changed: bool,
) -> tuple[Relation, list[Expression]]:
    """Return a table at rest without the rows that conditions on it alone exclude, and the other conditions.

    The rows do not change, so one that is filtered out is no match at any time.
    """
    of_right = [each for each in conditions if all_from(each, left.width)]
    own = [shift_columns(each, -left.width, context.source_spans) for each in of_right]
    plan = with_condition(right.plan, own) if changed else filter_relation(right.plan, own)
    return right.with_plan(plan), [each for each in conditions if each not in of_right]


def _versions(
    right: Relation, changed: ChangedVersions | None, span: Span, context: Context
) -> tuple[Relation, tuple[int, ...], int | None]:
    """Return the rows that are versions, their key, and the column of their time: None of a table at rest.

    Raises:
        Refusal: E323.
    """
    if changed is not None:
        right = right.with_plan(changed.plan)
        return right, changed.key, _checked_time(right, span, context)
    ranked = ranked_versions(right.plan)
    if ranked is not None:
        return with_columns(right.fields, ranked.plan), ranked.key, ranked.time
    primary = _primary_key(right, span, context)
    return right, primary, _checked_time(right, span, context)


def _checked_time(right: Relation, span: Span, context: Context) -> int | None:
    """Return the column of the time of versions: None of a table at rest.

    Raises:
        Refusal: E323.
    """
    time = _version_time(right.plan)
    if time is None and not _is_at_rest(right.plan, context):
        raise _invalid(
            "temporal join with a table that has no event time",
            span,
            "declare a WATERMARK in CREATE TABLE: a version is valid from its event time on; or make it a"
            " table at rest, which has one row for each key: 'time' = 'start'",
        )
    return time


def _is_at_rest(plan: Plan, context: Context) -> bool:
    """Return whether a table without event time is read before all tables that have it."""
    times = [context.catalog.table(table.ordinal).time for table in tables(plan)]
    return all(time in {None, TimeKind.START} for time in times)


def _version_time(plan: Plan) -> int | None:
    """Return the column with the time from which versions are valid: event time, else the time of rows."""
    times = [i for i, column in enumerate(plan.schema) if column.time_attribute]
    return min(times, key=lambda i: (is_row_time(plan, i), i), default=None)


def _primary_key(right: Relation, span: Span, context: Context) -> tuple[int, ...]:
    """Return the columns of the right side that are the PRIMARY KEY of its table.

    Raises:
        Refusal: E323.
    """
    plan, steps = right.plan, list[Project]()
    while isinstance(plan, Filter | Project):
        if isinstance(plan, Project):
            steps.insert(0, plan)
        plan = plan.input
    if isinstance(plan, ApplyChanges) and plan.counted:
        needed = (
            "add PRIMARY KEY (…) NOT ENFORCED to their table, or PARTITION BY to FROM_CHANGELOG"
        )
        raise _invalid("temporal join with changes without a key", span, needed)
    if not isinstance(plan, Scan):
        raise _invalid(
            "temporal join with a relation that is not the rows of one table",
            span,
            "name a table, a view that only filters and computes columns, or one"
            " that keeps the rows with ROW_NUMBER() OVER (PARTITION BY key ORDER BY at DESC) = 1, where at is"
            " event time, its key and its time",
        )
    entry = context.catalog.table(plan.table.ordinal)
    key = entry.primary_key
    if key is None:
        raise _invalid(
            f'temporal join with table "{entry.name}", which has no PRIMARY KEY',
            span,
            "add PRIMARY KEY (…) NOT ENFORCED: its rows are versions of a key",
        )
    for step in steps:
        carried = carry_columns(key, step)
        if carried is None:
            raise _invalid(
                f'temporal join with a view without the PRIMARY KEY of table "{entry.name}"',
                span,
                "add its columns to the view",
            )
        key = carried
    return key


def _matched_keys(
    left: Relation,
    right: Relation,
    primary: tuple[int, ...],
    on: Sequence[Expression],
    context: Context,
    span: Span,
) -> tuple[list[tuple[Expression, Expression]], list[Expression]]:
    """Return the pair that equates each column of the primary key, in its order, and the other conditions.

    A column may be equated with a constant.

    Raises:
        Refusal: E323 if a column has none.
    """
    keys, rest = _keys(left, primary, on, context)
    rest = _add_constants(keys, primary, rest, left.width, context)
    missing = [right.plan.schema[index].name for index in primary if index not in keys]
    if missing:
        raise _invalid(
            "temporal join without an equality for each column of the PRIMARY KEY",
            span,
            f"add an equality to ON for: {', '.join(missing)}",
        )
    return [keys[index] for index in primary], rest


def _keys(
    left: Relation, primary: tuple[int, ...], on: Sequence[Expression], context: Context
) -> tuple[dict[int, tuple[Expression, Expression]], list[Expression]]:
    """Return the pair that equates each column of the primary key, and the other conditions."""
    equalities = equality_keys(on, left.width, context.source_spans)
    keys: dict[int, tuple[Expression, Expression]] = {}
    rest: list[Expression] = []
    for condition in on:
        pairs = equalities.get(condition, [])
        index = _column_of(pairs[0][1]) if len(pairs) == 1 else None
        if index is None or index not in primary or index in keys:
            rest.append(condition)
        else:
            keys[index] = pairs[0]
    return keys, rest


def _add_constants(
    keys: dict[int, tuple[Expression, Expression]],
    primary: tuple[int, ...],
    conditions: Sequence[Expression],
    width: int,
    context: Context,
) -> list[Expression]:
    """Add the pairs of key columns that conditions equate with constants; return the other conditions."""
    rest: list[Expression] = []
    for condition in conditions:
        pair = _constant_and_column(condition, width, context)
        index = None if pair is None else _column_of(pair[1])
        if pair is None or index is None or index not in primary or index in keys:
            rest.append(condition)
        else:
            keys[index] = pair
    return rest


def _constant_and_column(
    condition: Expression, width: int, context: Context
) -> tuple[Expression, Expression] | None:
    """Return the operands of an equality of a constant and an expression over the right side."""
    if not (isinstance(condition, Call) and condition.function == "eq"):
        return None
    for constant, other in (condition.arguments, condition.arguments[::-1]):
        known = all(isinstance(part, Literal | Cast | Call) for part in walk(constant))
        if known and all_from(other, width):
            return constant, shift_columns(other, -width, context.source_spans)
    return None


def _column_of(key: Expression) -> int | None:
    """Return the column that a key is, perhaps cast to a type that keeps all its values distinct."""
    if isinstance(key, Cast) and key.type.kind not in FLOATING:
        key = key.argument
    return key.index if isinstance(key, ColumnRef) else None


def _invalid(what: str, span: Span, help_text: str) -> Refusal:
    return refusal("E323", what, span, help=help_text)


def versioned_table(clause: syntax.JoinClause) -> syntax.TableReference | None:
    """Return the table whose versions a clause joins with; None if the clause does not join with versions."""
    table = clause.right
    if not isinstance(table, syntax.TableReference) or clause.kind not in {"INNER", "LEFT"}:
        return None
    return None if table.system_time is None else replace(table, system_time=None)
