"""How diagnostics look: what the cases do not show, because their text is simple."""

from __future__ import annotations

import json

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.render import render_json, render_text
from fsql.compiler.text.source import SourceText, Span

SOURCE = SourceText(
    "total.sql",
    "SELECT user_id, sum(amnt) AS total\nFROM payments\n\n\n"
    "WHERE (a =\n\t1 + 漢字 x\n  AND 3)\n-- the end",
)


def label(text: str, message: str = "") -> Label:
    """Return a label on the first place where `text` is."""
    start = SOURCE.text.index(text)
    return Label(Span(start, start + len(text)), message)


def rendered(*labels: Label, message: str = "what is wrong") -> str:
    primary, *secondary = labels
    return render_text([Diagnostic("E101", message, primary, tuple(secondary))], SOURCE)


def test_several_labels_on_a_line() -> None:
    text = rendered(label("sum(amnt)", "a"), label("user_id", "b"), label("total", "c"))
    assert text == (
        "error[FSQL-E101]: what is wrong\n"
        " --> total.sql:1:17\n"
        "  |\n"
        "1 | SELECT user_id, sum(amnt) AS total\n"
        "  |        -------  ^^^^^^^^^    ----- c\n"
        "  |        |        |\n"
        "  |        |        a\n"
        "  |        |\n"
        "  |        b\n"
    )


def test_lines_far_apart_and_lines_between() -> None:
    text = rendered(label("-- the end", "here"), label("WHERE"), label("total", "there"))
    assert text == (
        "error[FSQL-E101]: what is wrong\n"
        " --> total.sql:8:1\n"
        "  |\n"
        "1 | SELECT user_id, sum(amnt) AS total\n"
        "  |                              ----- there\n"
        "...\n"
        "5 | WHERE (a =\n"
        "  | -----\n"
        "...\n"
        "8 | -- the end\n"
        "  | ^^^^^^^^^^ here\n"
    )


def test_a_label_on_several_lines() -> None:
    assert rendered(label("(a =\n\t1 + 漢字 x\n  AND 3)", "all of it")) == (
        "error[FSQL-E101]: what is wrong\n"
        " --> total.sql:5:7\n"
        "  |\n"
        "5 | WHERE (a =\n"
        "  |       ^^^^\n"
        "6 |     1 + 漢字 x\n"
        "7 |   AND 3)\n"
        "  |   ^^^^^^ all of it\n"
    )


def test_tabs_and_wide_characters() -> None:
    assert rendered(label("x\n  AND", ""), label("漢字", "wide")).splitlines()[3:5] == [
        "6 |     1 + 漢字 x",
        "  |         ---- ^",
    ]


def test_nothing_that_cannot_be_seen_is_printed() -> None:
    source = SourceText("a\x1b.sql", "SELECT \u202eabc \ud800;")
    diagnostic = Diagnostic("E110", "on \u202e", Label(Span(12, 13), "is \ud800"), helps=("\x00",))
    assert render_text([diagnostic], source) == (
        "error[FSQL-E110]: on \\u202e\n"
        " --> a\\u001b.sql:1:13\n"
        "  |\n"
        "1 | SELECT \\u202eabc \\ud800;\n"
        "  |                  ^^^^^^ is \\ud800\n"
        "  = help: \\u0000\n"
    )


def test_without_labels_and_without_source() -> None:
    lost = Diagnostic("I901", "a state that cannot be", notes=("a fact",))
    assert render_text([lost], None) == (
        "error[FSQL-I901]: a state that cannot be\n  = note: a fact\n"
    )


def test_colours() -> None:
    text = render_text([Diagnostic("W301", "careful", label("user_id"))], SOURCE, coloured=True)
    assert text == (
        "\x1b[1;33mwarning[FSQL-W301]\x1b[0m\x1b[1m: careful\x1b[0m\n"
        " \x1b[1;34m-->\x1b[0m total.sql:1:8\n"
        "\x1b[1;34m  |\x1b[0m\n"
        "\x1b[1;34m1 |\x1b[0m SELECT user_id, sum(amnt) AS total\n"
        "\x1b[1;34m  |\x1b[0m        \x1b[1;31m^^^^^^^\x1b[0m\n"
    )


def test_json() -> None:
    diagnostic = Diagnostic(
        "E101", "wrong", label("amnt", "a"), (label("payments"),), ("n",), ("h",)
    )
    assert json.loads(render_json([diagnostic], SOURCE)) == [
        {
            "code": "FSQL-E101",
            "severity": "error",
            "message": "wrong",
            "source": "total.sql",
            "labels": [
                {
                    "primary": True,
                    "message": "a",
                    "start": 20,
                    "end": 24,
                    "line": 1,
                    "column": 21,
                    "end_line": 1,
                    "end_column": 25,
                },
                {
                    "primary": False,
                    "message": "",
                    "start": 40,
                    "end": 48,
                    "line": 2,
                    "column": 6,
                    "end_line": 2,
                    "end_column": 14,
                },
            ],
            "notes": ["n"],
            "helps": ["h"],
        }
    ]
