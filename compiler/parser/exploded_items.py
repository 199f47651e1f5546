"""EXPLODE in SELECT, as in ksqlDB and Spark, and UNNEST, as in PostgreSQL: UNNEST in FROM.

SELECT a, EXPLODE(b) AS c FROM t   →   SELECT a, u.x AS c FROM t, UNNEST(b) AS u(x)
SELECT *, EXPLODE(b).c FROM t      →   SELECT t.*, u.x.c FROM t, UNNEST(b) AS u(x)
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.parser.json_elements import json_array
from fsql.compiler.syntax.names import parts

_ALIAS: Final = "exploded"
_NAMES: Final = {"EXPLODE": "col", "UNNEST": "unnest"}
"""The functions, with the names of columns without an alias; those of JSON have their own names."""
_CLOSED: Final = (syntax.Query, syntax.Lambda)
"""What is not searched: a subquery has its own FROM, and parameters of a lambda have no meaning outside."""
_Items = tuple[syntax.SelectItem | syntax.Star, ...]


def explode_items(
    items: _Items, relations: tuple[syntax.Relation, ...]
) -> tuple[_Items, tuple[syntax.Relation, ...]]:
    """Return the items and relations of a SELECT with UNNEST in FROM instead of EXPLODE in items.

    Several arrays are unnested side by side.  Beside `*` of several relations, which would have the elements
    as well, nothing is changed.
    """
    if not any(_has_call(item) for item in items):
        return items, relations
    whole = _qualifier(relations)
    if whole is None and any(map(_is_whole, items)):
        return items, relations
    found: list[tuple[syntax.Identifier, syntax.Expression]] = []
    changed: list[syntax.SelectItem | syntax.Star] = []
    for item in items:
        if isinstance(item, syntax.SelectItem):
            changed.append(_without_calls(item, found))
        elif whole is not None and _is_whole(item):
            changed.append(replace(item, qualifier=(whole,)))
        else:
            changed.append(item)
    columns = tuple(column for column, _ in found)
    first, *others = (array for _, array in found)
    span = columns[0].span
    relation = syntax.TableAlias(span, syntax.Identifier(span, _ALIAS), columns)
    unnest = syntax.Unnest(
        span, first, ordinality=False, alias=relation, others=tuple(others), whole=True
    )
    return tuple(changed), (*relations, unnest)


def _is_whole(item: syntax.SelectItem | syntax.Star) -> bool:
    return isinstance(item, syntax.Star) and not item.qualifier


def _qualifier(relations: tuple[syntax.Relation, ...]) -> syntax.Identifier | None:
    """Return the name of the only relation of FROM; None if there are several, or if it has none."""
    only = relations[0] if len(relations) == 1 else None
    if not isinstance(only, syntax.TableReference | syntax.Derived):
        return None
    if only.alias is not None:
        return only.alias.name
    return only.name.parts[-1] if isinstance(only, syntax.TableReference) else None


def _without_calls(
    item: syntax.SelectItem, found: list[tuple[syntax.Identifier, syntax.Expression]]
) -> syntax.SelectItem:
    """Return an item with a column for each array of `found`, to which those of the item are added."""

    def column(call: syntax.FunctionCall, array: syntax.Expression) -> syntax.ColumnReference:
        name = syntax.Identifier(call.span, f"{_ALIAS}{len(found) + 1}")
        found.append((name, array))
        return syntax.ColumnReference(call.span, (syntax.Identifier(call.span, _ALIAS), name))

    def changed(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if not isinstance(value, syntax.Syntax) or isinstance(value, _CLOSED):
            return value
        array = _exploded_array(value)
        if array is not None:
            assert isinstance(value, syntax.FunctionCall)
            return column(value, array)
        given = {each.name: getattr(value, each.name) for each in fields(value)}
        made = {name: changed(part) for name, part in given.items() if name != "span"}
        return replace(value, span=value.span, **made)

    expression = changed(item.expression)
    assert isinstance(expression, syntax.Expression)
    alias = item.alias
    named = item.expression
    while isinstance(named, syntax.Cast):
        named = named.operand
    if alias is None and _exploded_array(named) is not None:
        assert isinstance(named, syntax.FunctionCall)
        called = _called(named)
        alias = syntax.Identifier(named.span, _NAMES.get(called, called.lower()))
    return syntax.SelectItem(item.span, expression, alias)


def _has_call(value: object) -> bool:
    """Return whether a call that gives elements is in `value`, outside of subqueries and lambdas."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += each
        elif isinstance(each, syntax.Syntax) and not isinstance(each, _CLOSED):
            if _exploded_array(each) is not None:
                return True
            waiting += parts(each)
    return False


def _exploded_array(expression: object) -> syntax.Expression | None:
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
