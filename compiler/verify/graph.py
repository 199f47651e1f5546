"""Verifies graphs.

`lower` follows these rules, and all later stages rely on them; a violation is a bug of fsql, so it is an
AssertionError that lists all violations.

* **Order.**  Inputs come before their readers; the one exception is the back edge into a cycle's Merge.
* **Sharing.**  A Broadcast has several readers; a port (Sink, LateSink) none; all other vertices one.
* **Numbers.**  A table has one Source; INSERTs and late windows are numbered from 0 without gaps.
* **Rows.**  Each vertex has the schema and path depth that its operation computes from its inputs', and every
  column reference finds a column of its type.
* **Cycles.**  The vertices of a cycle are exactly those that `graph` draws, joined as it draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import graph as g
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import ROOT_LEVELS, session_levels
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import BIGINT, STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsql.compiler.expression import Expression
    from fsql.compiler.node import Node
    from fsql.compiler.sqltypes import SqlType


def verify_graph(graph: g.Graph) -> None:
    """Raise AssertionError, with every violation on a line of its own, unless `graph` is legal."""
    violations = [*_order(graph)]
    if not violations:  # The other rules rely on valid inputs.
        violations = [*_readers(graph), *_numbers(graph), *_rows(graph), *_cycles(graph)]
    assert not violations, "illegal graph:\n" + "\n".join(violations)


def _order(graph: g.Graph) -> Iterator[str]:
    for index, vertex in enumerate(graph.vertices):
        low, high = _arity(vertex.operation)
        if not low <= len(vertex.inputs) <= high:
            yield f"vertex {index} has {len(vertex.inputs)} inputs"
        if len(set(vertex.inputs)) < len(vertex.inputs):
            yield f"vertex {index} names an input twice"
        for position, below in enumerate(vertex.inputs):
            if not 0 <= below < len(graph.vertices):
                yield f"vertex {index} reads vertex {below}, which does not exist"
            elif below >= index and not _may_close(vertex, position):
                yield f"vertex {index} reads vertex {below}, which is not before it"


def _arity(operation: g.Operation) -> tuple[int, float]:
    match operation:
        case g.Source():
            return 0, 0
        case g.Merge():
            return 2, float("inf")
        case _:
            return 1, 1


def _may_close(vertex: g.Vertex, position: int) -> bool:
    """Return whether this input may be a back edge: the last one of a cycle's Merge."""
    last = position == len(vertex.inputs) - 1
    return isinstance(vertex.operation, g.Merge) and vertex.cycle is not None and last


def _readers(graph: g.Graph) -> Iterator[str]:
    for index, vertex in enumerate(graph.vertices):
        count = len(graph.readers(index))
        match vertex.operation:
            case g.Broadcast():
                legal = count > 1
            case g.Sink() | g.LateSink():
                legal = count == 0
            case _:
                legal = count == 1
        if not legal:
            yield f"vertex {index}, a {type(vertex.operation).__name__}, has {count} readers"


def _numbers(graph: g.Graph) -> Iterator[str]:
    operations = [vertex.operation for vertex in graph.vertices]
    sources = [
        operation.table.ordinal for operation in operations if isinstance(operation, g.Source)
    ]
    sinks = [operation.insert for operation in operations if isinstance(operation, g.Sink)]
    windows = [operation.window for operation in operations if isinstance(operation, g.LateSink)]
    if len(set(sources)) < len(sources):
        yield f"a table has several sources: {sources}"
    if sorted(sinks) != list(range(len(sinks))):
        yield f"the sinks are numbered {sinks}"
    if sorted(windows) != list(range(len(windows))):
        yield f"the ports of late rows are numbered {windows}"


