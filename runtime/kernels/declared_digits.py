"""Cuts times of input to the digits of fraction that their columns declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import Cast, ColumnRef, Expression
from fsql.runtime.kernels.expressions import compile_expressions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from fsql.compiler.schema import Schema


def cut_to_digits(schema: Schema) -> Callable[[Sequence[pa.Array], int], Sequence[pa.Array]] | None:
    """Return the function that cuts times in columns of `schema` and in their parts; None if there are none.

    It takes the columns and their length.  TIMESTAMP(3) of 12:00:00.123456 is 12:00:00.123.
    """
    if not any(column.type.has_fraction for column in schema):
        return None
    evaluate = compile_expressions([_cut(index, schema) for index in range(len(schema))])

    def cut(columns: Sequence[pa.Array], count: int) -> Sequence[pa.Array]:
        return [made.values for made in evaluate(columns, count)]

    return cut


def _cut(index: int, schema: Schema) -> Expression:
    column = schema[index]
    given = ColumnRef(column.type.without_fraction, nullable=column.nullable, index=index)
    return Cast(column.type, column.nullable, given) if column.type.has_fraction else given
