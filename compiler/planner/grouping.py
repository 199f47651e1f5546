"""GROUP BY and DISTINCT: groups, which window closes them, and expressions over their rows.

GROUPING SETS, ROLLUP and CUBE repeat each row for each set, with NULL for the keys of other sets:

    GROUP BY w, ROLLUP (a)    →    UNNEST([0, 1]) AS s, GROUP BY w, CASE WHEN s = 0 THEN a END, s

The number of the set is a key, so that a NULL for a key of another set is not a value of that key.
Keys of every set remain as they are: a window among them closes the groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.analysis.properties import Bound, WindowColumn, window_columns
from fsql.compiler.bound.pending import (
    AggregateValue,
    GroupingValue,
    OuterValue,
    RunningValue,
    SubqueryValue,
    replace_pending,
)
from fsql.compiler.bound.select import GroupKeys, Key
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.refusal import Refusal, not_implemented, refusal
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.logical import (
    Aggregate,
    AssignSessions,
    AssignWindows,
    Plan,
    Unnest,
    WindowAggregate,
    operators,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.lifetimes import aggregate_while_alive
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT, INT, array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.compiler.analysis.properties import WindowColumns
    from fsql.compiler.bound.lifetimes import Lifetime
    from fsql.compiler.bound.select import Emission
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.text.source import Span


_NEVER_CLOSES: Final = "windows close by event time, which rows that can be retracted do not have"


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """The keys and aggregates of an aggregate operator, each once, with their names."""

    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]

    @property
    def key_indexes(self) -> dict[Expression, int]:
        """Return the index of each key among the distinct keys."""
        return {key: index for index, key in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class Groups:
    """The columns of an aggregate's rows, in terms of the rows that it groups.

    The first `passed` columns of the input are kept; they are followed by the keys, then the aggregates.
    `names` are the names of the input's columns, for messages.
    """

    keys: Mapping[Expression, int]
    passed: int
    names: Sequence[str]
    source_spans: SourceSpans

    def carry(self, expression: Expression, spans: Mapping[Expression, Span]) -> Expression:
        """Return the expression over the aggregate's rows.

        Raises:
            Refusal: E302, for a column that is neither grouped nor aggregated.
        """

        def replacement(part: Expression) -> Expression | None:
            if part in self.keys:
                return ColumnRef(part.type, part.nullable, self.passed + self.keys[part])
            if isinstance(part, AggregateValue):
                index = self.passed + len(self.keys) + part.index
                return ColumnRef(part.type, part.nullable, index)
            if isinstance(part, RunningValue | SubqueryValue | OuterValue):
                return part
            if isinstance(part, ColumnRef):
                if part.index >= self.passed:
                    raise self._refuse_ungrouped(part, spans[part])
                return part
            return None

        return replace_pending(expression, replacement, self.source_spans)

    def _refuse_ungrouped(self, column: ColumnRef, span: Span) -> Refusal:
        name = self.names[column.index]
        return refusal(
            "E302",
            f'column "{name}" is neither grouped nor aggregated',
            span,
            help=f"add {name} to GROUP BY, or aggregate it: MAX({name})",
        )


def group(
    keys: Sequence[Key], aggregates: Sequence[AggregateCall], names: Sequence[str]
) -> AggregateSpec:
    """Return the grouping by `keys` that computes aggregates of these names.

    For a group without any column, COUNT(*) is added, so that it has a column.
    """
    by_expression = {key.expression: key.name for key in reversed(keys)}
    distinct = list(dict.fromkeys(key.expression for key in keys))
    if not keys and not aggregates:
        aggregates = [AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)]
        names = ["count"]
    return AggregateSpec(
        tuple(distinct),
        tuple(by_expression[key] for key in distinct),
        tuple(aggregates),
        tuple(names),
    )


def make_group(
    plan: Plan,
    grouping: AggregateSpec,
    emit: Emission | None,
    written: tuple[str, Span],
    report: Report,
    lifetime: Lifetime | None = None,
) -> Plan:
    """Return the aggregate of `plan` by `grouping`, released according to `emit`.

    Grouping by a window's end makes it a window aggregate, which is final unless EMIT CHANGES is given.
    `written` is the clause that groups, with its span.  With a `lifetime`, groups without a window are
    removed after it.

    Raises:
        Refusal: E305, E306; E301 for a lifetime of rows that can be retracted.
    """
    clause, span = written
    columns = window_columns(plan)
    keyed = {
        key.index: column
        for key in grouping.keys
        if isinstance(key, ColumnRef) and (column := columns[key.index]) is not None
    }
    end = _window_end(plan, keyed)
    if end is None:
        check_windowed(plan, columns, span, clause="GROUP BY …," if grouping.keys else "GROUP BY")
    else:
        final = emit is None or emit.final
        closed_by = columns[end]
        if emit is not None and not final and closed_by is not None:
            _refuse_changes_of_sessions(closed_by, emit)
        return WindowAggregate(
            plan,
            grouping.keys,
            grouping.key_names,
            grouping.aggregates,
            grouping.aggregate_names,
            end,
            final,
        )
    never_closes = _never_closes(plan)
    refuse_final(emit, never_closes=never_closes)
    whole = Aggregate(
        plan, grouping.keys, grouping.key_names, grouping.aggregates, grouping.aggregate_names
    )
    if lifetime is not None:
        return aggregate_while_alive(whole, lifetime)
    if grouping.keys:
        report.warn(
            Diagnostic(
                "W301",
                f"{clause} {'over windows that never close' if never_closes else 'without a window'}"
                " keeps every group",
                Label(span),
                notes=(_NEVER_CLOSES if never_closes else "any group may change later",),
                helps=_window_instead(plan, grouping.keys),
            )
        )
    return whole


def _never_closes(plan: Plan) -> bool:
    """Return whether windows of rows that can be retracted are assigned below."""
    windows = (node for node in operators(plan) if isinstance(node, AssignWindows))
    return any(not node.over_event_time for node in windows)


def _window_instead(plan: Plan, keys: Sequence[Expression]) -> tuple[str, ...]:
    """Return the help for keys such as DATE_TRUNC('hour', at), which are windows in other dialects."""
    for node in (each for key in keys for each in walk(key)):
        if isinstance(node, ColumnRef) and plan.schema[node.index].time_attribute:
            at = plan.schema[node.index].name
            return (
                f"to keep open groups only, group by a window: TUMBLE({at}, INTERVAL '1' MINUTE)",
            )
    return ()


def _refuse_changes_of_sessions(closed_by: WindowColumn, emit: Emission) -> None:
    """Refuse EMIT CHANGES of sessions, whose rows are emitted when they close.

    Raises:
        Refusal: E301.
    """
    if isinstance(closed_by.windows, AssignSessions):
        raise not_implemented(
            "EMIT CHANGES of sessions", emit.span, help="remove it: results are final"
        )


def refuse_final(emit: Emission | None, *, never_closes: bool = False) -> None:
    """Refuse EMIT FINAL without a window, or of windows that never close.

    Raises:
        Refusal: E306.
    """
    if emit is not None and emit.final and never_closes:
        what = "EMIT FINAL of windows that never close"
        raise refusal("E306", what, emit.span, note=_NEVER_CLOSES, help="write EMIT CHANGES")
    if emit is not None and emit.final:
        raise refusal(
            "E306",
            "EMIT FINAL without a window",
            emit.span,
            note="a result is final when its window closes",
            help="group by a window: GROUP BY …, TUMBLE(at, INTERVAL '1' MINUTE)",
        )


def _window_end(plan: Plan, keyed: dict[int, WindowColumn]) -> int | None:
    """Return the key that is the end of the window that closes the groups; None if there is none.

    If there are several, it is the one of the window assigned last.
    """
    ends = [
        (column.open, index)
        for index, column in keyed.items()
        if column.bound is Bound.END and plan.schema[index].time_attribute
    ]
    return max(ends)[1] if ends else None


def window_end_among(plan: Plan, keys: Sequence[Expression]) -> int | None:
    """Return the key that is the end of the window that closes the groups; None if there is none."""
    columns = window_columns(plan)
    found = {key.index: columns[key.index] for key in keys if isinstance(key, ColumnRef)}
    return _window_end(plan, {index: column for index, column in found.items() if column})


def complete_window_keys(plan: Plan, keys: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return the keys, with the end of each window of which another bound is a key."""
    columns = window_columns(plan)
    indexes = [key.index for key in keys if isinstance(key, ColumnRef)]
    windows = {column.windows for index in indexes if (column := columns[index]) is not None}
    added = [
        ColumnRef(below.type, below.nullable, index)
        for index, (column, below) in enumerate(zip(columns, plan.schema, strict=True))
        if column is not None
        and column.windows in windows
        and column.bound in _identity(column.windows)
        and index not in indexes
    ]
    return (*keys, *added)


