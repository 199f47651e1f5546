"""LATERAL SNAPSHOT joins: each row of the left once, with the rows that the right has at its position.

    a JOIN LATERAL SNAPSHOT(input => TABLE b) AS s ON a.k = s.k

Elsewhere the state of `b` is the one that the operator has when it happens to process the row.
Here it is that of all rows before the row in the total order (`Join.once`).  So no phase loads `b` first, and
arguments about it have no effect, or would change the result and are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.changelogs.changelog_arguments import arguments_by_name
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.joins.conditions import where_between
from fsql.compiler.binder.joins.join import all_from, equality_keys, shift_columns, side_by_side
from fsql.compiler.binder.joins.lookup_join import read_first
from fsql.compiler.binder.joins.outer_join import with_columns
from fsql.compiler.binder.relation import Relation, apply_alias
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.tables import bind_table_argument
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.functions.calls import combine_balanced
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import Join, JoinKind, append_only
from fsql.compiler.planner.rows import ZERO, filter_relation
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder
    from fsql.compiler.binder.references import Condition
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


SNAPSHOT: Final = "SNAPSHOT"
SNAPSHOT_FORM: Final = "FROM a JOIN LATERAL SNAPSHOT(input => TABLE b) AS s ON a.k = s.k"
_NAMES: Final = (
    *("INPUT", "ON_TIME", "LOAD_COMPLETED_TIME", "LOAD_COMPLETED_IDLE_TIMEOUT", "STATE_TTL"),
)
_HELP: Final = f"write {SNAPSHOT_FORM}"
_KINDS: Final = frozenset({"CROSS", "INNER", "LEFT"})


def snapshot_call(written: syntax.Relation) -> syntax.TableFunction | None:
    """Return a relation if it is LATERAL SNAPSHOT(…); None for others."""
    if not isinstance(written, syntax.TableFunction) or not written.lateral:
        return None
    return written if written.name.parts[-1].name.upper() == SNAPSHOT else None


def snapshot_rows(
    call: syntax.TableFunction, context: Context, bind_query: QueryBinder
) -> Relation:
    """Return the rows of the table of which a call is the snapshot, and check the other arguments.

    Raises:
        Refusal: E2xx to E4xx.
    """
    given = arguments_by_name(call, _NAMES, _HELP)
    data = given["INPUT"]
    assert isinstance(data, syntax.TableArgument)
    if data.partition_by:
        what = "the keys are those of ON, not of PARTITION BY"
        raise _invalid(what, data.partition_by[0].span)
    _check_load_phase(given, context)
    rows = bind_table_argument(data, context, bind_query)
    if "ON_TIME" in given:
        _check_time(given["ON_TIME"], rows, call.span, context)
    return apply_alias(rows, call.alias)


def _check_load_phase(given: Mapping[str, object], context: Context) -> None:
    """Check the arguments about the time before rows are joined, and how long rows are kept.

    Raises:
        Refusal: E301.
    """
    spans = {name: value.span for name, value in given.items() if isinstance(value, syntax.Syntax)}
    if "LOAD_COMPLETED_TIME" in given:
        raise not_implemented(
            "load_completed_time of SNAPSHOT",
            spans["LOAD_COMPLETED_TIME"],
            note="rows before that time would be joined with later rows of the table",
            help="remove it: each row is joined with the rows before it, and a table without WATERMARK is"
            " read first",
        )
    if "STATE_TTL" in given:
        help_ = "remove it: the rows of the table are kept"
        raise not_implemented("state_ttl of SNAPSHOT", spans["STATE_TTL"], help=help_)
    if "LOAD_COMPLETED_IDLE_TIMEOUT" in given:
        context.report.warn(
            Diagnostic(
                "W203",
                "load_completed_idle_timeout of SNAPSHOT has no effect",
                Label(spans["LOAD_COMPLETED_IDLE_TIMEOUT"]),
                helps=("each row is joined with the rows before it in the order of the input",),
            )
        )


def _check_time(written: object, rows: Relation, span: Span, context: Context) -> None:
    """Check that on_time is a time of the table, whose changes are applied in the total order.

    Raises:
        Refusal: E203, E204, E307.
    """
    named = written.columns if isinstance(written, syntax.Descriptor) else ()
    if [_kind(rows, column, context) for column in named] != [Kind.TIMESTAMP]:
        raise _invalid("on_time must be a DESCRIPTOR of a TIMESTAMP column", span)


def _kind(relation: Relation, column: syntax.Identifier, context: Context) -> Kind:
    spans, functions, zone = context.source_spans, context.functions, context.zone
    binder = ExpressionBinder(relation.scope, "SNAPSHOT", spans, functions, zone)
    return binder.column(syntax.ColumnReference(column.span, (column,))).column.type.kind


def join_snapshot(
    clause: syntax.JoinClause,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    where: Sequence[Condition],
    context: Context,
) -> tuple[Relation, frozenset[Expression]]:
    """Return the join, and the conditions of `where` that it includes.

    Raises:
        Refusal: E301, E310.
    """
    if clause.kind not in _KINDS or clause.within is not None:
        what = "WITHIN" if clause.kind in _KINDS else f"{clause.kind} JOIN"
        raise not_implemented(
            f"{what} of LATERAL SNAPSHOT", clause.span, help="write JOIN or LEFT JOIN"
        )
    lifetimes = context.time_to_live.of_sides
    if lifetimes is not None:
        raise not_implemented("a time to live of LATERAL SNAPSHOT", lifetimes.span)
    if not append_only(left.plan):
        raise refusal("E310", "LATERAL SNAPSHOT join of rows that can be retracted", clause.span)
    read_first(right.plan, left.plan, context)
    padded = clause.kind == "LEFT"
    found = [] if padded else where_between(where, left, right, context)
    early = [each for each in found if not fallible(each)]
    keys = equality_keys([*on, *early], left.width, context.source_spans)
    rest = [each for each in on if each not in keys]
    below, condition = right.plan, None
    if padded:
        of_right = [each for each in rest if all_from(each, left.width)]
        own = [shift_columns(each, -left.width, context.source_spans) for each in of_right]
        below = filter_relation(below, own)
        others = [each for each in rest if each not in of_right]
        condition = combine_balanced("and", others) if others else None
    pairs = [pair for found in keys.values() for pair in found] or [(ZERO, ZERO)]
    joined = Join(
        left.plan,
        below,
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        None,
        JoinKind.LEFT if padded else JoinKind.INNER,
        once=True,
        condition=condition,
        broadcast=context.broadcasts.is_broadcast(left, right),
    )
    plan = joined if padded else filter_relation(joined, rest)
    taken = frozenset(key for key in keys if key not in on)
    return with_columns(side_by_side(left, right), plan), taken


def _invalid(what: str, span: Span) -> Refusal:
    return refusal("E307", f"invalid arguments of SNAPSHOT: {what}", span, help=_HELP)
