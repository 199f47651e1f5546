"""Texts of a batch that would not fit one array: refused, and memory is not overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.runtime.kernels.expressions import compile_expressions, functions_string, per_value
from fsql.runtime.kernels.expressions.functions_string import _replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.sqltypes import SqlType

TEXTS = pa.array([str(number) for number in range(2_200)])


def check_refused(function: str, *behind: tuple[SqlType, int | str]) -> None:
    """Check that a function of TEXTS and constants is refused."""
    constants = [Literal(kind, nullable=False, value=value) for kind, value in behind]
    arguments = (ColumnRef(STRING, nullable=True, index=0), *constants)
    call = Call(STRING, nullable=True, function=function, arguments=arguments)
    with pytest.raises(FsqlError) as raised:
        compile_expressions([call])([TEXTS], len(TEXTS))
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == (
        "E506",
        "an expression has more than 2,147,483,647 bytes of text in one batch of rows",
    )


def test_texts_that_arrow_refuses_to_make() -> None:
    """Arrow adds up the lengths before it allocates memory, so this needs little."""
    check_refused("concat", (STRING, "x" * 1_000_000))


def test_texts_that_arrow_makes_several_arrays_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does so where the texts are more than 2 GiB; here they are few."""

    def in_two(values: Sequence[str | None], _kind: SqlType) -> pa.ChunkedArray:
        return pa.chunked_array([values[:2], values[2:]], pa.string())

    monkeypatch.setattr(per_value, "to_arrow", in_two)
    check_refused("lpad", (BIGINT, 10), (STRING, "ab"))


def test_a_batch_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The limit is made small here.
    monkeypatch.setattr(functions_string, "TEXT_BYTES_MAX", 10_000)
    texts = pa.array(["a" * 100, None, "b"])
    assert _replace(texts, pa.scalar("a"), pa.scalar("c" * 90))[0].as_py() == "c" * 9_000
    assert _replace(texts, pa.scalar("b"), pa.scalar("c" * 9_000))[2].as_py() == "c" * 9_000
    with pytest.raises(FsqlError) as raised:
        _replace(texts, pa.scalar("a"), pa.scalar("c" * 110))
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == (
        "E506",
        "REPLACE makes more than 10,000 bytes of the texts of one batch of rows",
    )