def _rows(graph: g.Graph) -> Iterator[str]:
    for index, vertex in enumerate(graph.vertices):
        entries = [graph.vertices[i] for i in vertex.inputs if i < index]
        types = [column.type for column in vertex.schema]
        if vertex.cycle is not None and isinstance(vertex.operation, g.Merge):
            # The sides of a join keep their own columns and depth up to here; see `lowering.cycle`.
            entering = [column.type for entry in entries for column in entry.schema]
            depths = {max(entry.depth for entry in entries)}
            legal = types == entering
        elif isinstance(vertex.operation, g.Map):
            below = [column.type for column in entries[0].schema]
            depths = {_depth_after(vertex.operation.function, entries[0].depth)}
            function = vertex.operation.function
            after = _types_after(function, below)
            legal = types == after or _sorts_with_fewer_digits(function, types, after)
            yield from _references(index, vertex.operation.function, below)
        else:
            depths = {entry.depth for entry in entries} or {0}
            legal = all(types == [column.type for column in entry.schema] for entry in entries)
        if not legal:
            yield f"vertex {index} has other columns than its rows"
        if depths != {vertex.depth}:
            yield f"vertex {index} has depth {vertex.depth}, its rows have {sorted(depths)}"


def _sorts_with_fewer_digits(
    function: g.MapFunction, types: list[SqlType], after: list[SqlType]
) -> bool:
    """Return whether rows are only sorted, and their bounds have fewer digits than their times.

    A filter above removes the rows whose times have more; see `AssignSessions`.
    """
    if (
        not isinstance(function, g.CombineSessions)
        or function.closing.window_end != function.time_column
    ):
        return False
    start, end, time = types[-3:]
    return (
        types[:-3] == after[:-3]
        and start == end
        and start.without_fraction == after[-3].without_fraction
        and time == after[-1]
    )


def _depth_after(  # noqa: PLR0911 - one line for each kind
    function: g.MapFunction, depth: int
) -> int:
    match function:
        case g.ScanRows() | g.Explode() | g.ExplodeAggregate() | g.ToWindows() | g.ToSlices():
            return depth + 1
        case g.Pad():
            return max(depth, function.depth)
        case (
            g.CombineAggregate()
            | g.CombineSlices()
            | g.CombineChanges()
            | g.CombineRank()
            | g.Renumber()
        ):
            return 1
        case g.CombineChangelog():
            return 2
        case g.CombineSessions(order_column=order):
            return depth + session_levels(order)
        case g.CombineJoin(left_depth=left, right_depth=right, by_position=by_position):
            deeper = max(left, right)
            return deeper + ROOT_LEVELS + deeper if by_position else deeper + 1
        case _:
            return depth


def _types_after(function: g.MapFunction, types: list[SqlType]) -> list[SqlType]:  # noqa: C901 - one a function
    match function:
        case g.Compute():
            after = [expression.type for expression in function.expressions]
        case g.Explode():
            after = [*types, *_element_types(function)]
        case g.ExplodeAggregate():
            after = [*types, *_group_types(function)]
        case g.CombineSessions(time_column=time) if function.closing.window_end == time:
            after = [*types, types[time], types[time], types[time].without_fraction]
        case g.ToWindows() | g.ToSlices() | g.CombineSessions() | g.ToExpiry() | g.ToRowTime():
            after = [*types, *_time_types(function, types)]
        case g.LateWindows():
            after = types[:-1]
        case g.CombineAggregate() | g.CombineSlices():
            after = _group_types(function)
        case g.ToRoot():
            after = [*types, BIGINT, BIGINT]
        case g.ToParts():
            after = [*types, BIGINT]
        case g.CombineChangelog():
            after = [*types[:-2], STRING]
        case g.CombineChanges():
            after = [column.type for column in (*function.keys, *function.values)]
        case g.CombineJoin(kind=kind) if not kind.makes_pairs:
            after = types[: function.left_width]
        case g.CombineOver():
            after = [*types, *(call.aggregate.type for call in function.calls)]
        case g.CombineRank():
            after = [*types, *([BIGINT] if function.ranked else [])]
        case _:
            after = types
    return after


def _time_types(
    function: g.ToWindows | g.ToSlices | g.CombineSessions | g.ToExpiry | g.ToRowTime,
    types: list[SqlType],
) -> list[SqlType]:
    """Return the types of the times that a function appends."""
    if isinstance(function, g.ToRowTime):
        return [function.type]
    times = {g.ToExpiry: 1, g.ToSlices: 4}.get(type(function), 3)
    return [types[function.time_column].without_fraction] * times


