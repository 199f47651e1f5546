"""The names of windows as values, and the columns that they are (`window_values.py`)."""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.records import dataclass
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.text.source import Span

_CALLS: Final = frozenset({"TUMBLE", "HOP", "SESSION"})
COLUMNS: Final = {"": "window_start", ".end": "window_end", ".time": "window_time"}
"""The columns of a window, by what follows the name of its value in the names of its three columns."""
FIELDS: Final = {"start": "", "end": ".end"}
TIME: Final = generated_name("window_time")
"""The event time of the windows of a subquery that does not return them."""

_Part = TypeVar("_Part")
Windows = dict[str, str]
"""The names of window values, by their names in lower case."""


def is_window_call(record: object) -> TypeGuard[syntax.FunctionCall]:
    """Return whether a part of the text is a call of a window function."""
    return (
        isinstance(record, syntax.FunctionCall)
        and len(record.name.parts) == 1
        and record.name.parts[0].name.upper() in _CALLS
    )


def is_window_value(record: object) -> TypeGuard[syntax.FunctionCall]:
    """Return whether a part of the text is a call of a window function over no column."""
    return (
        is_window_call(record)
        and bool(record.arguments)
        and all(
            isinstance(each, syntax.IntervalLiteral | syntax.StringLiteral)
            for each in record.arguments
        )
    )


def reference(span: Span, *names: str) -> syntax.ColumnReference:
    """Return a reference to a column by its name, perhaps after that of its relation."""
    return syntax.ColumnReference(span, tuple(syntax.Identifier(span, name) for name in names))


def has_windows(body: syntax.QueryBody) -> bool:
    """Return whether a query is a SELECT whose GROUP BY assigns windows."""
    return isinstance(body, syntax.Select) and any(map(is_window_call, body.group_by or ()))


def with_time(body: syntax.Select) -> syntax.Select:
    """Return a SELECT that also returns the event time of its windows."""
    time = syntax.SelectItem(
        body.span, reference(body.span, "window_time"), syntax.Identifier(body.span, TIME)
    )
    return replace(body, items=(*body.items, time))


@dataclass
class Names:
    """The windows to which names can refer: of each relation, by its name in lower case, and of the SELECT.

    `own` are the aliases of calls in the same SELECT.  `resolve` returns a subquery, and the windows
    among its columns.
    """

    relations: dict[str, Windows]
    views: Mapping[str, Windows]
    resolve: Callable[[syntax.Query, Mapping[str, Windows]], tuple[syntax.Query, Windows]]
    own: Windows = field(default_factory=dict)

    def columns(self, written: object) -> list[syntax.ColumnReference] | None:
        """Return the three columns of the window that is written; None for anything else."""
        if not isinstance(written, syntax.ColumnReference):
            return None
        names = [each.name for each in written.parts]
        name = names[-1].lower()
        if len(names) == 1 and name in self.own:
            return [reference(written.span, column) for column in COLUMNS.values()]
        known = [
            windows[name]
            for relation, windows in self.relations.items()
            if name in windows and (len(names) == 1 or relation == names[0].lower())
        ]
        if not known or len(names) > 2:
            return None
        return [reference(written.span, *names[:-1], known[0] + end) for end in COLUMNS]

    def rewrite(self, value: _Part) -> _Part:
        """Return a part of a query in which windows are columns."""
        made: object = value
        if isinstance(value, tuple):
            made = tuple(map(self.rewrite, value))
        elif isinstance(value, syntax.Query):
            made = self.resolve(value, self.views)[0]
        elif isinstance(value, syntax.Syntax):
            given = {each.name: getattr(value, each.name) for each in fields(value)}
            parts = {name: self.rewrite(part) for name, part in given.items() if name != "span"}
            made = self._rewrite_part(replace(value, span=value.span, **parts))
        return typed("_Part", made)

    def _rewrite_part(self, part: syntax.Syntax) -> syntax.Syntax:
        match part:
            case syntax.ColumnReference(parts=(*row, last)) if row and last.name.lower() in FIELDS:
                columns = self.columns(replace(part, parts=tuple(row)))
                index = list(COLUMNS).index(FIELDS[last.name.lower()])
                return part if columns is None else columns[index]
            case syntax.Comparison(operator="=", left=left, right=right):
                mine, theirs = self.columns(left), self.columns(right)
                if mine is None or theirs is None:
                    return part
                both = [
                    syntax.Comparison(part.span, "=", *pair)
                    for pair in zip(mine, theirs, strict=True)
                ]
                return syntax.Logical(part.span, "AND", tuple(both[:2]))
            case syntax.WindowSpecification():
                return replace(part, partition_by=self.expand(part.partition_by))
            case _:
                return part

    def expand(self, keys: Sequence[syntax.Expression]) -> tuple[syntax.Expression, ...]:
        """Return keys with the bounds of windows instead of windows."""
        found: list[syntax.Expression] = []
        for key in keys:
            columns = self.columns(key)
            found += [key] if columns is None else columns[:2]
        return tuple(found)

    def relation(self, relation: syntax.Relation, *, timed: bool = False) -> syntax.Relation:
        """Return a relation of FROM, and add its windows; with `timed`, windows that it does not return."""
        match relation:
            case syntax.Derived():
                query, windows = self.resolve(relation.query, self.views)
                if timed and not windows and has_windows(query.body):
                    assert isinstance(query.body, syntax.Select)
                    query = replace(query, body=with_time(query.body))
                self._add(relation.alias, "", windows)
                return replace(relation, query=query)
            case syntax.TableReference():
                name = relation.name.parts[-1].name
                self._add(relation.alias, name, self.views.get(name.lower(), {}))
                return relation
            case syntax.Joined():
                first = self.relation(relation.first)
                rights = [self.relation(clause.right) for clause in relation.joins]
                joins = tuple(
                    replace(
                        clause,
                        right=right,
                        condition=self.rewrite(clause.condition),
                        using=self._using(clause.using),
                    )
                    for clause, right in zip(relation.joins, rights, strict=True)
                )
                return replace(relation, first=first, joins=joins)
            case _:
                return self.rewrite(relation)

    def _add(self, alias: syntax.TableAlias | None, name: str, windows: Windows) -> None:
        known = name if alias is None else alias.name.name
        self.relations[known.lower()] = {**self.relations.get(known.lower(), {}), **windows}

    def _using(self, names: tuple[syntax.Identifier, ...]) -> tuple[syntax.Identifier, ...]:
        return tuple(
            replace(name, name=column.parts[-1].name) if number else name
            for name in names
            for number, column in enumerate(
                self.columns(syntax.ColumnReference(name.span, (name,)))
                or [reference(name.span, "")]
            )
        )
