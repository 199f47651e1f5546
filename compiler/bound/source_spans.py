"""Source spans of the parts of a plan: a table separate from the plan.

Nodes have no spans (`compiler.node`): equal expressions that are written twice are one node, which has two
spans in this table.  Code that binds or rewrites an expression adds to the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Expression
from fsql.compiler.logical import AssignSessions, AssignWindows, Scan
from fsql.compiler.node import children

if TYPE_CHECKING:
    from collections.abc import Hashable

    from fsql.compiler.node import Node
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import SourceText, Span


SPANS_OF_NODE_MAX: Final = 16
"""Only the first spans of a node are kept.  Without a bound, copying the spans of
`a` for each term of `a + 1 = b AND a + 2 = b AND …` would take quadratic time."""


class SourceSpans:
    """The spans of each part of a plan, in the order in which they were bound."""

    def __init__(self) -> None:
        self._spans: dict[Hashable, dict[Span, None]] = {}

    def add(self, node: Node, span: Span) -> None:
        """Record that `node` is written at `span`."""
        spans = self._spans.setdefault(_key(node), {})
        if len(spans) < SPANS_OF_NODE_MAX:
            spans[span] = None

    def of(self, node: Node) -> tuple[Span, ...]:
        """Return the spans of `node`; empty if they are not known."""
        return tuple(self._spans.get(_key(node), ()))

    def types_at(self, span: Span) -> list[SqlType]:
        """Return the types of the expressions that are written at a span."""
        nodes = (node for node, spans in self._spans.items() if span in spans)
        return [node.type for node in nodes if isinstance(node, Expression)]

    def lines_of(self, node: Node, source: SourceText) -> tuple[int, ...]:
        """Return the lines of the script on which `node` is written, from 1."""
        return tuple(sorted({source.line_column(span.start)[0] for span in self.of(node)}))

    def copy(self, before: Node, after: Node) -> None:
        """Give the parts of `after` the spans of the parts of `before` from which they were made."""
        waiting = [(before, after)]
        while waiting:
            old, new = waiting.pop()
            if old is new or type(old) is not type(new):
                continue
            for span in self.of(old):
                self.add(new, span)
            old_parts, new_parts = children(old), children(new)
            if len(old_parts) == len(new_parts):
                waiting.extend(zip(old_parts, new_parts, strict=True))


def _key(node: Node) -> Hashable:
    # The kinds of time of tables are decided last, which replaces their scans and the operators above them.
    if isinstance(node, Scan):
        return Scan, node.table.ordinal, node.scan_number
    if isinstance(node, AssignWindows):
        return AssignWindows, node.size_us, node.slide_us, node.offset_us
    if isinstance(node, AssignSessions):
        return AssignSessions, node.partition, node.time_column, node.end_column
    return node
