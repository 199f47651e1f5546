"""Tables of calls: rows of arguments and what comes of them, tried in every form that a column has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pyarrow as pa

from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.kernels.expressions import compile_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.sqltypes import SqlType

    Build = Callable[[tuple[Expression, ...]], Expression]

NAN = math.nan
MANY = 64
"""From so many rows on, some kernels go another way."""
FAILS = "fails with "


def call(name: str, type_: SqlType) -> Build:
    """Return what calls function `name`, with a result of `type_`."""
    return lambda arguments: Call(type_, nullable=True, function=name, arguments=arguments)


def fails(code: int) -> str:
    """Return the outcome of a row that fails with `code`."""
    return f"{FAILS}{code}"


def check_table(
    build: Build, types: Sequence[SqlType], table: Sequence[tuple[Sequence[Value], Value]]
) -> None:
    """Check `build(arguments)` over the rows of `table`: (arguments of `types`, outcome).

    The arguments are given as columns, short and long, as slices, with dictionaries, and each row as
    constants; a row of NULLs is added, which has to give NULL.
    """
    references = tuple(ColumnRef(type_, nullable=True, index=i) for i, type_ in enumerate(types))
    expression = build(references)
    rows = [*table, ((None,) * len(types), None)]
    columns = [
        to_arrow([arguments[i] for arguments, _ in rows], type_) for i, type_ in enumerate(types)
    ]
    expected = [repr(outcome) for _, outcome in rows]
    assert outcomes(expression, columns, len(rows)) == expected
    sliced = [pa.concat_arrays([c.slice(1, 1), c, c.slice(0, 1)]).slice(1, len(c)) for c in columns]
    assert outcomes(expression, sliced, len(rows)) == expected
    copies = 1 + MANY // len(rows)
    many = [pa.concat_arrays([c] * copies) for c in columns]
    assert outcomes(expression, many, copies * len(rows)) == expected * copies
    doubled = [_encoded(pa.concat_arrays([c, c]), t) for c, t in zip(columns, types, strict=True)]
    assert outcomes(expression, doubled, 2 * len(rows)) == expected * 2
    for arguments, outcome in rows:
        constants = tuple(
            Literal(type_, nullable=True, value=value)
            for type_, value in zip(types, arguments, strict=True)
        )
        assert outcomes(build(constants), [], 2) == [repr(outcome)] * 2, arguments


def _encoded(column: pa.Array, type_: SqlType) -> pa.Array:
    return column.dictionary_encode() if type_.kind is Kind.STRING else column


def outcomes(expression: Expression, columns: Sequence[pa.Array], count: int) -> list[str]:
    array, failed = compile_expression(expression)(columns, count)
    array.validate(full=True)
    codes = [0] * count if failed is None else failed.tolist()
    values = from_arrow(array, expression.type)
    return [repr(fails(code) if code else value) for value, code in zip(values, codes, strict=True)]
