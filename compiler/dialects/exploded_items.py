"""EXPLODE in SELECT, as in ksqlDB and Spark, and UNNEST, as in PostgreSQL: UNNEST in FROM.

SELECT a, EXPLODE(b) AS c FROM t   →   SELECT a, u.x AS c FROM t, UNNEST(b) AS u(x)
SELECT *, EXPLODE(b).c FROM t      →   SELECT t.*, u.x.c FROM t, UNNEST(b) AS u(x)
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Final

from fsql.compiler import syntax
from fsql.compiler.dialects.json_elements import json_array
from fsql.compiler.syntax.names import generated_name, parts

_ALIAS: Final = generated_name("exploded array")
_NAMES: Final = {"EXPLODE": "col", "UNNEST": "unnest"}
"""The functions, with the names of columns without an alias; those of JSON have their own names."""
_CLOSED: Final = (syntax.Query, syntax.Lambda)
"""What is not searched: a subquery has its own FROM, and parameters of a lambda have no meaning outside."""
_Items = tuple[syntax.SelectItem | syntax.Star, ...]
_Keys = tuple[syntax.Expression | syntax.GroupingSets, ...]
_KEYS: Final = (syntax.Expression, syntax.GroupingSets)
_Found = list[tuple[syntax.Identifier, syntax.Expression]]
"""The columns of the elements, and the arrays that they are of."""


def exploded(select: syntax.Select) -> syntax.Select:
    """Return a SELECT with UNNEST in FROM instead of EXPLODE in its items.

    Several arrays are unnested side by side.  Nothing is changed beside `*` of several relations, which would
    have the elements as well, and where an item with elements is no key: its array is one of a group.
    """
    items, keys = select.items, None if select.group_by_all else select.group_by
    if not _calls(items) or not (keys is None or _are_keys(items, keys)):
        return select
    whole = _qualifier(select.relations)
    if whole is None and any(map(_is_whole, items)):
        return select
    found: _Found = []
    changed: list[syntax.SelectItem | syntax.Star] = []
    for item in items:
        if isinstance(item, syntax.SelectItem):
            made = _without_calls(item.expression, found)
            assert isinstance(made, syntax.Expression)
            changed.append(replace(item, span=item.span, expression=made, alias=_alias(item)))
        elif whole is not None and _is_whole(item):
            changed.append(replace(item, qualifier=(whole,)))
        else:
            changed.append(item)
    if keys is not None:
        made_keys = (_without_calls(key, found) for key in keys)
        keys = tuple(key for key in made_keys if isinstance(key, _KEYS))
    columns = tuple(column for column, _ in found)
    first, *others = (array for _, array in found)
    span = columns[0].span
    relation = syntax.TableAlias(span, syntax.Identifier(span, _ALIAS), columns)
    unnest = syntax.Unnest(
        span, first, ordinality=False, alias=relation, others=tuple(others), whole=True
    )
    relations = (*select.relations, unnest)
    group_by = select.group_by if keys is None else keys
    return replace(select, items=tuple(changed), relations=relations, group_by=group_by)


def _are_keys(items: _Items, keys: _Keys) -> bool:
    """Return whether all elements are keys: by an item's name or place, or as they are written."""
    elements = _elements(keys)
    named = {
        key.parts[-1].name.lower() for key in elements if isinstance(key, syntax.ColumnReference)
    }
    places = {key.text for key in elements if isinstance(key, syntax.NumberLiteral)}
    written = _calls(tuple(elements))
    for place, item in enumerate(items, 1):
        if not isinstance(item, syntax.SelectItem):
            places.clear()  # it is not known how many columns `*` has
            continue
        alias = _alias(item)
        meant = str(place) in places or (alias is not None and alias.name.lower() in named)
        if not (meant or all(call in written for call in _calls(item))):
            return False
    return True


def _elements(keys: _Keys) -> list[syntax.Expression]:
    """Return the expressions of GROUP BY, with those in grouping sets."""
    found: list[syntax.Expression] = []
    waiting: list[object] = [keys]
    while waiting:
        each = waiting.pop()
        if isinstance(each, syntax.GroupingSets):
            waiting += each.sets
        elif isinstance(each, tuple):
            waiting += each
        elif isinstance(each, syntax.Expression):
            found.append(each)
    return found


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


def _without_calls(part: syntax.Syntax, found: _Found) -> syntax.Syntax:
    """Return a part of a SELECT with columns for its arrays, which are added to those found."""

    def column(call: syntax.FunctionCall, array: syntax.Expression) -> syntax.ColumnReference:
        name = next((name for name, each in found if each == array), None)
        if name is None:
            name = syntax.Identifier(call.span, f"{_ALIAS} {len(found) + 1}")
            found.append((name, array))
        parts = syntax.Identifier(call.span, _ALIAS), syntax.Identifier(call.span, name.name)
        return syntax.ColumnReference(call.span, parts)

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
        made = {name: changed(inner) for name, inner in given.items() if name != "span"}
        return replace(value, span=value.span, **made)

    result = changed(part)
    assert isinstance(result, syntax.Syntax)
    return result


def _alias(item: syntax.SelectItem) -> syntax.Identifier | None:
    """Return the name of an item: the function's, if the item is a call or a cast of it without a name."""
    named = item.expression
    while isinstance(named, syntax.Cast):
        named = named.operand
    if item.alias is not None or _exploded_array(named) is None:
        return item.alias
    assert isinstance(named, syntax.FunctionCall)
    called = _called(named)
    return syntax.Identifier(named.span, _NAMES.get(called, called.lower()))


def _calls(value: object) -> list[syntax.Syntax]:
    """Return the calls that give elements in `value`, outside of subqueries and lambdas."""
    found = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += each
        elif isinstance(each, syntax.Syntax) and not isinstance(each, _CLOSED):
            if _exploded_array(each) is not None:
                found.append(each)
            waiting += parts(each)
    return found


def _exploded_array(expression: object) -> syntax.Expression | None:
    """Return the array of `EXPLODE(a)`, `UNNEST(a)` and elements of JSON; None for other expressions."""
    if not isinstance(expression, syntax.FunctionCall) or len(expression.arguments) != 1:
        return None
    (array,) = expression.arguments
    if isinstance(array, syntax.Star) or expression.has_clauses:
        return None
    name = _called(expression)
    return array if name in _NAMES else json_array(name, expression.span, array)


def _called(call: syntax.FunctionCall) -> str:
    return ".".join(part.name.upper() for part in call.name.parts)
