from __future__ import annotations

from fsql.compiler.bound.source_spans import SPANS_OF_NODE_MAX, SourceSpans
from fsql.compiler.expression import Call, ColumnRef
from fsql.compiler.sqltypes import BIGINT
from fsql.compiler.text.source import Span


def _sum(*indexes: int) -> Call:
    columns = tuple(ColumnRef(BIGINT, nullable=False, index=index) for index in indexes)
    return Call(BIGINT, nullable=False, function="add", arguments=columns)


def test_parts_of_a_moved_expression_have_the_spans_of_what_they_were_made_of() -> None:
    spans = SourceSpans()
    before, after = _sum(0, 1), _sum(0, 2)
    for node, span in ((before, Span(0, 5)), (before.arguments[0], Span(0, 1))):
        spans.add(node, span)
    spans.add(before.arguments[1], Span(4, 5))
    spans.copy(before, after)
    assert spans.of(after) == (Span(0, 5),)
    assert [spans.of(part) for part in after.arguments] == [(Span(0, 1),), (Span(4, 5),)]


def test_a_node_that_is_written_often_keeps_its_first_spans() -> None:
    spans = SourceSpans()
    column = _sum(0, 1).arguments[0]
    for start in range(1000):
        spans.add(column, Span(start, start + 1))
    assert spans.of(column) == tuple(Span(start, start + 1) for start in range(SPANS_OF_NODE_MAX))
