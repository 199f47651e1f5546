"""Spans: every record lies where its text is, within the record that it is a part of.

Catches spans that are off by a bracket, a comment or a parameter; not which record stands for which
text, which the cases pin down.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import syntax
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = """\
CREATE TABLE bids (
    auction BIGINT NOT NULL, "select" DECIMAL(23, 3), at TIMESTAMP(3), tags ARRAY<STRING>,
    cents AS price * 100 /* in cents */, WATERMARK FOR at AS at - INTERVAL '4' SECOND,
    PRIMARY KEY (auction) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'it''s.jsonl');
INSERT INTO busy (a, b) -- a comment
WITH big (x) AS (SELECT * FROM bids WHERE price > 100 AND (url IS NOT NULL OR NOT a))
SELECT auction, COUNT(*) FILTER (WHERE a) OVER (PARTITION BY b ROWS 1 PRECEDING) AS bids, ((c)),
    (d).e, f(x).y[1]
FROM TABLE(HOP(TABLE big, DESCRIPTOR(at), INTERVAL '2' SECOND, SIZE => INTERVAL '10' SECOND)) AS h
    LEFT JOIN (u CROSS JOIN UNNEST(v) WITH ORDINALITY AS w (p, q)) ON h.a = u.a
GROUP BY auction, TUMBLE(at, INTERVAL '1' MINUTE), CUBE (a, (b, c))
HAVING CASE WHEN a THEN CAST(b AS ARRAY<ROW<x INT>>) END BETWEEN 1 AND 2
EMIT FINAL
UNION ALL (SELECT 1 LIMIT 2) ORDER BY 1 DESC;
"""


def parts(record: syntax.Syntax) -> Iterator[syntax.Syntax]:
    """Yield the records that are fields of `record`, or in its lists."""
    values = [getattr(record, field.name) for field in dataclasses.fields(record)]
    while values:
        value = values.pop(0)
        if isinstance(value, tuple):
            values[:0] = value
        elif isinstance(value, syntax.Syntax):
            yield value


def records(record: syntax.Syntax) -> Iterator[syntax.Syntax]:
    """Yield `record` and all that is in it."""
    yield record
    for part in parts(record):
        yield from records(part)


def test_parts_lie_within_their_whole() -> None:
    script = parse_script(SourceText("s", SCRIPT))
    for record in records(script):
        for part in parts(record):
            assert record.span.start <= part.span.start <= part.span.end <= record.span.end


def test_leaves_are_their_text() -> None:
    source = SourceText("s", SCRIPT)
    for record in records(parse_script(source)):
        written = source.slice(record.span)
        match record:
            case syntax.Identifier(name=name, quoted=quoted):
                assert written == (f'"{name}"' if quoted else name)
            case syntax.NumberLiteral(text=text):
                assert written == text
            case syntax.StringLiteral(value=value):
                assert written == "'" + value.replace("'", "''") + "'"
            case syntax.TypeName(name=name):
                assert written.upper().startswith(name)
            case syntax.Script():
                assert written == SCRIPT
            case _:
                assert written == written.strip()


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_do_not_matter(line_end: str) -> None:
    script = parse_script(SourceText("s", SCRIPT))
    other = SourceText("s", "\ufeff" + SCRIPT.replace("\n", line_end))
    assert parse_script(other) == script
    assert len(other.line_spans) == SCRIPT.count("\n") + 1


def test_what_a_parameter_gives_lies_at_its_name() -> None:
    source = SourceText("s", "SELECT ${columns}, ${prefix}_b FROM t -- end")
    script = parse_script(source, {"columns": "x + 1, y", "prefix": "a"})
    (statement,) = script.statements
    assert isinstance(statement, syntax.SelectStatement)
    assert isinstance(statement.query.body, syntax.Select)
    columns = source.text.index("${columns}")
    inserted = Span(columns, columns + len("${columns}"))
    x, y, named = statement.query.body.items
    assert (x.span, y.span) == (inserted, inserted)
    assert source.slice(named.span) == "${prefix}_b"
    assert source.slice(statement.span) == "SELECT ${columns}, ${prefix}_b FROM t"