def _identity(windows: AssignWindows | AssignSessions) -> tuple[Bound, ...]:
    """Return the bounds among the keys of groups that identify a window."""
    if isinstance(windows, AssignSessions) or windows.known_by_one_bound:
        return (Bound.END,)
    return (Bound.START, Bound.END)


def check_windowed(plan: Plan, columns: WindowColumns, span: Span, *, clause: str) -> None:
    """Refuse groups of windowed rows that would not close with the window.

    Rows that are only ordered by event time do not belong to windows.

    Raises:
        Refusal: E305.
    """
    ends = (
        column
        for column, below in zip(columns, plan.schema, strict=True)
        if column is not None and column.bound is Bound.END and below.time_attribute
    )
    if any(end.open and not _sorts(end.windows) for end in ends):
        raise refusal(
            "E305",
            "windowed rows are not grouped by their window",
            span,
            note="a row is returned once for each window, and its groups would never close",
            help=f"write {clause} window_start, window_end",
            quote=span,
        )


def _sorts(windows: AssignWindows | AssignSessions) -> bool:
    return isinstance(windows, AssignSessions) and windows.sorts


def complete_windows(plan: Plan, keys: Sequence[Key], used: Iterable[Expression]) -> list[Key]:
    """Return the keys, with the other bounds of each window that they imply.

    Grouping by one bound of a window is grouping by the window.  The end is added as a key because it closes
    the groups, the start and the time if `used`, the expressions of the SELECT, refers to them.
    """
    columns = window_columns(plan)
    keyed = {key.expression.index: key for key in keys if isinstance(key.expression, ColumnRef)}
    windows = {
        column.windows: key
        for index, key in keyed.items()
        if (column := columns[index]) is not None
    }
    ended = {
        column.windows
        for index in keyed
        if (column := columns[index]) is not None and column.bound is Bound.END
    }
    wanted = {node.index for each in used for node in walk(each) if isinstance(node, ColumnRef)}
    completed = list(keys)
    for index, column in enumerate(columns):
        if column is None or column.windows not in windows or index in keyed:
            continue
        closes = column.bound is Bound.END and column.windows not in ended
        starts = column.bound is Bound.START and Bound.START in _identity(column.windows)
        if closes or starts or index in wanted:
            below = plan.schema[index]
            reference = ColumnRef(below.type, below.nullable, index)
            completed.append(Key(reference, below.name, windows[column.windows].span))
    return completed


