"""The keys and aggregates of an aggregate operator, and expressions over its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.bound.pending import (
    AggregateValue,
    OuterValue,
    RunningValue,
    SubqueryValue,
    replace_pending,
)
from fsql.compiler.diagnostics.refusal import Refusal, refusal
from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef, Expression
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.bound.groups import Key
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """The keys and aggregates of an aggregate operator, each once, with their names."""

    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    aggregates: tuple[AggregateCall, ...]
    aggregate_names: tuple[str, ...]

    @property
    def key_indexes(self) -> dict[Expression, int]:
        """Return the index of each key among the distinct keys."""
        return {key: index for index, key in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class Groups:
    """The columns of an aggregate's rows, in terms of the rows that it groups.

    The first `passed` columns of the input are kept; they are followed by the keys, then the aggregates.
    `names` are the names of the input's columns, for messages.
    """

    keys: Mapping[Expression, int]
    passed: int
    names: Sequence[str]
    source_spans: SourceSpans

    def carry(self, expression: Expression, spans: Mapping[Expression, Span]) -> Expression:
        """Return the expression over the aggregate's rows.

        Raises:
            Refusal: E302, for a column that is neither grouped nor aggregated.
        """

        def replacement(part: Expression) -> Expression | None:
            if part in self.keys:
                return ColumnRef(part.type, part.nullable, self.passed + self.keys[part])
            if isinstance(part, AggregateValue):
                index = self.passed + len(self.keys) + part.index
                return ColumnRef(part.type, part.nullable, index)
            if isinstance(part, RunningValue | SubqueryValue | OuterValue):
                return part
            if isinstance(part, ColumnRef):
                if part.index >= self.passed:
                    raise self._refuse_ungrouped(part, spans[part])
                return part
            return None

        return replace_pending(expression, replacement, self.source_spans)

    def _refuse_ungrouped(self, column: ColumnRef, span: Span) -> Refusal:
        name = self.names[column.index]
        return refusal(
            "E302",
            f'column "{name}" is neither grouped nor aggregated',
            span,
            help=f"add {name} to GROUP BY, or aggregate it: MAX({name})",
        )


def group(
    keys: Sequence[Key], aggregates: Sequence[AggregateCall], names: Sequence[str]
) -> AggregateSpec:
    """Return the grouping by `keys` that computes aggregates of these names.

    For a group without any column, COUNT(*) is added, so that it has a column.
    """
    by_expression = {key.expression: key.name for key in reversed(keys)}
    distinct = list(dict.fromkeys(key.expression for key in keys))
    if not keys and not aggregates:
        aggregates = [AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)]
        names = ["count"]
    return AggregateSpec(
        tuple(distinct),
        tuple(by_expression[key] for key in distinct),
        tuple(aggregates),
        tuple(names),
    )
