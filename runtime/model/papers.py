"""Operations in the terms of FlameStream, for graphs written by hand: Python functions over any payloads.

Together with Broadcast and Merge they form a `fsql.compiler.graph.Graph`; a query has Source, the map
functions of SQL, Grouping and Sink instead.  `fsql.runtime.model.trial` executes such graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsql.compiler.graph import MapFunction, Operation
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from fsql.runtime.model.grouping import GroupingRule


@dataclass(frozen=True, eq=False)
class Apply(MapFunction):
    """Apply a pure function; with `balance`, on the worker that owns the hash of the balance value."""

    function: Callable[[Any], Iterable[object]]
    balance: Callable[[Any], Hashable] | None = None


@dataclass(frozen=True, eq=False)
class GroupBy(Operation):
    """Group payloads by a rule."""

    rule: GroupingRule


@dataclass(frozen=True, eq=False)
class Input(Operation):
    """The vertex at which fronts emit payloads."""


@dataclass(frozen=True, eq=False)
class Output(Operation):
    """A port of the barrier."""
