"""Windows as values, as in Arroyo: `SELECT TUMBLE(INTERVAL '1' HOUR) AS w, … GROUP BY w`.

Such a call names no column: it is over the event time of FROM.  Its value has the fields `start` and `end`.
Here it becomes three columns of its SELECT, the bounds of the window:

    SELECT TUMBLE(size) AS w, k FROM t GROUP BY w, k
        →  SELECT window_start AS w, window_end AS "w.end", window_time AS "w.time", k
           FROM t GROUP BY TUMBLE(event time, size), k

Queries around it refer to these columns where they refer to `w`, in GROUP BY, PARTITION BY, USING and
equalities, so that they know the window; `w.start` and `w.end` are columns.  At the end of a statement the
columns become one ROW<start TIMESTAMP, end TIMESTAMP>.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.dialects.arroyo.window_value_names import (
    COLUMNS,
    FIELDS,
    TIME,
    Names,
    Windows,
    has_windows,
    is_window_value,
    reference,
)
from fsql.compiler.syntax.rewrite import records

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_Part = TypeVar("_Part")


def with_window_values(script: syntax.Script) -> syntax.Script:
    """Return the script with windows as values written as columns; itself if it has none."""
    if not any(is_window_value(each) for each in records(script)):
        return script
    views: dict[str, Windows] = {}
    statements = tuple(_statement(each, views) for each in script.statements)
    return replace(script, statements=statements)


def _statement(statement: _Part, views: dict[str, Windows]) -> _Part:
    made: Any = statement
    match statement:
        case syntax.StatementSet(inserts=inserts):
            made = replace(statement, inserts=tuple(_statement(each, views) for each in inserts))
        case syntax.CreateView(query=query):
            query, windows = _query(query, views)
            views[statement.name.parts[-1].name.lower()] = windows
            made = replace(statement, query=query)
        case syntax.Insert() | syntax.SelectStatement() | syntax.CreateTable(query=syntax.Query()):
            assert statement.query is not None
            made = replace(statement, query=_whole(statement.query, views))
        case syntax.Explain(statement=explained):
            made = replace(statement, statement=_statement(explained, views))
        case _:
            pass
    return typed("_Part", made)


def _whole(query: syntax.Query, views: Mapping[str, Windows]) -> syntax.Query:
    """Return the query of a statement, whose windows are rows."""
    made, windows = _query(query, views)
    if not windows:
        return made
    span = query.span
    time = syntax.TypeName(span, "TIMESTAMP")
    names = tuple(syntax.Identifier(span, name) for name in FIELDS)
    row = syntax.TypeName(span, "ROW", arguments=(time, time), fields=names)
    packed = tuple(
        syntax.SelectItem(
            span,
            syntax.Cast(
                span,
                syntax.RowConstructor(
                    span, tuple(reference(span, name + end) for end in ("", ".end"))
                ),
                row,
                safe=False,
            ),
            syntax.Identifier(span, name),
        )
        for name in windows.values()
    )
    hidden = tuple(
        syntax.Identifier(span, name + end)
        for name in windows.values()
        for end in (".end", ".time")
    )
    star = syntax.Star(span, (), hidden, packed)
    select = syntax.Select(
        span, distinct=False, items=(star,), relations=(syntax.Derived(span, made, lateral=False),)
    )
    return syntax.Query(span, select)


def _query(query: syntax.Query, views: Mapping[str, Windows]) -> tuple[syntax.Query, Windows]:
    """Return a query, and the windows among its columns."""
    known = dict(views)
    tables = []
    for table in query.common_tables:
        made, windows = _query(table.query, known)
        known[table.name.name.lower()] = windows
        tables.append(replace(table, query=made))
    body, windows, names = _body(query.body, known)
    names.relations.setdefault("", {}).update(windows)
    order = names.rewrite(query.order_by)
    return replace(query, body=body, common_tables=tuple(tables), order_by=order), windows


def _body(
    body: syntax.QueryBody, views: Mapping[str, Windows]
) -> tuple[syntax.QueryBody, Windows, Names]:
    """Return the body of a query, the windows among its columns, and those to which ORDER BY can refer."""
    match body:
        case syntax.Select():
            return _select(body, views)
        case syntax.Query():
            query, windows = _query(body, views)
            return query, windows, Names({}, views, _query)
        case syntax.SetOperation():
            first, windows, _ = _body(body.first, views)
            terms = tuple(replace(term, right=_body(term.right, views)[0]) for term in body.terms)
            return replace(body, first=first, terms=terms), windows, Names({}, views, _query)
        case _:
            return body, {}, Names({}, views, _query)


_Element = syntax.Expression | syntax.GroupingSets
_Place = tuple[int, "Sequence[_Element] | None"]
"""The place of a select item among those that are made, and the keys of GROUP BY if it is a window."""


def _select(
    select: syntax.Select, views: Mapping[str, Windows]
) -> tuple[syntax.Select, Windows, Names]:
    """Return a SELECT, the windows among its columns, and those to which its parts can refer."""
    names = Names({}, views, _query)
    computed = [
        *(getattr(item, "expression", None) for item in select.items),
        *(select.group_by or ()),
    ]
    calls = [each for each in computed if is_window_value(each)]
    relations = tuple(names.relation(each, timed=bool(calls)) for each in select.relations)
    grouped = {
        number
        for number, item in enumerate(select.items, start=1)
        if isinstance(item, syntax.SelectItem)
        and is_window_value(item.expression)
        and (
            select.group_by_all
            or any(_means(element, item, number) for element in select.group_by or ())
        )
    }
    items, windows, places = _items(select, grouped, names)
    made = replace(
        select,
        items=tuple(items),
        relations=relations,
        where=names.rewrite(select.where),
        having=names.rewrite(select.having),
        windows=names.rewrite(select.windows),
        qualify=names.rewrite(select.qualify),
        distinct_on=names.rewrite(select.distinct_on),
    )
    if select.group_by is not None:
        found = [key for each in select.group_by for key in _key(each, select, names, places)]
        if select.group_by_all:
            found = [
                key for _, keys in places.values() for key in keys or () if is_window_value(key)
            ]
        time = _event_time(select, names, relations)
        made = replace(made, group_by=_with_event_time(found, time))
    return made, windows, names


def _items(
    select: syntax.Select, grouped: Collection[int], names: Names
) -> tuple[list[syntax.SelectItem | syntax.Star], Windows, dict[int, _Place]]:
    """Return the items of a SELECT, the windows among them, and where each of those that are written is.

    `grouped` are the numbers of calls that are keys of GROUP BY, whose aliases become known to `names`.
    """
    items: list[syntax.SelectItem | syntax.Star] = []
    windows: Windows = {}
    places: dict[int, _Place] = {}
    for number, item in enumerate(select.items, start=1):
        if isinstance(item, syntax.Star):
            items.append(_star(item, names, windows))
            continue
        columns = names.columns(item.expression)
        keys: Sequence[_Element] | None = columns and columns[:2]
        if number in grouped:
            columns = [reference(item.span, column) for column in COLUMNS.values()]
            keys = [item.expression]
        places[number] = len(items) + 1, keys
        if columns is None:
            items.append(_named_as_written(item, names.rewrite(item)))
        else:
            name = _item_name(item)
            windows[name.lower()] = name
            items += [
                syntax.SelectItem(item.span, column, syntax.Identifier(item.span, name + end))
                for column, end in zip(columns, COLUMNS, strict=True)
            ]
            if number in grouped:
                names.own[name.lower()] = name
    return items, windows, places


def _named_as_written(item: syntax.SelectItem, made: syntax.SelectItem) -> syntax.SelectItem:
    """Return an item with the name of the field if it is the bound of a window, `w.start`."""
    written = item.expression
    if (
        item.alias is None
        and isinstance(written, syntax.ColumnReference)
        and made.expression is not written
    ):
        return replace(made, alias=written.parts[-1])
    return made


def _means(element: object, item: syntax.SelectItem, number: int) -> bool:
    """Return whether an element of GROUP BY is a select item: its number, its alias, or the same call."""
    if isinstance(element, syntax.NumberLiteral):
        return element.text == str(number)
    if isinstance(element, syntax.ColumnReference) and len(element.parts) == 1:
        return element.parts[0].name.lower() == _item_name(item).lower()
    call = item.expression
    return is_window_value(element) and is_window_value(call) and _text(element) == _text(call)


def _text(call: syntax.FunctionCall) -> list[object]:
    """Return what distinguishes a call of a window function from another one."""
    return [call.name.parts[0].name.upper(), *map(_size, call.arguments)]


def _size(argument: object) -> tuple[object, ...]:
    if isinstance(argument, syntax.IntervalLiteral):
        return argument.value.value, argument.unit, argument.to
    return (getattr(argument, "value", None),)


def _item_name(item: syntax.SelectItem) -> str:
    if item.alias is not None:
        return item.alias.name
    expression = item.expression
    return expression.parts[-1].name if isinstance(expression, syntax.ColumnReference) else "window"


def _star(star: syntax.Star, names: Names, windows: Windows) -> syntax.Star:
    """Return a star without any column of windows that it leaves out; add the others to `windows`."""
    of = star.qualifier[0].name.lower() if star.qualifier else None
    without = {each.name.lower() for each in star.without}
    more: dict[str, syntax.Identifier] = {}
    for relation, found in names.relations.items():
        if of is not None and relation != of:
            continue
        for key, name in found.items():
            if key in without:
                more |= {
                    name + end: syntax.Identifier(star.span, name + end)
                    for end in (".end", ".time")
                }
            else:
                windows[key] = name
    return replace(
        star, without=(*star.without, *more.values()), replaced=names.rewrite(star.replaced)
    )


def _event_time(
    select: syntax.Select, names: Names, relations: Sequence[syntax.Relation]
) -> syntax.ColumnReference | syntax.EventTime:
    """Return the event time of FROM: of windows below, the last microsecond in them."""
    for relation, windows in names.relations.items():
        for name in windows.values():
            parts = (relation, name + ".time") if relation else (name + ".time",)
            return reference(select.span, *parts)
    for source in relations:
        if isinstance(source, syntax.Derived) and has_windows(source.query.body):
            return reference(select.span, TIME)
    return syntax.EventTime(select.span)


def _key(
    element: _Element, select: syntax.Select, names: Names, places: Mapping[int, _Place]
) -> Sequence[_Element]:
    """Return the elements of GROUP BY for one that is written."""
    if isinstance(element, syntax.NumberLiteral) and element.text.isdigit():
        place, meant = places.get(int(element.text), (0, None))
        if meant is not None:
            return meant
        return [replace(element, text=str(place))] if place else [element]
    if isinstance(element, syntax.ColumnReference) and len(element.parts) == 1:
        for item in select.items:
            if (
                isinstance(item, syntax.SelectItem)
                and is_window_value(item.expression)
                and _item_name(item).lower() == element.parts[0].name.lower()
            ):
                return [item.expression]
    changed = names.rewrite(element)
    return [changed] if isinstance(changed, syntax.GroupingSets) else names.expand((changed,))


def _with_event_time(
    keys: Sequence[_Element], time: syntax.ColumnReference | syntax.EventTime
) -> tuple[_Element, ...]:
    """Return keys in which windows are over an event time, each once."""
    found: list[_Element] = []
    seen: list[list[object]] = []
    for key in keys:
        if not is_window_value(key):
            found.append(key)
        elif _text(key) not in seen:
            seen.append(_text(key))
            sizes = (
                syntax.IntervalLiteral(each.span, each, None)
                if isinstance(each, syntax.StringLiteral)
                else each
                for each in key.arguments
            )
            found.append(replace(key, arguments=(time, *sizes)))
    return tuple(found)