def _group_types(
    function: g.ExplodeAggregate | g.CombineAggregate | g.CombineSlices,
) -> list[SqlType]:
    """Return the types of the keys and the aggregates."""
    return [*(key.type for key in function.keys), *(call.type for call in function.aggregates)]


def _element_types(function: g.Explode | g.ExplodeAggregate) -> list[SqlType]:
    """Return the types of the element, and of the ordinal where there is one."""
    assert function.array.type.element is not None
    return [function.array.type.element, *([BIGINT] if function.ordinality else [])]


def _references(index: int, function: g.MapFunction, types: list[SqlType]) -> Iterator[str]:
    """Yield the column references of vertex `index` without a column of their type."""
    scopes: list[tuple[Iterable[Node], list[SqlType]]]
    match function:
        case g.Finish():
            scopes = []  # It evaluates nothing, and its combine has been verified already.
        case g.CombineJoin():
            width = function.left_width
            scopes = [(function.left_keys, types[:width]), (function.right_keys, types[width:])]
            if function.condition is not None:
                scopes.append(((function.condition,), types))
        case g.ExplodeAggregate():
            predicate = () if function.predicate is None else (function.predicate,)
            inner = (*predicate, *function.keys, *function.aggregates)
            scopes = [((function.array,), types), (inner, [*types, *_element_types(function)])]
        case g.CombineOver(partition=partition, calls=calls):
            # The conditions of a row pattern are over the fields of its argument.
            read = [each for call in calls for each in (*call.aggregate.arguments, call.time)]
            scopes = [((*partition, *(each for each in read if each is not None)), types)]
        case _:
            scopes = [((function,), types)]
    for nodes, scope in scopes:
        for reference in {node for root in nodes for node in walk(root)}:
            if isinstance(reference, ColumnRef) and (
                reference.index >= len(scope) or scope[reference.index] != reference.type
            ):
                yield f"vertex {index} refers to column {reference.index} as {reference.type}"


def _cycles(graph: g.Graph) -> Iterator[str]:
    members: dict[int, list[int]] = {}
    for index, vertex in enumerate(graph.vertices):
        if vertex.cycle is not None:
            members.setdefault(vertex.cycle, []).append(index)
    for cycle, indexes in members.items():
        vertices = [graph.vertices[index] for index in indexes]
        match [vertex.operation for vertex in vertices]:
            case [
                g.Merge(),
                g.Grouping(window=2) as grouping,
                g.Map(function=g.Combine() as combine),
                g.Broadcast(),
                g.Map(function=g.Finish(combine=finished)),
            ] if finished is combine:
                merge, *chain = vertices
                if [vertex.inputs for vertex in chain] != [(i,) for i in indexes[:4]]:
                    yield f"cycle {cycle} is not a chain of its vertices"
                if merge.inputs[-1] != indexes[3]:
                    yield f"cycle {cycle} has no back edge"
                if grouping.keys != _keys(combine) or grouping.closing is not _closing(combine):
                    yield f"cycle {cycle} groups by other keys than it combines"
                once = isinstance(combine, g.CombineJoin) and combine.once
                if (grouping.by_root, grouping.right_first) != (combine.by_root, once):
                    yield f"cycle {cycle} has other punctuations or another order than its combine needs"
                if len(merge.inputs) != len(grouping.keys) + 1:
                    yield f"cycle {cycle} has {len(merge.inputs) - 1} entries"
            case operations:
                yield f"cycle {cycle} is made of {[type(it).__name__ for it in operations]}"


def _keys(combine: g.Combine) -> tuple[tuple[Expression, ...], ...]:
    match combine:
        case g.CombineAggregate() | g.CombineChanges() | g.CombineChangelog():
            return (combine.keys,)
        case g.CombineOver() | g.CombineSessions() | g.CombineRank() | g.CombineSlices():
            return (combine.partition,)
        case g.CombineJoin():
            return (combine.left_keys, combine.right_keys)
        case _:
            return ()


def _closing(combine: g.Combine) -> g.Closing | None:
    closes = g.CombineAggregate | g.CombineSlices | g.CombineSessions | g.CombineRank
    return combine.closing if isinstance(combine, closes) else None
