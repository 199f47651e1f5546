"""JSON in texts: what is JSON, how it is written again, and what a path is.

Catches a reader that is more lenient than RFC 8259, and a result that depends on more than the text.
"""

from __future__ import annotations

import pytest

from fsql.compiler.functions.json_documents import (
    DEPTH_MAX,
    NotJsonError,
    Step,
    Wildcard,
    path_steps,
    read_document,
    write_document,
)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "[1,]", '{"a":1,}', "NaN", "-Infinity", "01", "+1", "1.", ".5", "'a'", "{a:1}"),
        *('"a', '"\t"', '"\\x"', "[1] 2", "nul", "// x", "\ufeff1", '"\\ud800"', '{"\\udc00":1}'),
        *("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), "[" * 100_000, "1e", "\x0c1"),
    ],
)
def test_what_is_not_json(text: str) -> None:
    with pytest.raises(NotJsonError):
        read_document(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            ' { "b" : 1.50 , "a" : [ 1e400 , -0 , 12345678901234567890 ] } ',
            '{"b":1.50,"a":[1e400,-0,12345678901234567890]}',
        ),
        ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        ('"\\u00e9\\/\\ud83d\\ude00\\u0007"', '"é/\U0001f600\\u0007"'),
        ('["[[[", "\\"]"]', '["[[[","\\"]"]'),
        ("[" * DEPTH_MAX + "]" * DEPTH_MAX, "[" * DEPTH_MAX + "]" * DEPTH_MAX),
        ("null", "null"),
    ],
)
def test_a_document_is_written_in_one_form(text: str, written: str) -> None:
    assert write_document(read_document(text)) == written


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$", ()),
        ("lax $.a.b_1", ("a", "b_1")),
        ("$.a[0][12]", ("a", 0, 12)),
        ("""$."a b"['c.d']["e\\"f"]""", ("a b", "c.d", 'e"f')),
        ("$.é", ("é",)),
        ("""strict $.['a b'].["c"]""", ("a b", "c")),
        ("$.a[*].*", ("a", Wildcard.ELEMENTS, Wildcard.MEMBERS)),
        *(
            (wrong, None)
            for wrong in (
                "",
                "a",
                "$.",
                "$a",
                "$[-1]",
                "$[**]",
                "$..a",
                "$.a[",
                "$.1a",
                "strict",
                "strict lax $",
                "lax strict $",
                "$[1:2]",
                "$.a ?(@.b)",
                "$." + "a" * 2_000,
            )
        ),
    ],
)
def test_a_path_is_steps(path: str, steps: tuple[Step, ...] | None) -> None:
    assert path_steps(path) == steps
