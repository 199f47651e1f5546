"""What all relational operators have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.node import Node

if TYPE_CHECKING:
    from fsql.compiler.schema import Schema


@dataclass(frozen=True, eq=False)
class Plan(Node):
    """The base of relational operators."""

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the operators that this one reads."""
        return ()

    @cached_property
    def schema(self) -> Schema:
        """Return the columns of the rows that this operator produces."""
        raise NotImplementedError
