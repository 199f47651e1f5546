"""How long state is kept after the row that touched it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long the groups of a query are kept after their last row, and the span that sets it."""

    idle_us: int
    span: Span


@dataclass(frozen=True, slots=True)
class SideLifetimes:
    """How long the rows of the two sides of a join are kept, and the span that sets it."""

    left_us: int
    right_us: int
    span: Span
