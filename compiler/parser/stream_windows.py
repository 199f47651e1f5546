"""WINDOW and WITHIN of ksqlDB: whether they begin a window of all rows and the time range of a join.

`FROM t WINDOW TUMBLING (SIZE 1 HOUR) WHERE …` and `FROM t WINDOW w AS (…)` look the same to an automaton with
one token of look-ahead, which has to know whether WHERE may follow.  So do `JOIN b WITHIN 1 HOUR ON …` and
`JOIN b WITHIN ON …`, where WITHIN is an alias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token

KINDS: Final = frozenset({"TUMBLING", "HOPPING", "SESSION"})


def mark_stream_windows(tokens: list[Token]) -> list[Token]:
    """Return the tokens with other kinds for two words of ksqlDB.

    WINDOW is a STREAM_WINDOW before `TUMBLING (` and the like, WITHIN a WITHIN_RANGE before a number, perhaps
    in brackets, unless it follows the brackets of a PATTERN.
    """
    marked: list[Token] = []
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind == "WORD" and token.text.upper() == "WINDOW":
            kind = "STREAM_WINDOW" if _names_a_kind(tokens[index + 1 : index + 3]) else kind
        elif kind == "WORD" and token.text.upper() == "WITHIN" and tokens[index - 1].kind != "RPAR":
            following = [each.kind for each in tokens[index + 1 : index + 3]]
            number = following[:1] == ["NUMBER"] or following == ["LPAR", "NUMBER"]
            kind = "WITHIN_RANGE" if number else kind
        marked.append(token if kind == token.kind else token._replace(kind=kind))
    return marked


def _names_a_kind(tokens: list[Token]) -> bool:
    if len(tokens) < 2:
        return False
    kind, bracket = tokens
    return kind.kind == "WORD" and kind.text.upper() in KINDS and bracket.kind == "LPAR"
