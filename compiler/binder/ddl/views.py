"""CREATE VIEW, and CREATE TABLE and CREATE STREAM with a query only, which are views."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.ddl.statements import exists
from fsql.compiler.binder.query import bind_view
from fsql.compiler.binder.tables import simple_name
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.logical import append_only

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.logical import Plan


def create_view(view: syntax.CreateView, context: Context) -> None:
    """Add a view to the catalog, also if its query is refused; its readers then give no further errors.

    Raises:
        Refusal: E205, E301.
    """
    name = simple_name(view.name)
    if exists(name, context, if_not_exists=view.if_not_exists):
        return
    bound = bind_view(name, view.columns, view.query, context)
    context.catalog.add(replace(bound, declaration=view))
    if view.created_as is None:
        return
    lacks = "its options name no topic or connector" if view.options else "has no WITH"
    context.report.warn(
        Diagnostic(
            "W205",
            f'rows of "{name.name}" are not stored',
            Label(name.span, f"{lacks}, so it is a view"),
            helps=(
                "write CREATE VIEW, if only the statements after it read it",
                f"or say where they are written: CREATE {view.created_as} {name.name} WITH (…) AS …",
            ),
        )
    )
    if view.created_as == "STREAM" and bound.plan is not None:
        warn_of_changed_rows(name, bound.plan, context.report)


def warn_of_changed_rows(stream: syntax.Identifier, rows: Plan, report: Report) -> None:
    """Warn of a stream whose rows are changed later; rows of a stream are expected to stay."""
    if append_only(rows):
        return
    report.warn(
        Diagnostic(
            "W208",
            f'rows of "{stream.name}" are changed later',
            Label(stream.span, "is a stream"),
            notes=("its query is updating: a change of a row changes all results with it",),
            helps=(
                "to join the row of the time of each event, write JOIN t FOR SYSTEM_TIME AS OF s.at",
                "or write CREATE TABLE, if the result is a table",
            ),
        )
    )
