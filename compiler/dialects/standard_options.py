"""The pass that gives options of tables and settings the names of this language.

What is said of them is in the `remarks` of the statement, and reported where it is bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import Refusal
from fsql.compiler.dialects.registry import OPTIONS

if TYPE_CHECKING:
    from fsql.compiler.diagnostics import Diagnostic

_TOPIC: Final = "kafka_topic"
_OF_COLUMNS: Final = frozenset({"timestamp", "timestamp_format"})
"""Options that are about columns, which a table with a query has from the query."""


def with_standard_options(script: syntax.Script) -> syntax.Script:
    """Return the script with the options of its tables, and its settings, in the names of this language."""
    connectors: dict[str, str | None] = {}
    statements: list[syntax.Statement] = []
    for statement in script.statements:
        match statement:
            case syntax.CreateTable():
                base = _base(statement, connectors)
                table = _waiting(statement) or standard_table(statement, base)
                connectors[statement.name.parts[-1].name.lower()] = _connector(table, base)
                statements.append(table)
            case syntax.SetOption():
                from fsql.compiler.dialects.flink.settings import with_remarks

                statements.append(with_remarks(statement))
            case _:
                statements.append(statement)
    return replace(script, statements=tuple(statements))


def standard_table(table: syntax.CreateTable, base: str | None = None) -> syntax.CreateTable:
    """Return a table whose options have the names of fsql; `base` is the connector of the table in LIKE."""
    warnings: list[Diagnostic] = []
    made, refused = table, None
    try:
        for row in OPTIONS:
            if row.applies(made):
                made = row.load()(made, base, warnings.append)
    except Refusal as refusal:
        made, refused = table, refusal.diagnostic
    # A stream that is said to have changes is not expected to keep its rows.
    stream = table.stream and all(each.key.value.lower() != "changes" for each in table.options)
    if made is table and not warnings and refused is None and stream == table.stream:
        return table
    return replace(made, stream=stream, remarks=syntax.Remarks(tuple(warnings), refused))


def _waiting(table: syntax.CreateTable) -> syntax.CreateTable | None:
    """Return a table whose options depend on the query, which is not bound yet; None for others."""
    keys = {each.key.value.lower() for each in table.options}
    if table.query is None or not keys & {_TOPIC, *_OF_COLUMNS}:
        return None
    from fsql.compiler.dialects.ksqldb.topic_options import key_of_query

    return replace(table, awaits_query=True, key_of_query=key_of_query(table))


def _base(table: syntax.CreateTable, connectors: dict[str, str | None]) -> str | None:
    """Return the connector of the table that LIKE names; None if there is none."""
    return None if table.like is None else connectors.get(table.like.table.parts[-1].name.lower())


def _connector(table: syntax.CreateTable, base: str | None) -> str | None:
    own = (each.value.value for each in table.options if each.key.value.lower() == "connector")
    return next((name.lower() for name in own), base)
