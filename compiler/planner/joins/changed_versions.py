"""Versions from a table that is read as changes: upserts, retractions, change events.

Each of its rows is a version of its key, as in an append-only table; a deletion is a version that is not
present.  So a temporal join reads the rows with a column that says whether the version is present, instead of
the table that they make.  A row that a view filters out is a version that is not present either.

The left side may be such a table, too: its changes are joined with the versions of their times, and make the
result, in the order of event time.

    the changes   →  Project: the columns of the table, and whether the row is present
                  →  the temporal join, which finds the last version
                  →  Filter: versions that are present; for LEFT JOIN, NULL instead of the others
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.connectors import REQUIRED
from fsql.compiler.expression import Call, Case, ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    ApplyChanges,
    Filter,
    JoinKind,
    Plan,
    Project,
    Union,
    append_only,
    declared_event_time,
    tables,
)
from fsql.compiler.node import Node, map_children, walk
from fsql.compiler.planner.joins.version_views import carry_columns
from fsql.compiler.planner.joins.whole_changes import whole_changes
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fsql.compiler.logical import Table


_PRESENT: Final = "present"


@dataclass(frozen=True, slots=True)
class ChangedVersions:
    """The rows of a table of changes, with the columns of the table, then whether each is present.

    `key` is the columns of its key.
    """

    plan: Plan
    key: tuple[int, ...]


def changed_versions(plan: Plan) -> ChangedVersions | None:
    """Return the versions of a table of changes, or of a view that filters it and computes columns."""
    if isinstance(plan, ApplyChanges) and append_only(plan.input) and not plan.counted:
        if plan.whole is not None and not isinstance(plan.input, Union):
            # UPDATE_BEFORE may have the time of the old row, at which that has only begun.
            plan = replace(plan, input=Filter(plan.input, call("not", plan.whole)))
        return ChangedVersions(whole_changes(plan, _PRESENT), tuple(range(len(plan.keys))))
    if not isinstance(plan, Filter | Project):
        return None
    below = changed_versions(plan.input)
    if below is None:
        return None
    if isinstance(plan, Filter):
        return ChangedVersions(with_condition(below.plan, [plan.predicate]), below.key)
    key = carry_columns(below.key, plan)
    if key is None:
        return None
    expressions = (*plan.expressions, column_refs(below.plan)[-1])
    names = (*(column.name for column in plan.schema), _PRESENT)
    return ChangedVersions(_project(below.plan, expressions, names), key)


def _project(changes: Plan, expressions: Sequence[Expression], names: tuple[str, ...]) -> Plan:
    """Return expressions over changes: over the scan, if one is event time as its table declares it.

    A computed column is event time only where it is computed from the scan.
    """
    below, merged = changes, list(expressions)
    while isinstance(below, Project):
        merged = [_over_values(each, below.expressions) for each in merged]
        below = below.input
    declared = declared_event_time(below)
    if declared is not None and not isinstance(declared, ColumnRef):
        (table,) = tables(below)
        timed = tuple(
            declared if _is_same(each, declared, _required(table)) else each for each in merged
        )
        if declared in timed:
            return Project(below, timed, names)
    return Project(changes, tuple(expressions), names)


def _required(table: Table) -> frozenset[int]:
    """Return the columns that are NULL in deletions only: there a table of changes has another value."""
    indexes = dict(table.options).get(REQUIRED, "")
    return frozenset(map(int, filter(None, indexes.split(","))))


def _over_values(expression: Expression, values: Sequence[Expression]) -> Expression:
    """Return an expression over the columns that `values` are computed from."""
    became: dict[Node, Node] = {}
    for node in walk(expression):
        if isinstance(node, ColumnRef):
            became[node] = values[node.index]
        else:
            became[node] = map_children(node, became.__getitem__)
    made = became[expression]
    assert isinstance(made, Expression)
    return made


def _is_same(value: Expression, declared: Expression, required: Collection[int]) -> bool:
    """Return whether an expression is event time as it is declared, which no row lacks."""
    became: dict[Node, Node] = {}
    for node in walk(value):
        became[node] = map_children(node, became.__getitem__)
        if isinstance(node, Call) and node.function == "coalesce":
            column = node.arguments[0]
            if isinstance(column, ColumnRef) and column.index in required:
                became[node] = column
    made = became[value]
    assert isinstance(made, Expression)
    return with_nullability(made, lambda _: True) is with_nullability(declared, lambda _: True)


def with_condition(versions: Plan, conditions: Sequence[Expression]) -> Plan:
    """Return versions that are present only where all conditions are TRUE."""
    if not conditions:
        return versions
    *columns, present = column_refs(versions)
    for each in conditions:
        present = call("and", present, call("coalesce", each, _truth(value=False)))
    names = tuple(column.name for column in versions.schema)
    return Project(versions, (*columns, present), names)


def only_present(kind: JoinKind, joined: Plan, width: int) -> Plan:
    """Return the result of a temporal join without the last column, whether the version is present.

    `width` is that of the left side.
    """
    *columns, present = column_refs(joined)
    exists = call("coalesce", present, _truth(value=False))
    if kind is JoinKind.INNER:
        joined = filter_relation(joined, [exists])
    else:
        columns[width:] = [
            Case(
                each.type,
                nullable=True,
                branches=((exists, each),),
                otherwise=Literal(each.type, nullable=True, value=None),
            )
            for each in columns[width:]
        ]
    return Project(joined, tuple(columns), tuple(column.name for column in joined.schema[:-1]))


def found_beside_changes(joined: Plan, width: int, key: int | None) -> Plan:
    """Return changes of a left side joined with versions: both sides, whether there is one, and the change.

    The left side has `width` columns, and then whether the change is present.  `key` is a column of the right
    that is NULL without a version; if it is None, the last column says whether the version is present.
    """
    columns = column_refs(joined)
    own, present, others = columns[:width], columns[width], columns[width + 1 :]
    names = [column.name for column in joined.schema]
    del names[width]
    if key is None:
        found = call("coalesce", others.pop(), _truth(value=False))
        del names[-1]
    else:
        found = call("is_not_null", others[key])
    return Project(joined, (*own, *others, found, present), (*names, "found", _PRESENT))


def last_changes(
    kind: JoinKind, joined: Plan, width: int, key: Sequence[int], matches: Expression
) -> Plan:
    """Return the table that the changes of the left make, with the versions that match.

    `joined` ends with whether a version is found and the change is present.
    """
    *columns, _, present = column_refs(joined)
    whole = Project(
        joined,
        (*columns, matches, present),
        tuple(column.name for column in joined.schema),
    )
    *columns, matched, present = column_refs(whole)
    if kind is JoinKind.INNER:
        present = call("and", present, matched)
    else:
        columns[width:] = [
            Case(
                each.type,
                nullable=True,
                branches=((matched, each),),
                otherwise=Literal(each.type, nullable=True, value=None),
            )
            for each in columns[width:]
        ]
    names = tuple(column.name for column in joined.schema[:-2])
    rows = Project(whole, (*columns, present), (*names, _PRESENT))
    made = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(rows.schema)][:-1]
    order = [*key, *(index for index in range(len(made)) if index not in key)]
    table = ApplyChanges(
        rows,
        tuple(made[index] for index in key),
        column_refs(rows)[-1],
        tuple(made[index] for index in order[len(key) :]),
    )
    own = column_refs(table)
    return Project(table, tuple(own[order.index(index)] for index in range(len(made))), names)


def _truth(*, value: bool) -> Expression:
    return Literal(BOOLEAN, nullable=False, value=value)
