"""Text to syntax: the parse table is run over the tokens of a script.

`parse_script` replaces parameters, cuts the text into tokens, runs the automaton, and checks the limits. The
automaton has its own stack, so that no text, however deep, can exhaust that of Python.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, cast

from fsql.compiler import syntax
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.parser.keywords import kind_at
from fsql.compiler.parser.lambda_arrows import mark_lambda_arrows
from fsql.compiler.parser.lexer import Token, tokenize
from fsql.compiler.parser.lookahead import Lookahead
from fsql.compiler.parser.parse_table import END, parse_table
from fsql.compiler.parser.record_stars import mark_record_stars
from fsql.compiler.parser.star_exceptions import mark_star_exceptions
from fsql.compiler.parser.stream_windows import mark_literal_types, mark_stream_windows
from fsql.compiler.parser.syntax_builder import builder
from fsql.compiler.text.limits import check_syntax
from fsql.compiler.text.parameters import expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.parser.parse_table_file import Production
    from fsql.compiler.text.parameters import ExpandedText
    from fsql.compiler.text.source import SourceText, Span

_NO_PARAMETERS: Final[Mapping[str, str]] = {}


def parse_script(
    source: SourceText, parameters: Mapping[str, str] = _NO_PARAMETERS
) -> syntax.Script:
    """Return the statements of `source`, with each `${name}` replaced by its value in `parameters`.

    Raises:
        FsqlError: E1xx, the first error in the form of the text.
    """
    text = expand(source, parameters)
    run = _Run(text)
    tokens = mark_record_stars(mark_lambda_arrows(tokenize(text)))
    found = mark_literal_types(mark_stream_windows(mark_star_exceptions(tokens)))
    for index, (token, following) in enumerate(zip_longest(found, found[1:])):
        if not run.take(token, following):
            from fsql.compiler.parser.syntax_error import syntax_error

            raise syntax_error(text, found, index)
    script = syntax.Script(text.span(0, len(text.text)), run.result, source)
    check_syntax(script)
    return script


class _Run:
    """One run of the automaton: its states, and the value and extent of each but the first."""

    def __init__(self, text: ExpandedText) -> None:
        self._text = text
        self._table = parse_table()
        self._states = [self._table.start]
        self._values: list[object] = []
        self._extents: list[tuple[int, int]] = []

    @property
    def result(self) -> tuple[syntax.Statement, ...]:
        """Return the statements, after END has been taken."""
        return cast("tuple[syntax.Statement, ...]", self._values[-1])

    def take(self, token: Token, following: Token | None) -> bool:
        """Complete the rules that end before `token` and shift it; return whether it is allowed there.

        `following` is the token after it, None at the end.

        Raises:
            FsqlError: from a builder, for rules that the grammar cannot express.
        """
        states = self._states
        kind = kind_at(token, following, Lookahead(self._table, states))
        while True:
            action = self._table.states[states[-1]].get(kind)
            if action is None:
                return False
            if action >= 0:
                states.append(action)
                self._values.append(token._replace(kind=kind))
                self._extents.append((token.start, token.end))
                return True
            rule = self._table.rules[~action]
            if rule.size == 1 and rule.shape == "only" and rule.kept:
                # The child replaces the rule, which happens a dozen times for each operand without operators.
                states.pop()
            else:
                self._complete(rule)
            states.append(self._table.states[states[-1]][rule.origin])
            if kind == END and states[-1] == self._table.end:
                return True

    def _complete(self, rule: Production) -> None:
        """Replace the children of `rule` by its value."""
        first = len(self._values) - rule.size
        values, extents = self._values[first:], self._extents[first:]
        del self._values[first:], self._extents[first:], self._states[first + 1 :]
        extent = self._extent_of(extents)
        value: object
        if rule.shape == "only":
            value = values[rule.kept[0].index] if rule.kept else None
        else:
            value = _children(rule, values)
            if rule.shape == "record":
                value = self._build(rule, self._text.span(*extent), value)
        self._values.append(value)
        self._extents.append(extent)

    def _extent_of(self, extents: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the extent of a rule with children at `extents`; an empty one is after the last token."""
        filled = [extent for extent in extents if extent[0] < extent[1]]
        if filled:
            return filled[0][0], filled[-1][1]
        end = self._extents[-1][1] if self._extents else 0
        return end, end

    def _build(self, rule: Production, span: Span, children: list[object]) -> object:
        try:
            return builder(rule.origin)(span, *children)
        except FsqlError as error:
            raise self._text.error(error.diagnostics[0]) from None


def _children(rule: Production, values: list[object]) -> list[object]:
    """Return the significant children of `rule`, with None for each clause that is missing."""
    children: list[object] = []
    for child in rule.kept:
        children += [None] * child.nones
        value = values[child.index]
        if not child.splice:
            children.append(value)
        elif children:
            children += cast("list[object]", value)
        else:  # No other value shares the list, so that lists of any length take linear time.
            children = cast("list[object]", value)
    return children + [None] * rule.nones if rule.nones else children
