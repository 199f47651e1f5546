"""Changelogs of RisingWave in WITH: the changes of a table, with the number of their kind.

WITH c AS CHANGELOG FROM t  →  c AS (SELECT * EXCLUDE (op), CAST(op AS SMALLINT) AS op FROM TO_CHANGELOG(
    TABLE t, op => DESCRIPTOR(op), op_mapping => MAP['INSERT', '1', …]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_OPERATION: Final = "changelog_op"

_NUMBERS: Final = (
    ("INSERT", "1"),
    ("DELETE", "2"),
    ("UPDATE_AFTER", "3"),
    ("UPDATE_BEFORE", "4"),
)
"""What RisingWave has in the column of the operation."""


def common_changelog(
    span: Span, name: syntax.Identifier, table: syntax.QualifiedName
) -> syntax.CommonTable:
    """Return `c AS CHANGELOG FROM t`."""
    operation = syntax.Identifier(span, _OPERATION)
    numbers = [syntax.StringLiteral(span, text) for pair in _NUMBERS for text in pair]
    changes = syntax.TableFunction(
        span,
        syntax.QualifiedName(span, (syntax.Identifier(span, "TO_CHANGELOG"),)),
        (
            syntax.TableArgument(table.span, table),
            _named(span, "OP", syntax.Descriptor(span, (operation,))),
            _named(span, "OP_MAPPING", syntax.MapConstructor(span, tuple(numbers))),
        ),
        lateral=False,
    )
    number = syntax.Cast(
        span,
        syntax.ColumnReference(span, (operation,)),
        syntax.TypeName(span, "SMALLINT"),
        safe=False,
    )
    items = (syntax.Star(span, without=(operation,)), syntax.SelectItem(span, number, operation))
    select = syntax.Select(span, distinct=False, items=items, relations=(changes,))
    return syntax.CommonTable(span, name, (), syntax.Query(span, select))


def _named(
    span: Span, name: str, value: syntax.Expression | syntax.Descriptor
) -> syntax.NamedArgument:
    return syntax.NamedArgument(span, syntax.Identifier(span, name), value)
