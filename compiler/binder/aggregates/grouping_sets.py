"""GROUPING SETS, ROLLUP and CUBE: each row is repeated for each set, with NULL for the keys of other sets.

    GROUP BY w, ROLLUP (a)    →    UNNEST([0, 1]) AS s, GROUP BY w, CASE WHEN s = 0 THEN a END, s

The number of the set is a key, so that a NULL for a key of another set is not a value of that key.
Keys of every set remain as they are: a window among them closes the groups.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.bound.select import Key
    from fsql.compiler.text.source import Span

    Elements = tuple[syntax.Expression | syntax.GroupingSets, ...]
    WrittenSet = tuple[syntax.Expression, ...]
    KeySet = tuple[Key, ...]


SETS_MAX: Final = 64


def bind_sets(
    elements: Elements, bind: Callable[[syntax.Expression], KeySet]
) -> tuple[KeySet, ...]:
    """Return the grouping sets of a GROUP BY: one, if it uses none of the forms.

    `bind` returns the keys of an expression; it is called once for each expression in the text.

    Raises:
        Refusal: E301.
    """
    bound: dict[Span, KeySet] = {}

    def keys_of(written: syntax.Expression) -> KeySet:
        if written.span not in bound:
            bound[written.span] = bind(written)
        return bound[written.span]

    parts = [_sets(element) for element in elements]
    count = math.prod(len(part) for part in parts)
    if count > SETS_MAX:
        first = next(each for each in elements if isinstance(each, syntax.GroupingSets))
        raise _too_many(count, first.span)
    combined = (sum(chosen, ()) for chosen in product(*parts))
    return tuple(tuple(key for each in one for key in keys_of(each)) for one in combined)


def _sets(element: syntax.Expression | syntax.GroupingSets) -> list[WrittenSet]:
    """Return the sets of an element of GROUP BY, as written."""
    if not isinstance(element, syntax.GroupingSets):
        return [(element,)]
    if element.kind == "GROUPING SETS":
        return [
            one
            for part in element.sets
            for one in (_sets(part) if isinstance(part, syntax.GroupingSets) else [part])
        ]
    parts: list[WrittenSet] = []
    for part in element.sets:
        if isinstance(part, syntax.GroupingSets):
            raise not_implemented(f"{part.kind} in {element.kind}", part.span)
        parts.append(part)
    if element.kind == "ROLLUP":
        return [sum(parts[:end], ()) for end in range(len(parts), -1, -1)]
    if 2 ** len(parts) > SETS_MAX:
        raise _too_many(2 ** len(parts), element.span)
    return [
        sum(chosen, ())
        for size in range(len(parts), -1, -1)
        for chosen in combinations(parts, size)
    ]


def _too_many(count: int, span: Span) -> Exception:
    return not_implemented(
        f"{count:,} grouping sets; the limit is {SETS_MAX}", span, help="write the sets needed"
    )
