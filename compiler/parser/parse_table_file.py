"""The file of the parse table, `parse_table.json`, and the digest of its grammar."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

import msgspec

GRAMMAR: Final = Path(__file__).with_name("grammar.lark")
FILE: Final = Path(__file__).with_name("parse_table.json")


class Child(msgspec.Struct, frozen=True, array_like=True):
    """A significant child: its index, the missing clauses before it, and whether it is spliced in."""

    index: int
    nones: int
    splice: bool


class Production(msgspec.Struct, frozen=True, array_like=True):
    """One alternative of a rule, and how its children are used.

    `size` is the number of children on the stack, `kept` are the significant ones, and `nones` is the number
    of missing clauses after the last.  Then a "record" goes to the builder's method `origin`, a "list" to the
    rule above, which splices it in, and an "only" child replaces the rule.
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
    keywords: list[str]
    signs: dict[str, str]
    symbols: list[str]
    rules: list[Production]
    lookaheads: list[list[int]]
    states: list[tuple[list[int], list[int]]]


def grammar_digest() -> str:
    """Return the digest of the text of the grammar."""
    return hashlib.sha256(GRAMMAR.read_bytes()).hexdigest()
