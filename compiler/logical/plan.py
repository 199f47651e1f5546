"""The base class of relational operators."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.node import Node, children
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import TIMESTAMP

if TYPE_CHECKING:
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType


@dataclass(frozen=True, eq=False)
class Plan(Node):
    """The base class of relational operators."""

    @cached_property
    def inputs(self) -> tuple[Plan, ...]:
        """Return the operators that this one reads, in the order of its fields."""
        return tuple(below for below in children(self) if isinstance(below, Plan))

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Return the columns of the rows that this operator produces."""


def time_type(below: Plan, column: int) -> SqlType:
    """Return the type of times computed from a time column, whatever its digits of fraction.

    The column may be missing in a plan that is not verified yet.
    """
    columns = below.schema
    return columns[column].type.without_fraction if 0 <= column < len(columns) else TIMESTAMP
