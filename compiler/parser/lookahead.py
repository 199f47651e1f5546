"""Look-ahead: runs the automaton without building anything, on top of a stack that is not changed.

The time and memory of a look-ahead depend on the number of its tokens, not on the depth of the stack below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.parser.parse_table import END

if TYPE_CHECKING:
    from fsql.compiler.parser.parse_table import ParseTable


class Lookahead:
    """The lowest `depth` states of `stack`, and the states above them that the look-ahead has reached."""

    def __init__(self, table: ParseTable, stack: list[int]) -> None:
        self._table = table
        self._stack = stack
        self._depth = len(stack)
        self._above: list[int] = []

    @property
    def actions(self) -> dict[str, int]:
        """Return the actions of the top state."""
        return self._table.states[self._above[-1] if self._above else self._stack[self._depth - 1]]

    def copy(self) -> Lookahead:
        """Return an independent copy of the look-ahead."""
        copied = Lookahead(self._table, self._stack)
        copied._depth = self._depth
        copied._above = self._above.copy()
        return copied

    def take(self, kind: str) -> bool:
        """Shift a token of `kind`; return whether the grammar allows it.

        If it does not, the look-ahead is incomplete and must not be used again.
        """
        while True:
            action = self.actions.get(kind)
            if action is None:
                return False
            if action >= 0:
                self._above.append(action)
                return True
            rule = self._table.rules[~action]
            beneath = max(0, rule.size - len(self._above))
            del self._above[len(self._above) - (rule.size - beneath) :]
            self._depth -= beneath
            state = self.actions[rule.origin]
            self._above.append(state)
            if kind == END and state == self._table.end:
                return True

    def takes(self, kind: str) -> bool:
        """Return whether a token of `kind` can be next."""
        return kind in self.actions and self.copy().take(kind)

    def accepts(self) -> frozenset[str]:
        """Return the kinds of tokens that can be next.

        The actions of the top state include more kinds, because LALR merges the look-ahead of similar states.
        """
        return frozenset(kind for kind in self.actions if kind.isupper() and self.takes(kind))
