"""Aggregates and groups.

The expressions of a grouped SELECT are bound over the input rows, with a placeholder for each aggregate.
Then the aggregate is built, and the expressions are rewritten over its rows: an expression that is equal to a
key becomes a reference to that key's column, a placeholder one to its aggregate's column.  Any other column
is refused, because rows of one group may differ in it.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fsql.compiler.binder.aggregates.aggregate_calls import (
    OF_ENTRIES,
    complete_value,
    make_aggregate,
    needs_total_order,
)
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.pending import (
    AggregateValue,
    OuterValue,
    RunningValue,
    SubqueryValue,
    replace_pending,
)
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.expression import AggregateCall, ColumnRef, Expression
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.binder.subqueries.scalar_subquery import SubqueryCollector
    from fsql.compiler.text.source import Span


@dataclass
class AggregateCollector:
    """Collects the aggregates of a SELECT, each once, with its index.

    With `may_be_empty`, a group exists even without rows.  Over input that is not `append_only`, aggregates
    that do not support retraction are refused; in a LATERAL, without `of_many_rows`, so are those of several
    arguments.  With `grouping`, the keys are those of a GROUP BY, and GROUPING may refer to them.
    `subqueries` are those in arguments.
    """

    append_only: bool
    may_be_empty: bool = False
    of_many_rows: bool = True
    grouping: bool = False
    subqueries: SubqueryCollector | None = None
    calls: dict[AggregateCall, int] = field(default_factory=dict)

    def bind(self, binder: ExpressionBinder, written: syntax.FunctionCall) -> Expression:
        """Return the placeholder for an aggregate.

        Raises:
            Refusal: E2xx to E4xx.
        """
        arguments = ExpressionBinder(
            binder.scope,
            "the argument of an aggregate",
            binder.source_spans,
            binder.functions,
            binder.zone,
            subqueries=self.subqueries,
        )
        call = make_aggregate(
            arguments, written, empty=self.may_be_empty, append_only=self.append_only
        )
        name = written.name.parts[-1].name.upper()
        if needs_total_order(call) and not self.append_only:
            raise refusal(
                "E310",
                f"{name} of rows that can be retracted",
                written.span,
                note="its input is an updating query",
                help=f"write an order: {name}({'k, ' if name in OF_ENTRIES else ''}x ORDER BY y)",
            )
        if call.others and not self.of_many_rows:
            raise not_implemented(f"{name} with several arguments in LATERAL", written.span)
        index = self.calls.setdefault(call, len(self.calls))
        value = AggregateValue(call.type, call.nullable, index)
        return complete_value(arguments, written, value)

    def names(self) -> tuple[str, ...]:
        """Return a name for each aggregate: that of its function, numbered if several have the same."""
        return make_distinct_names([call.function.value.lower() for call in self.calls])


def make_distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with numbers appended to repeated ones.

    >>> make_distinct_names(["sum", "count", "sum"])
    ('sum', 'count', 'sum_2')
    """
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(made)


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
