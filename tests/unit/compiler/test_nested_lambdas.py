"""Lambdas in lambdas: they are bound in little time, and widen the accumulators around them."""

from __future__ import annotations

import pytest

from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED

TABLE = (
    "CREATE TABLE t (i INT, n BIGINT, d DECIMAL(10, 2), f DOUBLE, a ARRAY<BIGINT>)"
    " WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
)


@pytest.mark.parametrize(
    ("innermost", "type_"),
    [("n", "BIGINT"), ("d", "DECIMAL(38, 2)"), ("f", "DOUBLE"), ("t0 + x0 + i", "BIGINT")],
)
def test_the_type_of_the_innermost_body_widens_all_accumulators(innermost: str, type_: str) -> None:
    # Each body is bound anew where its accumulator has become wider; without care 2 to the power of 40 times.
    text = innermost
    for depth in range(40):
        text = f"REDUCE(a, 0, (t{depth}, x{depth}) -> t{depth} + {text})"
    compiled = compile_script(
        SourceText("nested.sql", f"{TABLE}SELECT {text} AS x FROM t;"), DECLARED
    )
    (column,) = compiled.logical.inserts[0].query.schema
    assert (column.name, str(column.type)) == ("x", type_)
