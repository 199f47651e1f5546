"""Subqueries as values: each row of the query around one has at most one row of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class BoundSubquery:
    """The rows of a subquery, and the keys of each side by which they are found.

    `outer_keys` are expressions of the query around it, `keys` the first columns of `rows`.
    """

    rows: Plan
    outer_keys: tuple[Expression, ...]
    keys: tuple[Expression, ...]
    span: Span

    def rewrite(self, over: Callable[[Expression], Expression]) -> BoundSubquery:
        """Return the subquery with its keys of the query around it rewritten."""
        return replace(self, outer_keys=tuple(map(over, self.outer_keys)))
