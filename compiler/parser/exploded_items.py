"""EXPLODE in SELECT, as in ksqlDB and Spark, and UNNEST, as in PostgreSQL: UNNEST in FROM.

SELECT a, EXPLODE(b) AS c FROM t   →   SELECT a, u.x AS c FROM t, UNNEST(b) AS u(x)
"""

from __future__ import annotations

from typing import Final

from fsql.compiler import syntax
from fsql.compiler.parser.json_elements import json_array

_ALIAS: Final = "exploded"
_NAMES: Final = {"EXPLODE": "col", "UNNEST": "unnest"}
"""The functions, with the names of columns without an alias; those of JSON have their own names."""
_Items = tuple[syntax.SelectItem | syntax.Star, ...]


def explode_items(
    items: _Items, relations: tuple[syntax.Relation, ...]
) -> tuple[_Items, tuple[syntax.Relation, ...]]:
    """Return the items and relations of a SELECT with UNNEST in FROM instead of EXPLODE in items.

    Several arrays are unnested side by side.  Beside `*`, which would have the elements as well, nothing is
    changed.
    """
    exploded = {
        index: array
        for index, item in enumerate(items)
        if isinstance(item, syntax.SelectItem)
        and (array := _exploded_array(item.expression)) is not None
    }
    if not exploded or any(isinstance(item, syntax.Star) and not item.qualifier for item in items):
        return items, relations
    changed = list(items)
    columns: list[syntax.Identifier] = []
    for number, index in enumerate(exploded, 1):
        item = items[index]
        assert isinstance(item, syntax.SelectItem)
        span = item.expression.span
        column = syntax.Identifier(span, f"{_ALIAS}{number}")
        reference = syntax.ColumnReference(span, (syntax.Identifier(span, _ALIAS), column))
        assert isinstance(item.expression, syntax.FunctionCall)
        called = _called(item.expression)
        alias = item.alias or syntax.Identifier(span, _NAMES.get(called, called.lower()))
        changed[index] = syntax.SelectItem(item.span, reference, alias)
        columns.append(column)
    first, *others = exploded.values()
    span = columns[0].span
    relation = syntax.TableAlias(span, syntax.Identifier(span, _ALIAS), tuple(columns))
    unnest = syntax.Unnest(
        span, first, ordinality=False, alias=relation, others=tuple(others), whole=True
    )
    return tuple(changed), (*relations, unnest)


def _exploded_array(expression: syntax.Expression) -> syntax.Expression | None:
    """Return the array of `EXPLODE(a)`, `UNNEST(a)` and elements of JSON; None for other expressions."""
    if not isinstance(expression, syntax.FunctionCall) or len(expression.arguments) != 1:
        return None
    (array,) = expression.arguments
    if isinstance(array, syntax.Star):
        return None
    name = _called(expression)
    return array if name in _NAMES else json_array(name, expression.span, array)


def _called(call: syntax.FunctionCall) -> str:
    return ".".join(part.name.upper() for part in call.name.parts)
