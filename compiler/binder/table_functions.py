"""Table functions in FROM: windows, FROM_CHANGELOG and TO_CHANGELOG, and those computed from one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.changelogs.changelog import from_changelog
from fsql.compiler.binder.changelogs.changelog_arguments import (
    TO_CHANGELOG,
    changelog_arguments,
    changelog_function,
)
from fsql.compiler.binder.changelogs.to_changelog import to_changelog
from fsql.compiler.binder.constants import one_row
from fsql.compiler.binder.joins.snapshot_join import SNAPSHOT, SNAPSHOT_FORM
from fsql.compiler.binder.relation import Relation, apply_alias, relation_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.subqueries.lateral import gives_elements, unnest
from fsql.compiler.binder.tables import bind_table_argument
from fsql.compiler.binder.windows.session import assign_sessions, partition_of_table
from fsql.compiler.binder.windows.window import assign_windows, read_window_call
from fsql.compiler.binder.windows.window_gaps import warn_of_gaps
from fsql.compiler.functions.refused import WINDOW_FUNCTIONS

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.query_binder import QueryBinder

_RUN: Final = "RUN"
_M4: Final = "M4"
"""Functions whose binders few scripts need: they are imported where one is called."""


def _is_call_of(written: syntax.TableFunction, function: str) -> bool:
    return len(written.name.parts) == 1 and written.name.parts[0].name.upper() == function


def bind_table_function(
    written: syntax.TableFunction, context: Context, bind_query: QueryBinder, *, changes: bool
) -> Relation:
    """Return the relation of a table function in FROM: elements of an array, windows or changes.

    `changes` states whether the SELECT ends with EMIT CHANGES.

    Raises:
        Refusal: E2xx to E4xx.
    """
    if gives_elements(written, context.functions):
        return unnest(one_row(context, written.span), written, context)
    if _is_call_of(written, _RUN):
        from fsql.compiler.binder.programs import bind_run

        return bind_run(written, context, bind_query)
    _check_place(written)
    function = changelog_function(written)
    if function is not None:
        given = changelog_arguments(written)
        table = given["INPUT"]
        assert isinstance(table, syntax.TableArgument)
        rows = bind_table_argument(table, context, bind_query)
        make = to_changelog if function == TO_CHANGELOG else from_changelog
        return apply_alias(make(rows, given, context), written.alias)
    if _is_call_of(written, _M4):
        from fsql.compiler.binder.windows.line_chart import bind_line_chart

        chart = bind_line_chart(written, context, bind_query, changes=changes)
        return apply_alias(chart, written.alias)
    zone = context.zone
    call = read_window_call(written.name, written.arguments, written.span, zone, in_from=True)
    warn_of_gaps(call, written.span, context.report)
    partition: tuple[syntax.Expression, ...] = ()
    match call.data:
        case syntax.TableArgument() | syntax.ColumnReference():
            data = bind_table_argument(call.data, context, bind_query)
            if isinstance(call.data, syntax.TableArgument):
                partition = call.data.partition_by
        case syntax.ScalarSubquery(query=query):
            data = relation_of(bind_query(query, context), None)
        case _:
            raise refusal(
                "E307",
                "the first argument of a window function must be a table",
                written.span,
                help="write TABLE t, or the name alone",
            )
    spans = context.source_spans
    if call.slide_us is None:
        keys = partition_of_table(data, partition, context)
        sessions = assign_sessions(data, keys, call, written.span, spans)
        return apply_alias(sessions, written.alias)
    if partition:
        raise refusal(
            "E307",
            "PARTITION BY of a window that has fixed bounds",
            partition[0].span,
            note="only sessions depend on the other rows of a key",
            help="remove it, and group by the key",
        )
    return apply_alias(assign_windows(data, call, written.span, spans), written.alias)


def _check_place(written: syntax.TableFunction) -> None:
    """Check that a function is not one that stands elsewhere, or after LATERAL.

    Raises:
        Refusal: E301, E307.
    """
    name = written.name.parts[-1].name
    if name.upper() == SNAPSHOT:
        what = "SNAPSHOT elsewhere than in JOIN LATERAL"
        raise refusal("E307", what, written.span, help=f"write {SNAPSHOT_FORM}")
    if written.ordinality:
        raise refusal(
            "E307",
            "WITH ORDINALITY of a table function whose rows are not the elements of an array",
            written.span,
            help="write ROW_NUMBER() OVER (ORDER BY at) AS n in a SELECT from it",
        )
    if written.lateral and (
        name.upper() in {*WINDOW_FUNCTIONS, _M4} or changelog_function(written)
    ):
        raise not_implemented("LATERAL of a function over a whole table", written.span)
