"""Hostile text: whatever the text, there is a script or an error that can be shown, and it comes soon.

Catches exceptions that are no `FsqlError`, recursion, and time that grows with the square of the text;
not errors that are wrong about what is wrong, which the cases pin down.
"""

from __future__ import annotations

import inspect
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_error, render_json
from fsql.compiler.explain.syntax import syntax_json, syntax_text
from fsql.compiler.parser import parse_script
from fsql.compiler.parser.parse_table import parse_table
from fsql.compiler.text.source import SourceText
from fsql.tests.seeds import examples

WORDS = (
    *sorted(parse_table().keywords),
    *parse_table().signs,
    "a",
    "b",
    "1",
    "'x'",
    '"q"',
    "${p}",
    "",
)
MANY = 5_000


def outcome(text: str) -> str:
    """Parse `text`, show what comes of it in every way, and return "script" or the error's code."""
    source = SourceText("s", text)
    try:
        script = parse_script(source, {"p": "c d"})
    except FsqlError as error:
        shown = [render_error(error), render_json(error.diagnostics, error.source)]
        result = error.diagnostics[0].code
    else:
        shown = [syntax_text(script), syntax_json(script)]
        result = "script"
    for each in shown:
        each.encode()  # no lone surrogate may be left in it
    return result


SCRIPT = """\
CREATE TABLE t ( a BIGINT NOT NULL , b ARRAY < INT > , WATERMARK FOR at AS at - INTERVAL '4' SECOND )
WITH ( 'connector' = 'file' ) ; INSERT INTO s SELECT a , COUNT ( DISTINCT b ) FILTER ( WHERE c ) OVER w
AS n FROM TABLE ( HOP ( TABLE t , DESCRIPTOR ( at ) , 1 ) ) AS h LEFT JOIN u ON h . a = u . a
WHERE a IS NOT NULL AND b [ 1 ] IN ( SELECT x FROM y ) GROUP BY CUBE ( a ) HAVING CASE WHEN a THEN b END
EMIT FINAL UNION ALL SELECT * FROM v ORDER BY a DESC LIMIT 3 ;"""


def changed(changes: list[tuple[int, int, str]]) -> str:
    """Return the script with changes: at a place, how many words are lost and which is put in."""
    words = SCRIPT.split()
    for place, lost, word in changes:
        words[place : place + lost] = [word]
    return " ".join(words)


PLACES = st.integers(0, len(SCRIPT.split()))
CHANGES = st.tuples(PLACES, st.integers(0, 2), st.sampled_from(WORDS))
TEXTS = (
    st.text(st.characters(codec=None), max_size=40)
    | st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
    | st.lists(CHANGES, min_size=1, max_size=3).map(changed)
)


def has_an_outcome(text: str) -> None:
    outcome(text)


test_any_text = settings(max_examples=examples(70))(given(TEXTS)(has_an_outcome))


@pytest.mark.parametrize("chain", [" AND ", " OR ", " + ", " || ", " * "])
def test_long_chains_are_flat(chain: str) -> None:
    assert outcome(f"SELECT {chain.join(['a'] * 5_000)}") == "script"


@pytest.mark.parametrize(
    "text",
    [
        " UNION ALL ".join(["SELECT 1"] * 1_000),
        "SELECT 1 FROM a" + " CROSS JOIN b" * 1_000,
        f"SELECT {', '.join(['a'] * 10_000)}",
        "SELECT " + "(" * 200 + "1" + ")" * 200,
        "SELECT * FROM " + "(SELECT * FROM " * 199 + "t" + ")" * 199,
        f"SELECT '{'x' * 1_000_000}'",
    ],
    ids=["unions", "joins", "items", "brackets", "subqueries", "literal"],
)
def test_what_is_within_the_limits(text: str) -> None:
    assert outcome(text) == "script"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 1_000_000, "E107"),
        ("SELECT " + "1," * 500_000, "E107"),
        ("SELECT '" + "''" * 500_000, "E103"),
        ("`" * 100_001, "E103"),
        ("/* " * 300_000, "E103"),
        ("SELECT " + "NOT " * MANY + "a", "E108"),
        ("SELECT " + "- " * MANY + "a", "E108"),
        ("SELECT a" + " IS NULL" * MANY, "E108"),
        ("SELECT a" + "[1]" * MANY, "E108"),
        ("SELECT a" + ".b" * MANY, "E108"),
        ("SELECT " + "a." * MANY + "*", "E108"),
        ("SELECT CAST(a AS " + "ARRAY<" * MANY + "INT", "E104"),
        ("SELECT " + "CASE WHEN a THEN " * MANY, "E105"),
        ("SELECT " + "a + " * MANY + "b c d", "E101"),
        (";SELECT 1" * 10_001, "E109"),
        ("${p}" * MANY + "x", "E101"),
        ("x" * 1_000_000, "E101"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_what_is_not(text: str, code: str) -> None:
    assert outcome(text) == code


@pytest.mark.usefixtures("no_garbage")  # a finaliser may use the stack
def test_the_stack_of_python_is_not_used() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(frames_now() + 60)
    try:
        assert outcome("SELECT " + "(a + " * 199 + "b" + ")" * 199) == "script"
        assert outcome("SELECT * FROM " + "(SELECT * FROM " * 199 + "t" + ")" * 199) == "script"
    finally:
        sys.setrecursionlimit(before)


def frames_now() -> int:
    """Return how deep Python's stack is."""
    return len(inspect.stack(context=0))
