"""The parse table is that of the grammar, and the builder fits it.

Catches a grammar that was changed without its table or its builder; what the rules mean is in the cases.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest

from fsql.compiler.parser.compile_grammar import compile_grammar, table_bytes
from fsql.compiler.parser.keywords import RESERVED
from fsql.compiler.parser.parse_table import parse_table
from fsql.compiler.parser.parse_table_file import FILE, grammar_digest
from fsql.compiler.parser.syntax_builder import BUILT

STALE = "run python -m fsql.compiler.parser.compile_grammar"


def test_the_file_is_of_this_grammar() -> None:
    assert f'"{grammar_digest()}"' in FILE.read_text(encoding="utf-8"), STALE


def test_parsing_needs_no_lark() -> None:
    code = "import sys, fsql.compiler.parser as p; p.parse_table(); sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0, STALE


@pytest.mark.slow
def test_the_file_is_what_the_grammar_compiles_to(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="lark")
    assert table_bytes(compile_grammar()) == FILE.read_bytes(), STALE
    assert conflicts(caplog.messages) == {
        ("ARRAY", "is_json"),  # IS JSON ARRAY
        ("AS", "included_column"),  # INCLUDE offset AS o
        ("IGNORE", "null_treatment"),  # ARRAY_AGG(UPPER(a) IGNORE NULLS)
        ("RESPECT", "null_treatment"),
        ("COMMA", "view_columns"),  # LATERAL VIEW explode(m) AS k, v
        ("LSQB", "name"),  # ARRAY[, MAP[
        ("RPAR", "query_in_brackets"),
        ("TO", "interval"),
    }


def conflicts(messages: list[str]) -> set[tuple[str, str]]:
    """Return the words before which Lark had to choose, and the rules that it did not complete."""
    words = re.findall(r"conflict for terminal (\w+)", "\n".join(messages))
    rules = re.findall(r"^ \* <(\w+) :", "\n".join(messages), re.MULTILINE)
    return set(zip(words, rules, strict=True))


def test_each_rule_has_a_builder_and_each_builder_a_rule() -> None:
    records = {rule.origin for rule in parse_table().rules if rule.shape == "record"}
    assert records == BUILT


def test_reserved_words_are_keywords() -> None:
    assert parse_table().keywords >= RESERVED
