"""The tokens that can be next, for messages: "a name", "an expression", FROM.

The parse table can allow up to a hundred kinds of tokens. All that begin an expression are one expectation,
and all operators are another. Of the others three are named: first those that end or continue an open clause,
then those that begin a new one.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Final

from fsql.compiler.parser.lookahead import Lookahead
from fsql.compiler.parser.parse_table import END, parse_table

_NAMED_MAX: Final = 3

_OPERATORS: Final = frozenset({
    "AMPERSAND", "AND", "AT", "BANG_EQUAL", "BETWEEN", "CIRCUMFLEX", "COLON_COLON", "CONCAT", "DOT", "EQUAL",
    "HASH", "ILIKE", "IN", "IS", "LESS", "LESS_EQUAL", "LIKE", "LSQB", "MINUS", "MORE", "MORE_EQUAL", "NOT",
    "NOT_EQUAL", "OR", "PERCENT", "PLUS", "SHIFT_LEFT", "SHIFT_RIGHT", "SLASH", "STAR", "THIN_ARROW",
    "HASH_ARROW", "HASH_ARROW_TEXT", "THIN_ARROW_TEXT", "TILDE", "TILDE_STAR", "BANG_TILDE",
    "BANG_TILDE_STAR", "TWO_TILDES", "BANG_TWO_TILDES", "REGEXP", "RLIKE", "SIMILAR", "VBAR",
})  # fmt: skip
_UNITS: Final = frozenset({
    f"{unit}{plural}"
    for unit in (
        "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"
    )
    for plural in ("", "S")
})  # fmt: skip
_FIRST: Final = (
    "RPAR",
    "RSQB",
    "COMMA",
    "FROM",
    "ON",
    "USING",
    "AS",
    "WHERE",
    "GROUP",
    "SELECT",
    "INSERT",
    "CREATE",
    "END",
)
"""The tokens that are named first, if neither an expression nor a name is expected."""
_LAST: Final = ("EMPTY_BRACKETS", "UNSIGNED", "WITH", "WITHOUT", "SEMICOLON", END)
_SHOWN: Final = {"SINK_WITH": "WITH", "LITERAL_TYPE": "a type", "_ENTRY_COLON": '":"'}
"""How kinds of tokens that depend on their place are named."""
_STATES_MAX: Final = 1 << 20


def expectation(kinds: frozenset[str]) -> str:
    """Return "expected …" for the `kinds` of tokens that can be next."""
    named = _names_of(set(kinds - {"HINT"}))
    some = named[:_NAMED_MAX]
    start = "expected" if len(named) <= _NAMED_MAX else "expected, for example,"
    return f"{start} {', '.join(some[:-1])}{' or ' if some[1:] else ''}{some[-1]}"


def _names_of(kinds: set[str]) -> list[str]:
    """Return the names of `kinds`, the most likely ones first."""
    named = []
    for name, group in _groups():
        if group <= kinds:
            named.append(name)
            kinds -= group
    operators = kinds & _OPERATORS
    if len(operators) > _NAMED_MAX:
        kinds -= operators
    else:
        operators = set()
    named += [_display_name(kind) for kind in sorted(kinds, key=_rank)]
    return named + ["an operator"] * bool(operators)


@cache
def _groups() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the expectations that many kinds of tokens can begin, the largest first."""
    expression = _accepted_kinds("SELECT") - {"ALL", "DISTINCT", "STAR", "HINT"}
    name = _accepted_kinds("INSERT", "INTO")
    type_ = _accepted_kinds("CREATE", "TABLE", "NAME", "LPAR", "NAME") - {"AS"}
    return (
        ("an expression", expression),
        ("a type", type_),
        ("a name", name),
        ("a unit such as SECOND", _UNITS),
        ("a string", frozenset({"STRING"})),
        ("a number", frozenset({"NUMBER"})),
    )


def _accepted_kinds(*kinds: str) -> frozenset[str]:
    """Return the kinds that can follow a text of `kinds`."""
    table = parse_table()
    ahead = Lookahead(table, [table.start])
    allowed = all(map(ahead.take, kinds))
    assert allowed, kinds
    return ahead.accepts()


def _rank(kind: str) -> tuple[int, str]:
    if kind in _FIRST:
        return _FIRST.index(kind), kind
    if kind in _LAST:
        return _STATES_MAX + _LAST.index(kind), kind
    return len(_FIRST) + _frequencies()[kind], kind


@cache
def _frequencies() -> Counter[str]:
    """Return in how many states each kind can be next: a rare kind is more specific."""
    return Counter(kind for state in parse_table().states for kind in state)


def _display_name(kind: str) -> str:
    if kind == END:
        return "the end of the script"
    if kind in _SHOWN:
        return _SHOWN[kind]
    signs = {name: sign for sign, name in parse_table().signs.items()}
    return f'"{signs[kind]}"' if kind in signs else kind
