"""Warns of casts to DECIMAL without digits, which round, where another system keeps all digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.type_names import warn_of_type
from fsql.compiler.binder.references import parts_of
from fsql.compiler.sqltypes import INTEGER_RANGES, Kind

if TYPE_CHECKING:
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.sqltypes import SqlType


_WHOLE = frozenset({*INTEGER_RANGES, Kind.BOOLEAN, Kind.NULL})


def warn_of_rounding_casts(
    script: syntax.Script, source_spans: SourceSpans, report: Report
) -> None:
    """Warn of each cast that rounds values, in the order of the text, after the script is bound."""
    casts = [part for part in parts_of(script) if isinstance(part, syntax.Cast)]
    for cast in sorted(casts, key=lambda each: each.span.start):
        types = source_spans.types_at(cast.operand.span)
        # The table keeps some spans of an expression only, so what is not in it may round.
        if not types or not all(map(_is_whole, types)):
            warn_of_type(cast.type, report)


def _is_whole(type_: SqlType) -> bool:
    """Return whether no value of a type has digits after the point."""
    return type_.kind in _WHOLE or (type_.kind is Kind.DECIMAL and type_.scale == 0)
