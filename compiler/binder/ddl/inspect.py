"""SHOW and DESCRIBE: lists of what a script has declared so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import TableEntry, ViewEntry
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.scope import names_text
from fsql.compiler.binder.tables import find_entry
from fsql.compiler.diagnostics import Label
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.inspections import Listing

if TYPE_CHECKING:
    from fsql.compiler.binder.catalog import Entry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.schema import Column
    from fsql.compiler.text.source import SourceText


_LISTS: Final = ("TABLES", "VIEWS")
_NO_CATALOG: Final = "a script declares all tables that it uses; there is no catalog"
_DESCRIPTION: Final = ("name", "type", "null", "key", "extras", "watermark", "comment")


def show(written: syntax.Show, context: Context) -> Listing:
    """Return the names of all tables, views among them, or of all views, in the order of declaration.

    Raises:
        Refusal: E314.
    """
    what = written.what.name.upper()
    entries = context.catalog.entries()
    if what == "TABLES":
        return Listing(("table name",), tuple((entry.name,) for entry in entries))
    if what == "VIEWS":
        views = (entry.name for entry in entries if isinstance(entry, ViewEntry))
        return Listing(("view name",), tuple((name,) for name in views))
    raise refusal(
        "E314",
        f"SHOW has no {what}",
        written.what.span,
        note=f"it has {names_text([*_LISTS, 'CREATE TABLE', 'CREATE VIEW'])}",
        help={
            "FUNCTIONS": "docs/language.md lists the functions",
            "CONNECTORS": "run fsql connectors",
            "JOBS": "run fsql ps",
            "QUERIES": "run fsql ps",
            "STREAMS": "write SHOW TABLES",
            "SOURCES": "write SHOW TABLES",
            "SINKS": "write SHOW TABLES",
            "CATALOGS": _NO_CATALOG,
            "DATABASES": _NO_CATALOG,
            "SCHEMAS": _NO_CATALOG,
        }.get(what),
    )


def show_create(written: syntax.ShowCreate, context: Context, source: SourceText) -> Listing:
    """Return the text of the statement that declares a table or view.

    Raises:
        Refusal: E201.
    """
    entry = find_kind(written.name, context, view=written.view)
    assert entry.declaration is not None
    return Listing(("result",), ((source.slice(entry.declaration.span),),))


def find_kind(name: syntax.QualifiedName, context: Context, *, view: bool | None) -> Entry:
    """Return the table or view of that name; with None, either.

    A view that was made by CREATE TABLE is both.

    Raises:
        Refusal: E201, if there is none, or one of the other kind.
        Abandoned: if its declaration was refused.
    """
    entry = find_entry(name, context)
    if isinstance(entry, ViewEntry) and entry.plan is None:
        raise Abandoned
    if view is None or isinstance(entry, ViewEntry) == view:
        return entry
    declared = entry.declaration
    if not (isinstance(declared, syntax.CreateView) and declared.created_as == "TABLE"):
        kind, other = ("view", "table") if view else ("table", "view")
        raise refusal(
            "E201",
            f'{kind} "{entry.name}" does not exist',
            name.span,
            secondary=(Label(entry.span, f"declared as a {other} here"),),
            help=f"it is a {other}: write {other.upper()}",
        )
    return entry


def describe(written: syntax.Describe, context: Context, source: SourceText) -> Listing:
    """Return the columns of a table or view.

    Raises:
        Refusal: E201.
        Abandoned: if its declaration was refused.
    """
    entry = find_entry(written.name, context)
    if isinstance(entry, ViewEntry):
        if entry.plan is None:
            raise Abandoned
        named = entry.plan.schema[:-1] if entry.hidden_time else entry.plan.schema
        rows = tuple(_row(column) for column in named)
        return Listing(_DESCRIPTION, rows)
    return Listing(_DESCRIPTION, tuple(_table_rows(entry, source)))


def _table_rows(entry: TableEntry, source: SourceText) -> list[tuple[str | None, ...]]:
    """Return a row for each column of a table, in the order of declaration."""
    declared = entry.declaration
    assert declared is not None
    keys = [entry.columns[index].name for index in entry.primary_key or ()]
    key = f"PRI({', '.join(keys)})"
    watermarks = {
        each.column.name.lower(): source.slice((each.expression or each.column).span)
        for each in declared.watermarks
    }
    schema: dict[str, Column] = {column.name: column for column in entry.columns}
    schema |= {each.column.name: each.column for each in entry.metadata}
    metadata = {each.column.name: each for each in entry.metadata}
    computed = {column.name: column.expression for column in entry.computed}
    rows: list[tuple[str | None, ...]] = []
    extras: str | None
    for column in declared.columns:
        name = column.name.name
        comment = None if column.comment is None else column.comment.value
        watermark = watermarks.get(name.lower())
        if isinstance(column, syntax.ComputedColumn):
            value = computed[name]
            extras = f"AS {source.slice(column.expression.span)}"
            null = _truth(value.nullable)
            rows.append((name, str(value.type), null, None, extras, watermark, comment))
        elif isinstance(column, syntax.MetadataColumn):
            known = metadata[name]
            rows.append((*_row(known.column)[:4], f"METADATA FROM '{known.key}'", None, comment))
        else:
            own = key if name in keys else None
            extras = "PARTITIONED BY" if name in entry.partitioned_by else None
            rows.append((*_row(schema[name])[:3], own, extras, watermark, comment))
    return rows


def _row(column: Column) -> tuple[str | None, ...]:
    return (column.name, str(column.type), _truth(column.nullable), None, None, None, None)


def _truth(value: bool) -> str:  # noqa: FBT001
    return "TRUE" if value else "FALSE"
