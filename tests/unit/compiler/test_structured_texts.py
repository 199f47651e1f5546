"""The texts of ARRAY, ROW and MAP, which are those of PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.functions.casts import cast_value, try_cast_value
from fsql.compiler.sqltypes import BIGINT, INT, STRING, array_of, map_of, row_of

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

TEXTS = array_of(STRING)
INTEGERS = array_of(INT)
ROW = row_of((("a", INT), ("b", STRING)))
MAP = map_of(STRING, BIGINT)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (TEXTS, ("a", None, "b c", "", "null", 'q"\\'), r'{a,NULL,"b c","","null","q\"\\"}'),
        (TEXTS, (), "{}"),
        (array_of(INTEGERS), ((1, 2), (), None), "{{1,2},{},NULL}"),
        (ROW, (1, None), "(1,)"),
        (ROW, (None, ""), '(,"")'),
        (ROW, (1, 'a"b,\\'), r'(1,"a""b,\\")'),
        (array_of(ROW), ((1, "x"), None), '{"(1,x)",NULL}'),
        (MAP, (("a", 1), ("b=>", None)), '"a"=>"1", "b=>"=>NULL'),
        (MAP, (), ""),
    ],
)
def test_a_value_becomes_a_text_and_the_text_the_value(
    type_: SqlType, value: Value, text: str
) -> None:
    assert cast_value(value, type_, STRING) == text
    assert cast_value(text, STRING, type_) == value


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INTEGERS, " { 1 , NULL,\t2 } ", (1, None, 2)),
        (TEXTS, r'{ a b ,"N"ULL}', None),
        (TEXTS, r"{ a b ,N\ULL}", ("a b", "NULL")),
        (INTEGERS, "{1,}", None),
        (INTEGERS, "{1", None),
        (INTEGERS, "{1}x", None),
        (INTEGERS, "{{1}}", None),
        (INTEGERS, "{x}", None),
        (INTEGERS, "", None),
        (array_of(INTEGERS), '{"{1,2}",NULL}', ((1, 2), None)),
        (ROW, '(1, "a" )', (1, " a ")),
        (ROW, '(1,"""")', (1, '"')),
        (ROW, "(1)", None),
        (ROW, "(1,a,b)", None),
        (ROW, '(1,"a)', None),
        (MAP, "b=>2 , a => null,b=>3", (("a", None), ("b", 3))),
        (MAP, "a=>1,", None),
        (MAP, "a=>x", None),
    ],
)
def test_a_text_is_read_as_postgresql_reads_it(type_: SqlType, text: str, value: Value) -> None:
    assert try_cast_value(text, STRING, type_) == value
