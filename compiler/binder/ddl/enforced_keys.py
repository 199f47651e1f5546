"""PRIMARY KEY without NOT ENFORCED: a row replaces the row of its key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context


_READ_AS_UPSERTS: Final = frozenset({"json", "debezium-json"})
"""Formats whose rows need not have the kind of a change."""


def with_enforced_key(table: syntax.CreateTable, context: Context) -> syntax.CreateTable:
    """Return a table with `'changes' = 'upsert'` if its PRIMARY KEY is enforced and it says nothing else.

    A query that writes the table has one row of each key in any case.

    Raises:
        Refusal: E301, if the rows of the table would need to have the kind of a change.
    """
    options = {each.key.value.lower(): each.value.value for each in table.options}
    connector = context.declared.connector(options.get("connector", ""))
    enforced = [key for key in table.primary_keys if key.enforced]
    if not enforced or connector is None or not connector.reads or "changes" in options:
        return table
    default = connector.option("format")
    format_ = options.get("format", None if default is None else default.default)
    span = enforced[0].span
    if connector.option("changes") is None or format_ not in _READ_AS_UPSERTS:
        raise not_implemented(
            f"a PRIMARY KEY that is enforced, of format {format_}"
            if format_
            else f"a PRIMARY KEY that is enforced, of connector {connector.name}",
            span,
            help="write PRIMARY KEY (…) NOT ENFORCED: all rows are kept then",
        )
    upserts = syntax.TableOption(
        span, syntax.StringLiteral(span, "changes"), syntax.StringLiteral(span, "upsert")
    )
    return replace(table, options=(*table.options, upserts))
