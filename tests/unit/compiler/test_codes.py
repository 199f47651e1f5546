"""The code table: each example of a syntax error is reported with its code."""

from __future__ import annotations

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText

TOO_LONG_TO_SHOW = {"E107", "E108", "E109"}
NO_TEXT = {"E117"}
SYNTAX = [
    code for code in CODES if code.startswith("E1") and code not in TOO_LONG_TO_SHOW | NO_TEXT
]


@pytest.mark.parametrize("code", SYNTAX)
def test_the_example_is_reported_so(code: str) -> None:
    example = CODES[code].example.encode("latin-1").decode("unicode-escape")
    with pytest.raises(FsqlError) as raised:
        parse_script(SourceText("example.sql", example))
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == [code]


@pytest.mark.parametrize("code", CODES)
def test_every_part_says_something(code: str) -> None:
    row = CODES[code]
    assert all([row.title, row.cause, row.fix, row.example])
    assert not row.title.endswith(".")
    assert row.cause.endswith(".")
    assert row.fix.endswith(".")
