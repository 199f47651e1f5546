"""The drifting-state graph as a Mermaid flowchart: cycles are boxes, back edges are dashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import graph as g
from fsql.compiler.explain.dataflow import back_edges, vertex_text
from fsql.compiler.explain.scans import no_scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.explain.scans import ScanLines

_SHAPES: Final = {
    g.Source: ("[(", ")]"),
    g.Sink: ("[/", "/]"),
    g.LateSink: ("[/", "/]"),
    g.Broadcast: ("{{", "}}"),
    g.Merge: ("{{", "}}"),
    g.Grouping: ("[[", "]]"),
}


def graph_mermaid(graph: g.Graph, *, scan_lines: ScanLines = no_scan_lines) -> str:
    """Return the text of a Mermaid flowchart."""
    return "\n".join(["flowchart TB", *_vertices(graph, scan_lines), *_edges(graph)]) + "\n"


def _vertices(graph: g.Graph, scan_lines: ScanLines) -> Iterator[str]:
    cycles = sorted({v.cycle for v in graph.vertices if v.cycle is not None})
    for index, vertex in enumerate(graph.vertices):
        if vertex.cycle is None:
            yield f"  {_vertex(graph, index, scan_lines)}"
    for cycle in cycles:
        members = [i for i, v in enumerate(graph.vertices) if v.cycle == cycle]
        yield f'  subgraph cycle{cycle} ["cycle {cycle}: {graph.vertices[members[0]].origin}"]'
        yield from (f"    {_vertex(graph, index, scan_lines)}" for index in members)
        yield "  end"


def _vertex(graph: g.Graph, index: int, scan_lines: ScanLines) -> str:
    left, right = _SHAPES.get(type(graph.vertices[index].operation), ("[", "]"))
    text = vertex_text(graph, index, scan_lines)
    # Inside quotes Mermaid only interprets these characters; `#` begins its escapes, so it is first.
    for character, escape in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, escape)
    return f'v{index}{left}"{text}"{right}'


def _edges(graph: g.Graph) -> Iterator[str]:
    for index, vertex in enumerate(graph.vertices):
        back = back_edges(graph, index)
        for below in vertex.inputs:
            yield f"  v{below} {'-.->' if below in back else '-->'} v{index}"
