"""INSERTs that add rows: to a table that another one writes, and to a stream that is a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.catalog import ViewEntry
from fsql.compiler.binder.ddl.views import warn_of_changed_rows
from fsql.compiler.binder.insert import bind_added
from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Label
from fsql.compiler.logical import append_only
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.catalog import Catalog
    from fsql.compiler.binder.context import Context, ScanNumbers
    from fsql.compiler.logical import Plan


@dataclass(frozen=True, slots=True)
class Written:
    """A table that is written: its last INSERT, the position of that, and the queries of all its INSERTs."""

    statement: syntax.Insert
    position: int
    scan_numbers: ScanNumbers
    queries: tuple[Plan, ...]


def check_added(insert: syntax.Insert, written: Written) -> None:
    """Check that an INSERT may write a table that another INSERT of the script writes.

    Raises:
        Refusal: E314, if one of them has a clause that is about all rows of the table.
    """
    for each in (insert, written.statement):
        clause = "OVERWRITE" if each.overwrite else "ON CONFLICT" if each.on_conflict else None
        if clause is not None:
            raise refusal(
                "E314",
                f"INSERT with {clause} is not the only INSERT into its table",
                insert.table.span,
                secondary=(Label(written.statement.table.span, "written here, too"),),
                note="all statements of a script are one job, which writes the rows of all INSERTs",
                help="write one INSERT with the UNION ALL of the queries",
            )


def add_to_stream(statement: syntax.Insert, context: Context) -> bool:
    """Add the rows of an INSERT to a stream that is a query; return whether it was one.

    Raises:
        Refusal: E2xx to E4xx; E314 if the stream is read already.
        Abandoned: where several parts were refused.
    """
    catalog = context.catalog
    stream = catalog.find(statement.table.parts[-1])
    if not isinstance(stream, ViewEntry) or stream.plan is None or stream.declaration is None:
        return False
    if stream.declaration.created_as != "STREAM":
        return False
    check_not_read(stream.name, statement, catalog)
    added = bind_added(statement, stream, context)
    check_not_read(stream.name, statement, catalog)
    catalog.change(added)
    assert added.plan is not None
    if append_only(stream.plan):
        warn_of_changed_rows(statement.table.parts[-1], added.plan, context.report)
    return True


def check_not_read(name: str, statement: syntax.Insert, catalog: Catalog) -> None:
    """Check that no statement reads a table to which an INSERT adds rows.

    Raises:
        Refusal: E314.
    """
    if catalog.is_read(name):
        raise refusal(
            "E314",
            f'"{name}" is read before all of its rows are known',
            statement.table.span,
            note="a name means the same rows wherever it is read",
            help="move this INSERT before the statements that read it",
        )
