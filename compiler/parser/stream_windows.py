"""WINDOW of ksqlDB: whether it begins a window of all rows, or names windows of OVER.

`FROM t WINDOW TUMBLING (SIZE 1 HOUR) WHERE …` and `FROM t WINDOW w AS (…)` look the same to an automaton with
one token of look-ahead, which has to know whether WHERE may follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token

KINDS: Final = frozenset({"TUMBLING", "HOPPING", "SESSION"})


def mark_stream_windows(tokens: list[Token]) -> list[Token]:
    """Return the tokens with kind STREAM_WINDOW for the word WINDOW before `TUMBLING (` and the like."""
    return [
        token._replace(kind="STREAM_WINDOW")
        if token.kind == "WORD"
        and token.text.upper() == "WINDOW"
        and _names_a_kind(tokens[index + 1 : index + 3])
        else token
        for index, token in enumerate(tokens)
    ]


def _names_a_kind(tokens: list[Token]) -> bool:
    if len(tokens) < 2:
        return False
    kind, bracket = tokens
    return kind.kind == "WORD" and kind.text.upper() in KINDS and bracket.kind == "LPAR"
