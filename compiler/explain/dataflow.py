"""The drifting-state graph as text and as JSON.

    v0             Source bids
    v1      ← v0   Map Read bids; line 3
    v2      ← v1   Map Select price > 100
    v3  ↻0  ← v2, v5↺  Merge

Each vertex has a line: its number, the number of its cycle after `↻`, its inputs, and its operation. An input
that follows the vertex is the back edge of a cycle, marked `↺`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import graph as g
from fsql.compiler.explain.document import json_text
from fsql.compiler.explain.expressions import labels
from fsql.compiler.explain.functions import (
    closing_parts,
    function_name,
    function_parts,
    key_texts,
)
from fsql.compiler.explain.literals import name_text
from fsql.compiler.explain.parts import Part, fields, headline
from fsql.compiler.explain.scans import no_scan_lines, scan_parts
from fsql.compiler.explain.traits import columns_json, columns_text
from fsql.compiler.logical import Scan

if TYPE_CHECKING:
    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.explain.scans import ScanLines


def graph_text(
    graph: g.Graph, *, details: bool = True, scan_lines: ScanLines = no_scan_lines
) -> str:
    """Return a line for each vertex; with `details`, also its columns and the depth of its paths."""
    rows = [
        (
            f"v{index}",
            _cycle_text(vertex),
            _inputs_text(graph, index),
            vertex_text(graph, index, scan_lines),
        )
        for index, vertex in enumerate(graph.vertices)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines: list[str] = []
    for index, (*columns, text) in enumerate(rows):
        start = "  ".join(cell.ljust(width) for cell, width in zip(columns, widths, strict=True))
        lines.append(f"{start}  {text}")
        if details:
            lines += [" " * (len(start) + 4) + detail for detail in _details(graph, index)]
    return "\n".join(lines) + "\n"


def graph_json(graph: g.Graph, *, scan_lines: ScanLines = no_scan_lines) -> str:
    """Return the vertices as JSON."""
    vertices = [_vertex_json(graph, index, scan_lines) for index in range(len(graph.vertices))]
    return json_text({"vertices": vertices})


def vertex_text(graph: g.Graph, index: int, scan_lines: ScanLines) -> str:
    """Return the operation of vertex `index`, in one line."""
    return headline(vertex_name(graph.vertices[index]), vertex_parts(graph, index, scan_lines))


def vertex_name(vertex: g.Vertex) -> str:
    """Return the kind of the operation; for a Map, with that of its function."""
    operation = vertex.operation
    if isinstance(operation, g.Map):
        return f"Map {function_name(operation.function)}"
    return type(operation).__name__


def vertex_parts(graph: g.Graph, index: int, scan_lines: ScanLines) -> tuple[Part, ...]:
    """Return the operation of vertex `index`, without its inputs."""
    vertex = graph.vertices[index]
    match vertex.operation:
        case g.Source(table=table):
            return (Part("table", "", name_text(table.name)),)
        case g.Map(function=function):
            return _map_parts(graph, vertex, function, scan_lines)
        case g.Grouping():
            return _grouping_parts(graph, vertex, vertex.operation)
        case g.Sink(insert=insert, table=table):
            return Part("table", "", name_text(table.name)), Part("insert", "insert", insert)
        case g.LateSink(window=window):
            return (Part("window", "window", window),)
        case _:
            return ()


def back_edges(graph: g.Graph, index: int) -> frozenset[int]:
    """Return the inputs that follow vertex `index`: the back edges of its cycle."""
    return frozenset(each for each in graph.vertices[index].inputs if each >= index)


def _map_parts(
    graph: g.Graph, vertex: g.Vertex, function: g.MapFunction, scan_lines: ScanLines
) -> tuple[Part, ...]:
    below = graph.vertices[vertex.inputs[0]]
    if isinstance(function, g.ScanRows):
        source = below
        while not isinstance(source.operation, g.Source):  # a Broadcast, if it is read twice
            source = graph.vertices[source.inputs[0]]
        return scan_parts(Scan(source.operation.table, function.ordinal), scan_lines)
    return function_parts(function, below.schema, vertex.schema)


def _grouping_parts(graph: g.Graph, vertex: g.Vertex, grouping: g.Grouping) -> tuple[Part, ...]:
    """The two sides of a join have different keys, over the columns of the inputs of its Merge."""
    (merge,) = vertex.inputs
    entries = [i for i in graph.vertices[merge].inputs if i not in back_edges(graph, merge)]
    keys = [
        key_texts(side_keys, graph.vertices[entry].schema)
        for side_keys, entry in zip(grouping.keys, entries, strict=False)
    ]
    by = keys[0] if len(keys) == 1 else tuple(f"({', '.join(side)})" for side in keys)
    parts: tuple[Part, ...] = Part("keys", "by", by), Part("window", "window", grouping.window)
    if grouping.by_root:
        parts = *parts, Part("by_root", "by root", value=True)
    if grouping.right_first:
        parts = *parts, Part("right_first", "right first", value=True)
    if grouping.closing is None:
        return parts
    return *parts, *closing_parts(grouping.closing, labels(vertex.schema))


def _cycle_text(vertex: g.Vertex) -> str:
    return "" if vertex.cycle is None else f"↻{vertex.cycle}"


def _inputs_text(graph: g.Graph, index: int) -> str:
    back = back_edges(graph, index)
    inputs = [f"v{each}↺" if each in back else f"v{each}" for each in graph.vertices[index].inputs]
    return f"← {', '.join(inputs)}" if inputs else ""


def _details(graph: g.Graph, index: int) -> list[str]:
    """Return the changes at a vertex: the cycle that it begins, its columns, its depth."""
    vertex = graph.vertices[index]
    below = [graph.vertices[each] for each in vertex.inputs if each < index]
    found = []
    if vertex.cycle is not None and isinstance(vertex.operation, g.Merge):
        found.append(f"cycle {vertex.cycle}: {vertex.origin}")
    if not below or below[0].schema != vertex.schema:
        found.append(f"columns: {columns_text(vertex.schema)}")
    if not below or below[0].depth != vertex.depth:
        found.append(f"depth of paths: {vertex.depth}")
    return found


def _vertex_json(graph: g.Graph, index: int, scan_lines: ScanLines) -> JsonObject:
    vertex = graph.vertices[index]
    back = back_edges(graph, index)
    return {
        "id": index,
        "operation": vertex_name(vertex),
        **fields(vertex_parts(graph, index, scan_lines)),
        "inputs": [each for each in vertex.inputs if each not in back],
        "back_edges": sorted(back),
        "cycle": vertex.cycle,
        "origin": vertex.origin,
        "depth": vertex.depth,
        "columns": columns_json(vertex.schema),
    }
