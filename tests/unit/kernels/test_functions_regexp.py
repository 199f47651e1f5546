"""Regular expressions over columns: the same as value by value, and how a pattern gets only one group.

Catches a pattern whose groups are miscounted, a group without a match that is not NULL, and texts that Arrow
treats otherwise.  Cannot catch what RE2 itself does wrong.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING
from fsql.runtime.kernels.expressions.functions import maker_of
from fsql.runtime.kernels.expressions.functions_regexp import with_one_group
from fsql.runtime.kernels.expressions.vectors import Vector, to_array

PATTERNS = [
    r"(&|^)id=([^&]*)",
    r"a(b)?(c)?",
    r"(?i)(AB)|(c+)",
    r"(?P<year>\d+)-(?<month>\d+)",
    r"[(](.)[)]",
    r"[^](](x)",
    r"[[:alpha:]()]+(\d)",
    r"\((a|(b))\)",
    r"(a(b(c)))",
    r"^$|(é.)",
    r"(?:a)(?s:.)(b*)",
    r"\Q(a)\E(b)",
    r"\\(a)",
    r".*",
    r"",
]
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "ABcc",
    "2024-05",
    "id=7&x=1",
    "x&id=&y",
    "(a)",
    "(b)",
    "](x",
    "é\n",
    "a\nbb",
]


def column(seed: int, count: int) -> list[str | None]:
    random = Random(seed)
    texts = ["".join(random.choices(TEXTS, k=random.randint(1, 2))) for _ in range(count)]
    return [None if random.random() < 0.1 else text for text in texts]


def compute(
    function: str, texts: list[str | None], pattern: str, number: int | None
) -> list[object]:
    arguments = [
        ColumnRef(STRING, nullable=True, index=0),
        Literal(STRING, nullable=False, value=pattern),
    ]
    vectors = [Vector(pa.array(texts, pa.string())), Vector(pa.array([pattern]))]
    if number is not None:
        arguments.append(Literal(BIGINT, nullable=False, value=number))
        vectors.append(Vector(pa.array([number]).to_numpy()))
    result = BOOLEAN if function == "regexp_like" else STRING
    call = Call(result, nullable=True, function=function, arguments=tuple(arguments))
    made = maker_of(function)(call)(vectors)
    return to_array(made, result, len(texts)).to_pylist()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_columns_agree_with_values(pattern: str) -> None:
    texts = column(len(pattern), 100)
    for function, numbers in (
        ("regexp_like", [None]),
        ("regexp_substr", [None]),
        ("regexp_extract", [None, 0, 1, 2, 3, -1]),
    ):
        for number in numbers:
            given = (pattern,) if number is None else (pattern, number)
            scalar = FUNCTIONS[function].signatures[len(given) - 1].scalar
            expected = [None if text is None else scalar(text, *given) for text in texts]
            assert compute(function, texts, pattern, number) == expected, (function, number)
            assert compute(function, texts[:3], pattern, number) == expected[:3]


def test_a_pattern_gets_one_group() -> None:
    assert with_one_group(r"(&|^)id=([^&]*)", 2) == r"(?:&|^)id=(?P<group>[^&]*)"
    assert with_one_group(r"(&|^)id=([^&]*)") == r"(?P<group>(?:&|^)id=(?:[^&]*))"
    assert with_one_group(r"[()](?P<a>x)\((?i:b)", 1) == r"[()](?P<group>x)\((?i:b)"
    assert with_one_group(r"\Q(\E(a)", 1) is None
    assert with_one_group("(a)", 2) is None