def complete_keys(keys: GroupKeys, plan: Plan, used: Iterable[Expression]) -> GroupKeys:
    """Return the keys with the bounds of windows that the keys of every set imply."""
    common = [key for key in keys.keys if key.expression in keys.common]
    completed = complete_windows(plan, common, used)
    known = {key.expression for key in keys.keys}
    added = [key for key in completed if key.expression not in known]
    with_added = frozenset(key.expression for key in added)
    return GroupKeys((*keys.keys, *added), tuple(one | with_added for one in keys.sets))


def expand_sets(keys: GroupKeys, plan: Plan, span: Span) -> tuple[Plan, list[Key]]:
    """Return the rows for all sets, and the keys to group them by; the last is the set's number."""
    if len(keys.sets) == 1:
        return plan, list(keys.keys)
    numbers = tuple(range(len(keys.sets)))
    array = Literal(array_of(INT), nullable=False, value=numbers)
    expanded = Unnest(plan, array, "grouping_set", None)
    number = ColumnRef(INT, nullable=True, index=len(plan.schema))
    by_set = [
        key
        if key.expression in keys.common
        else replace(key, expression=_where_held(keys, key.expression, number))
        for key in keys.keys
    ]
    return expanded, [*by_set, Key(number, "grouping_set", span)]


def _where_held(keys: GroupKeys, key: Expression, number: Expression) -> Expression:
    held = [index for index, one in enumerate(keys.sets) if key in one]
    nothing = Literal(key.type, nullable=True, value=None)
    branch = _is_among(number, held), key
    return Case(key.type, nullable=True, branches=(branch,), otherwise=nothing)


def over_groups(
    keys: GroupKeys, groups: Groups, grouping: AggregateSpec
) -> Callable[[Expression, Mapping[Expression, Span]], Expression]:
    """Return the function that rewrites expressions over the rows of the aggregate."""
    indexes = {key.expression: index for index, key in enumerate(keys.keys)}
    several = len(keys.sets) > 1
    number = ColumnRef(INT, nullable=True, index=len(groups.names))
    if several:
        indexes[number] = len(keys.keys)
    groups = replace(groups, keys=indexes)
    nullable = [key.nullable for key in grouping.keys]
    nullable += [aggregate.nullable for aggregate in grouping.aggregates]

    def carry(expression: Expression, spans: Mapping[Expression, Span]) -> Expression:
        found = groups.carry(_without_calls(keys, expression, groups, number, spans), spans)
        if not several:
            return found
        over = with_nullability(found, nullable.__getitem__)
        groups.source_spans.copy(found, over)
        return over

    return carry


def _without_calls(
    keys: GroupKeys,
    expression: Expression,
    groups: Groups,
    number: Expression,
    spans: Mapping[Expression, Span],
) -> Expression:
    """Return the expression with each GROUPING as a CASE of the set's number."""

    def replacement(part: Expression) -> Expression | None:
        if not isinstance(part, GroupingValue):
            return None
        for argument in part.arguments:
            if argument not in groups.keys:
                raise refusal("E302", "GROUPING takes keys of GROUP BY", spans[part])
        masks: dict[int, list[int]] = {}
        for index, one in enumerate(keys.sets):
            bits = "".join("0" if each in one else "1" for each in part.arguments)
            masks.setdefault(int(bits, 2), []).append(index)
        *others, last = sorted(masks)
        if not others:
            return _number(last)
        branches = tuple((_is_among(number, masks[mask]), _number(mask)) for mask in others)
        return Case(BIGINT, nullable=False, branches=branches, otherwise=_number(last))

    return replace_pending(expression, replacement, groups.source_spans)


def _number(value: int) -> Expression:
    return Literal(BIGINT, nullable=False, value=value)


def _is_among(number: Expression, indexes: Sequence[int]) -> Expression:
    """Return whether the set's number is one of the given numbers."""
    tests = [call("eq", number, Literal(INT, nullable=False, value=index)) for index in indexes]
    return combine_balanced("or", tests)
