"""REPLACE on texts that would not fit one array: refused, and memory is not overwritten.

The limit is made small here.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.kernels.expressions import functions_string
from fsql.runtime.kernels.expressions.functions_string import _replace


def test_a_batch_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
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
