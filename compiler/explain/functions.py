"""The map functions and folds of a graph, described in parts: for vertices and steps of tick plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import graph as g
from fsql.compiler.explain.expressions import (
    column_text,
    expression_text,
    labels,
    running_text,
)
from fsql.compiler.explain.literals import interval_text, name_text
from fsql.compiler.explain.operators import (
    ELEMENT,
    ORDINAL,
    aggregate_texts,
    changelog_parts,
    changes_parts,
    expiry_parts,
    join_parts,
    named_texts,
    rank_parts,
    sessions_parts,
    windows_parts,
)
from fsql.compiler.explain.parts import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.schema import Schema


def function_name(function: g.MapFunction) -> str:
    """Return the name of a function of rows."""
    return "Read" if isinstance(function, g.ScanRows) else type(function).__name__


def function_parts(function: g.MapFunction, below: Schema, made: Schema) -> tuple[Part, ...]:
    """Return how `function` computes rows with the columns `made` from rows with the columns `below`.

    The columns below a join are those of its left side, then those of its right side.
    """
    names = labels(below)
    match function:
        case g.Combine():
            return combine_parts(function, below, made)
        case g.Finish(combine=combine):
            return (Part("combine", "", type(combine).__name__.removeprefix("Combine")),)
        case (
            g.OnTime(closing=closing)
            | g.Late(closing=closing)
            | g.OnTimeSlices(closing=closing)
            | g.LateWindows(closing=closing)
        ):
            return closing_parts(closing, names)
        case g.Explode() | g.ExplodeAggregate():
            return _array_parts(function, names, [name_text(column.name) for column in made])
        case _:
            return _row_parts(function, names, made)


def combine_parts(  # noqa: PLR0911 - one line for each kind
    combine: g.Combine, below: Schema, made: Schema
) -> tuple[Part, ...]:
    """Return what a stateful operator computes from a state and a row."""
    names = labels(below)
    made_names = [column.name for column in made]
    match combine:
        case g.CombineAggregate(keys=keys, aggregates=aggregates, closing=closing):
            # A fold that marks replacements has another column for the mark.
            computed = aggregate_texts(
                aggregates, made_names[len(keys) : len(keys) + len(aggregates)], names
            )
            return (
                Part("keys", "by", named_texts(keys, made_names[: len(keys)], names)),
                Part("aggregates", "compute", computed),
                *(() if closing is None else closing_parts(closing, names)),
                Part("final", "final", combine.final),
            )
        case g.CombineSlices(keys=keys, aggregates=aggregates, closing=closing):
            computed = aggregate_texts(
                aggregates, made_names[len(keys) : len(keys) + len(aggregates)], names
            )
            return (
                Part("keys", "by", named_texts(keys, made_names[: len(keys)], names)),
                Part("aggregates", "compute", computed),
                *closing_parts(closing, names),
                Part("slide", "slide", interval_text(closing.slide_us)),
                Part("size", "size", interval_text(combine.size_us)),
            )
        case g.CombineChanges():
            return changes_parts(combine, names)
        case g.CombineChangelog():
            return changelog_parts(combine.label_key, names)
        case g.CombineOver(partition=partition, calls=calls):
            running = tuple(
                f"{running_text(call, names)} AS {name_text(name)}"
                for call, name in zip(calls, made_names[len(below) :], strict=True)
            )
            by = tuple(expression_text(key, names) for key in partition)
            return Part("partition", "partition by", by), Part("calls", "compute", running)
        case g.CombineSessions(closing=closing):
            parts = sessions_parts(combine, closing.window_end, names)
            return *parts, *closing_parts(closing, names)[1:]
        case g.CombineRank(closing=closing):
            rank_name = made_names[-1] if combine.ranked else None
            return (
                *rank_parts(combine, names, rank_name),
                *(() if closing is None else closing_parts(closing, names)),
                Part("final", "final", combine.final),
            )
        case g.CombineJoin():
            width = combine.left_width
            return join_parts(combine, below[:width], below[width:])
        case _:
            raise AssertionError(combine)


def key_texts(keys: Sequence[Expression], below: Schema) -> tuple[str, ...]:
    """Return the keys by which rows with the columns `below` are grouped or exchanged."""
    names = labels(below)
    return tuple(expression_text(key, names) for key in keys)


def closing_parts(closing: g.Closing, names: Sequence[str]) -> tuple[Part, ...]:
    """Return when windows close."""
    delay = interval_text(closing.delay_us) if closing.delay_us else None
    return (
        Part("closes_at", "closes at", column_text(names, closing.window_end)),
        Part("delay", "delay", delay),
        Part("grain", "grain", interval_text(closing.grain_us)),
    )


def _row_parts(  # noqa: C901, PLR0911 - one line for each function
    function: g.MapFunction, names: Sequence[str], made: Schema
) -> tuple[Part, ...]:
    match function:
        case g.Select(predicate=predicate):
            return (Part("predicate", "", expression_text(predicate, names)),)
        case g.Compute(expressions=expressions):
            computed = named_texts(expressions, [column.name for column in made], names)
            return (Part("expressions", "", computed),)
        case g.ToWindows():
            return windows_parts(function, names)
        case g.ToSlices(until=until):
            end = None if until is None else column_text(names, until)
            return *windows_parts(function, names), Part("until", "until", end)
        case g.ToExpiry() | g.Expired():
            return expiry_parts(function, names)
        case g.ToRowTime() | g.ToRoot():
            return ()
        case g.ToParts(key=key, values=values, parts=parts):
            return (
                Part("key", "by", expression_text(key, names)),
                Part("values", "where it is", tuple(map(repr, values))),
                Part("parts", "copied to" if function.copied else "one of", parts),
            )
        case g.ScanRows(ordinal=ordinal) | g.Renumber(ordinal=ordinal):
            return (Part("scan", "scan", ordinal),)
        case g.Pad(depth=depth):
            return (Part("depth", "to depth", depth),)
        case g.Side(side=side):
            return (Part("side", "", "right" if side else "left"),)
        case _:
            raise AssertionError(function)


def _array_parts(
    function: g.Explode | g.ExplodeAggregate, names: Sequence[str], made: Sequence[str]
) -> tuple[Part, ...]:
    array = Part("array", "", expression_text(function.array, names))
    added = made[len(names) :]
    if isinstance(function, g.Explode):
        ordinality = added[1] if function.ordinality else None
        return (
            array,
            Part("element", "element", added[0]),
            Part("ordinality", "ordinality", ordinality),
        )
    inside = (*names, ELEMENT, ORDINAL) if function.ordinality else (*names, ELEMENT)
    keys, aggregates, where = function.keys, function.aggregates, function.predicate
    return (
        array,
        Part("predicate", "where", None if where is None else expression_text(where, inside)),
        Part("keys", "by", named_texts(keys, added[: len(keys)], inside)),
        Part("aggregates", "compute", aggregate_texts(aggregates, added[len(keys) :], inside)),
    )
