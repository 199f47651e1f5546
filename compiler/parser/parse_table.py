"""The parse table: the LALR(1) automaton of grammar.lark, as plain data.

`compile_grammar` makes `parse_table.json` from the grammar with Lark; loading the file takes a few
milliseconds and needs no Lark.  The file contains the digest of its grammar. If the grammar has another one,
as during its development, the table is compiled again, which takes a second.

In a state, an action is an integer: n >= 0 goes to state n, for a token as well as for a completed rule, and
n < 0 completes the rule ~n.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import msgspec

from fsql.compiler.parser.parse_table_file import FILE, Production, TableFile, grammar_digest
from fsql.compiler.records import dataclass

END: Final = "$END"
"""The kind of the token at the end of the text."""


@dataclass(frozen=True)
class ParseTable:
    """The automaton: `states[state][symbol]` is an action, and at `end` the text is complete.

    `keywords` are in upper case; `signs` maps each sign to its kind.
    """

    states: tuple[dict[str, int], ...]
    rules: tuple[Production, ...]
    start: int
    end: int
    keywords: frozenset[str]
    signs: dict[str, str]


@cache
def parse_table() -> ParseTable:
    """Return the table of grammar.lark, from the file if it is up to date."""
    digest = grammar_digest()
    file = msgspec.json.decode(FILE.read_bytes(), type=TableFile) if FILE.exists() else None
    if file is None or file.grammar != digest:
        from fsql.compiler.parser.compile_grammar import (
            compile_grammar,  # This imports Lark, and so only happens if needed.
        )

        file = compile_grammar()
    return _unpack(file)


def _unpack(file: TableFile) -> ParseTable:
    symbols = file.symbols
    lookaheads = [[symbols[index] for index in lookahead] for lookahead in file.lookaheads]
    states = []
    for moves, completions in file.states:
        actions = dict(zip([symbols[index] for index in moves[::2]], moves[1::2], strict=True))
        for rule, lookahead in zip(completions[::2], completions[1::2], strict=True):
            actions.update(dict.fromkeys(lookaheads[lookahead], ~rule))
        states.append(actions)
    return ParseTable(
        states=tuple(states),
        rules=tuple(file.rules),
        start=file.start,
        end=file.end,
        keywords=frozenset(file.keywords),
        signs=file.signs,
    )
