"""Compile grammar.lark to parse_table.json: `python -m fsql.compiler.parser.compile_grammar` after a change.

The only module that uses Lark, which parses the grammar, expands its lists and optional parts, and computes
the LALR(1) table.  The same grammar always results in the same file: rules and states are numbered in a
defined order, because that of Lark varies from run to run.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from lark import Lark
from lark.parsers.lalr_analysis import Shift

from fsql.compiler.parser.parse_table_file import (
    FILE,
    GRAMMAR,
    Child,
    Production,
    TableFile,
    grammar_digest,
)

if TYPE_CHECKING:
    from lark.grammar import Production as LarkRule
    from lark.parsers.lalr_analysis import ParseTableBase

_START: Final = "script"

_State = dict[str, int]
"""Actions by symbol, as `parse_table` defines them."""


def compile_grammar() -> TableFile:
    """Return the table of grammar.lark."""
    lark = Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=_START,
        maybe_placeholders=True,
    )
    table = lark.parser.parser._parse_table  # noqa: SLF001 - Lark has no other way to the table
    rules = {rule: number for number, rule in enumerate(sorted(lark.rules, key=str))}
    numbers = _number_states(table)
    states = [_actions(table.states[state], rules, numbers) for state in numbers]
    patterns = {terminal.name: terminal.pattern for terminal in lark.terminals}
    keywords = [name for name, pattern in patterns.items() if "i" in pattern.flags]
    assert all(patterns[name].value.upper() == name for name in keywords), (
        "a keyword's kind is the word"
    )
    return _pack(
        states,
        rules=[_rule(rule) for rule in rules],
        end=numbers[table.end_states[_START]],
        keywords=sorted(keywords),
        signs={pattern.value: name for name, pattern in patterns.items() if name not in keywords},
    )


def _number_states(table: ParseTableBase[int]) -> dict[int, int]:
    """Return the number of each state: 0 for the first, the others in breadth-first order."""
    first = table.start_states[_START]
    numbers = {first: 0}
    queue = deque([first])
    while queue:
        moves = table.states[queue.popleft()]
        for _, (action, target) in sorted(moves.items(), key=lambda move: move[0]):
            if action is Shift and target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
    return numbers


def _actions(
    moves: dict[str, tuple[object, int | LarkRule]],
    rules: dict[LarkRule, int],
    numbers: dict[int, int],
) -> _State:
    return {
        str(symbol): numbers[target] if action is Shift else ~rules[target]
        for symbol, (action, target) in sorted(moves.items(), key=lambda move: move[0])
    }


def _rule(rule: LarkRule) -> Production:
    """Return how the children of `rule` are used, by Lark's own conventions.

    A keyword or sign that the grammar does not name is dropped, a rule whose name begins with `_` is spliced
    in, and each missing clause in square brackets leaves one None for each of its symbols.
    """
    missing = rule.options.empty_indices or (False,) * len(rule.expansion)
    kept: list[Child] = []
    nones = index = 0
    for gap in missing:
        if gap:
            nones += 1
            continue
        symbol = rule.expansion[index]
        if not (symbol.is_term and symbol.filter_out):
            splice = not symbol.is_term and symbol.name.startswith("_")
            kept.append(Child(index, nones, splice))
            nones = 0
        index += 1
    assert index == len(rule.expansion)
    return Production(str(rule.origin.name), index, tuple(kept), nones, _shape(rule, kept, nones))


def _shape(rule: LarkRule, kept: list[Child], nones: int) -> Literal["record", "list", "only"]:
    if rule.origin.name.startswith("_"):
        return "list"
    children = len(kept) + nones + sum(child.nones for child in kept)
    if rule.options.expand1 and children == 1 and not any(child.splice for child in kept):
        return "only"
    return "record"


def _pack(
    states: list[_State],
    *,
    rules: list[Production],
    end: int,
    keywords: list[str],
    signs: dict[str, str],
) -> TableFile:
    """Return the file: symbols and look-aheads, which occur many times, as indexes."""
    symbols = sorted({symbol for state in states for symbol in state})
    indexes = {symbol: index for index, symbol in enumerate(symbols)}
    lookaheads: dict[tuple[int, ...], int] = {}
    packed = []
    for state in states:
        moves = [
            n for symbol, action in state.items() if action >= 0 for n in (indexes[symbol], action)
        ]
        completions = []
        for rule in sorted({~action for action in state.values() if action < 0}):
            lookahead = tuple(indexes[symbol] for symbol in state if state[symbol] == ~rule)
            completions += [rule, lookaheads.setdefault(lookahead, len(lookaheads))]
        packed.append((moves, completions))
    return TableFile(
        grammar=grammar_digest(),
        start=0,
        end=end,
        keywords=keywords,
        signs=dict(sorted(signs.items())),
        symbols=symbols,
        rules=rules,
        lookaheads=[list(lookahead) for lookahead in lookaheads],
        states=packed,
    )


def table_bytes(file: TableFile) -> bytes:
    """Return `file` as JSON, a rule or state on each line, so that changes can be reviewed."""
    fields = []
    for name in TableFile.__struct_fields__:
        value = getattr(file, name)
        lists = isinstance(value, list) and not isinstance(value[0], str)
        text = b"[\n" + b",\n".join(map(_json, value)) + b"\n]" if lists else _json(value)
        fields.append(_json(name) + b":" + text)
    return b"{\n" + b",\n".join(fields) + b"\n}\n"


_json: Final = msgspec.json.encode


if __name__ == "__main__":
    FILE.write_bytes(table_bytes(compile_grammar()))
