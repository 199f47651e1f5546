"""GROUP BY of a SELECT: its keys, its grouping sets, and the aggregates of each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class Key:
    """A key of GROUP BY: its expression, its name, and its span."""

    expression: Expression
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """The keys of GROUP BY, each once, and the keys of each grouping set."""

    keys: tuple[Key, ...]
    sets: tuple[frozenset[Expression], ...]

    @classmethod
    def of(cls, sets: Sequence[tuple[Key, ...]]) -> GroupKeys:
        """Return the keys of the sets, in the order in which they are written."""
        keys = {key.expression: key for keys in reversed(sets) for key in reversed(keys)}
        order = dict.fromkeys(key.expression for one in sets for key in one)
        held = tuple(frozenset(key.expression for key in one) for one in sets)
        return cls(tuple(keys[each] for each in order), held)

    @property
    def common(self) -> frozenset[Expression]:
        """Return the keys of every set."""
        return frozenset.intersection(*self.sets)


@dataclass(frozen=True, slots=True)
class BoundGroups:
    """The keys and the aggregates of a SELECT, which placeholders refer to by their numbers.

    `span` is that of all elements of GROUP BY, or of the first item of SELECT.
    """

    keys: GroupKeys
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]
    span: Span

    def rewrite(self, over: Callable[[Expression], Expression], spans: SourceSpans) -> BoundGroups:
        """Return the groups with the arguments of the aggregates rewritten."""
        aggregates = []
        for call in self.aggregates:
            argument = None if call.argument is None else over(call.argument)
            aggregates.append(
                replace(call, argument=argument, others=tuple(map(over, call.others)))
            )
            spans.copy(call, aggregates[-1])
        return replace(self, aggregates=tuple(aggregates))
