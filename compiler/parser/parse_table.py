"""The parse table: the LALR(1) automaton of grammar.lark, as plain data.

`compile_grammar` makes `parse_table.json` from the grammar with Lark; loading the file takes a few
milliseconds and needs no Lark.  The file names the grammar that it was made from.  Where they differ,
as while the grammar is being changed, the table is compiled anew, which takes a second.

In a state, an action is an integer: n >= 0 goes to state n, over a word as well as over a completed
rule, and n < 0 completes the rule ~n.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

GRAMMAR: Final = Path(__file__).with_name("grammar.lark")
FILE: Final = Path(__file__).with_name("parse_table.json")

END: Final = "$END"
"""The kind of what follows the last word."""


class Child(msgspec.Struct, frozen=True, array_like=True):
    """A child that counts: its index, how many missing clauses precede it, whether to splice it in."""

    index: int
    nones: int
    splice: bool


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """One alternative of a rule, and what becomes of its children.

    `size` is how many it takes from the stack, `kept` are those that count, and `nones` clauses are
    missing behind the last.  Then a "record" goes to the builder's method `origin`, a "list" to the rule
    above, which splices it in, and an "only" child takes the rule's place.
    """

    origin: str
    size: int
    kept: tuple[Child, ...]
    nones: int
    shape: Literal["record", "list", "only"]


class TableFile(msgspec.Struct):
    """The form of `parse_table.json`.

    A state is its moves (symbol, state, …) and its completions (rule, look-ahead, …), where symbols are
    indexes into `symbols`, and a look-ahead is one into `lookaheads`: states share them.
    """

    grammar: str
    start: int
    end: int
    words: list[str]
    signs: dict[str, str]
    symbols: list[str]
    rules: list[Rule]
    lookaheads: list[list[int]]
    states: list[tuple[list[int], list[int]]]


@dataclass(frozen=True)
class ParseTable:
    """The automaton: `states[state][symbol]` is an action, and at `end` the text is complete.

    `words` are the keywords, in upper case; `signs` maps each sign to its kind.
    """

    states: tuple[dict[str, int], ...]
    rules: tuple[Rule, ...]
    start: int
    end: int
    words: frozenset[str]
    signs: dict[str, str]


@cache
def parse_table() -> ParseTable:
    """Return the table of grammar.lark, from the file if that is up to date."""
    digest = grammar_digest()
    file = msgspec.json.decode(FILE.read_bytes(), type=TableFile) if FILE.exists() else None
    if file is None or file.grammar != digest:
        from fsql.compiler.parser.compile_grammar import (
            compile_grammar,  # brings Lark: only where needed
        )

        file = compile_grammar()
    return _unpack(file)


def grammar_digest() -> str:
    """Return what identifies the text of the grammar."""
    return hashlib.sha256(GRAMMAR.read_bytes()).hexdigest()


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
        words=frozenset(file.words),
        signs=file.signs,
    )
