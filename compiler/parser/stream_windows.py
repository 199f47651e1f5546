"""WINDOW and WITHIN, WITH of CREATE SINK, MATCH_CONDITION, ARRAY, INT '1': which words begin these.

`FROM t WINDOW TUMBLING (SIZE 1 HOUR) WHERE …` and `FROM t WINDOW w AS (…)` look the same to an automaton with
one token of look-ahead, which has to know whether WHERE may follow.  So do `JOIN b WITHIN 1 HOUR ON …` and
`JOIN b WITHIN ON …`, where WITHIN is an alias, and `FROM t WITH (…)` at the end of CREATE SINK, where a query
could continue with `WITH ORDINALITY` or `TIMESTAMP WITH TIME ZONE`, and
`ASOF JOIN b MATCH_CONDITION (a.at >= b.at)` and an alias with names of columns, and `ARRAY(SELECT …)` and a
call of a function.  A type begins a literal before a string, as in `INT '14'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token

_AFTER_ASOF: Final = (["JOIN"], ["LEFT"])
KINDS: Final = frozenset({"TUMBLING", "HOPPING", "SESSION"})
_LITERAL_TYPES: Final = frozenset({
    "BIGINT", "BOOL", "BOOLEAN", "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTEGER", "JSON", "JSONB",
    "NUMERIC", "REAL", "SMALLINT", "STRING", "TEXT", "TINYINT", "VARCHAR",
})  # fmt: skip


def mark_stream_windows(tokens: list[Token]) -> list[Token]:
    """Return the tokens with other kinds for these words.

    WINDOW is a STREAM_WINDOW before `TUMBLING (` and the like, WITHIN a WITHIN_RANGE before a number, perhaps
    in brackets, unless it follows the brackets of a PATTERN.  WITH is a SINK_WITH before a bracket, in a
    statement that begins with CREATE SINK.  MATCH_CONDITION is one of its own before a bracket, in a join
    that begins with ASOF.  ARRAY is an ARRAY_QUERY before a query in brackets.
    """
    marked: list[Token] = []
    of_sink = as_of = False
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind == "SEMICOLON":
            of_sink = as_of = False
        elif not of_sink and _begins_sink(tokens, index):
            of_sink = True
        if kind == "WORD" and token.text.upper() == "WINDOW":
            kind = "STREAM_WINDOW" if _names_a_kind(tokens[index + 1 : index + 3]) else kind
        elif kind == "WORD" and token.text.upper() == "WITHIN" and tokens[index - 1].kind != "RPAR":
            following = [each.kind for each in tokens[index + 1 : index + 3]]
            number = following[:1] == ["NUMBER"] or following == ["LPAR", "NUMBER"]
            kind = "WITHIN_RANGE" if number else kind
        elif of_sink and kind == "WORD" and token.text.upper() == "WITH":
            following = [each.kind for each in tokens[index + 1 : index + 2]]
            kind = "SINK_WITH" if following == ["LPAR"] else kind
        elif kind == "WORD" and token.text.upper() == "ARRAY":
            qualified = index > 0 and tokens[index - 1].kind == "DOT"
            kind = "ARRAY_QUERY" if not qualified and _begins_query(tokens, index + 1) else kind
        elif kind == "WORD" and token.text.upper() == "ASOF":
            as_of = [each.text.upper() for each in tokens[index + 1 : index + 2]] in _AFTER_ASOF
        elif as_of and kind == "WORD" and token.text.upper() == "MATCH_CONDITION":
            bracket = [each.kind for each in tokens[index + 1 : index + 2]] == ["LPAR"]
            kind = "MATCH_CONDITION" if bracket else kind
            as_of = not bracket
        marked.append(token if kind == token.kind else token._replace(kind=kind))
    return marked


def mark_literal_types(tokens: list[Token]) -> list[Token]:
    """Return the tokens with kind LITERAL_TYPE for types before a string."""
    return [
        token._replace(kind="LITERAL_TYPE")
        if token.kind == "WORD"
        and token.text.upper() in _LITERAL_TYPES
        and _begins_literal(tokens, index)
        else token
        for index, token in enumerate(tokens)
    ]


def _begins_sink(tokens: list[Token], index: int) -> bool:
    """Return whether a statement begins with CREATE SINK here."""
    words = [each.text.upper() for each in tokens[index : index + 2]]
    return words == ["CREATE", "SINK"] and (index == 0 or tokens[index - 1].kind == "SEMICOLON")


def _begins_literal(tokens: list[Token], index: int) -> bool:
    """Return whether a string follows a type, perhaps after PRECISION."""
    precise = [each.text.upper() for each in tokens[index : index + 2]] == ["DOUBLE", "PRECISION"]
    text = index + 1 + precise
    return [each.kind for each in tokens[text : text + 1]] == ["STRING"]


def _begins_query(tokens: list[Token], index: int) -> bool:
    """Return whether a query in brackets begins here."""
    brackets = index
    while index < len(tokens) and tokens[index].kind == "LPAR":
        index += 1
    words = [each.text.upper() for each in tokens[index : index + 1]]
    return index > brackets and words in (["SELECT"], ["WITH"], ["VALUES"])


def _names_a_kind(tokens: list[Token]) -> bool:
    if len(tokens) < 2:
        return False
    kind, bracket = tokens
    return kind.kind == "WORD" and kind.text.upper() in KINDS and bracket.kind == "LPAR"
