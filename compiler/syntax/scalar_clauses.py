"""The clauses behind the arguments of a call that only aggregates have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.refusal import Refusal, refusal

if TYPE_CHECKING:
    from fsql.compiler.syntax.calls import FunctionCall


def refuse_clauses(written: FunctionCall, name: str) -> None:
    """Refuse clauses that only aggregates have.

    Raises:
        Refusal: E404.
    """
    clauses = {
        "DISTINCT": written.distinct,
        "ORDER BY": bool(written.order_by),
        "FILTER": written.filter is not None,
        "IGNORE NULLS": written.ignore_nulls and name not in {"LAG", "LEAD", "NTH_VALUE"},
        "RESPECT NULLS": written.respect_nulls and name not in {"LAG", "LEAD"},
    }
    for clause, present in clauses.items():
        if present:
            raise refusal(
                "E404",
                f"function {name} is not an aggregate and does not take {clause}",
                written.span,
                help=f"remove {clause}",
            )


def without_over(written: FunctionCall, name: str) -> Refusal:
    """Return the refusal of OVER behind a function that is not an aggregate."""
    message = f"function {name} is not an aggregate and does not take OVER"
    return refusal(
        "E404",
        message,
        written.span,
        help=f"remove OVER: {name} is computed for each row by itself",
    )
