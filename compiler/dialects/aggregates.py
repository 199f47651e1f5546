"""Aggregates that have another name in other systems.

LIST(x)                    →   ARRAY_AGG(x)
COLLECT_SET(x)             →   ARRAY_AGG(DISTINCT x)
FIRST(x)                   →   FIRST_VALUE(x) RESPECT NULLS
SUM_LIST(x)                →   SUM(ARRAY_SUM(x))
HISTOGRAM(x), COLLECT(x)   →   ARRAY_HISTOGRAM(ARRAY_AGG(x ORDER BY x) IGNORE NULLS)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import refusal

_NAMES: Final = {
    "COLLECT_SET": "ARRAY_AGG",
    "LIST": "ARRAY_AGG",
    "MEAN": "AVG",
    "JSONB_AGG": "JSON_AGG",
    "JSONB_OBJECT_AGG": "JSON_OBJECT_AGG",
    "FIRST": "FIRST_VALUE",
    "LAST": "LAST_VALUE",
}


def called(written: syntax.FunctionCall, name: str) -> syntax.FunctionCall:
    """Return a call of another function, with all that the call has."""
    return replace(written, name=syntax.QualifiedName.of(written.name.span, name))


def renamed(written: syntax.FunctionCall) -> syntax.FunctionCall:
    """Return an aggregate with the name that it has here."""
    name = written.name.parts[-1].name.upper()
    made = called(written, _NAMES[name])
    if name == "COLLECT_SET":
        return replace(made, distinct=True)
    if name in {"FIRST", "LAST"} and not written.ignore_nulls:
        return replace(made, respect_nulls=True)
    return made


def sum_of_arrays(written: syntax.FunctionCall) -> syntax.FunctionCall | None:
    """Return SUM_LIST(x) as the sum of the sums."""
    if len(written.arguments) != 1:
        return None
    total = syntax.FunctionCall.of(written.span, "ARRAY_SUM", *written.arguments)
    return replace(called(written, "SUM"), arguments=(total,))


def counted_values(written: syntax.FunctionCall) -> syntax.FunctionCall:
    """Return HISTOGRAM(x), and COLLECT(x), whose MULTISET is a map of counts, as that of all values.

    Raises:
        Refusal: E401.
    """
    name = written.name.parts[-1].name.upper()
    value = written.arguments[0] if len(written.arguments) == 1 else None
    if value is None or isinstance(value, syntax.Star):
        raise refusal("E401", f"{name} takes a value", written.span, help=f"write {name}(x)")
    # In order, so that rows may be removed; a running aggregate has the order of its rows.
    order = (
        ()
        if written.over
        else (syntax.OrderItem(value.span, value, descending=False, nulls_first=None),)
    )
    collected = replace(called(written, "ARRAY_AGG"), order_by=order, ignore_nulls=True)
    return syntax.FunctionCall.of(written.span, "ARRAY_HISTOGRAM", collected)
