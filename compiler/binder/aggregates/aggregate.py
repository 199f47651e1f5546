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
)
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.bound.aggregates import needs_total_order
from fsql.compiler.bound.pending import AggregateValue
from fsql.compiler.functions.aggregates import LAST_OF_TIES
from fsql.compiler.planner.rows import make_distinct_names
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.clause import ClauseBinder, Subqueries
    from fsql.compiler.expression import AggregateCall, Expression


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
    subqueries: Subqueries | None = None
    calls: dict[AggregateCall, int] = field(default_factory=dict)

    def bind(self, binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
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
                help=_without_total_order(name),
            )
        if call.others and not self.of_many_rows:
            raise not_implemented(f"{name} with several arguments in LATERAL", written.span)
        index = self.calls.setdefault(call, len(self.calls))
        value = AggregateValue(call.type, call.nullable, index)
        return complete_value(arguments, written, value)

    def aggregate_of(self, value: Expression) -> AggregateCall | None:
        """Return the aggregate that a placeholder stands for; None if it is none of these placeholders."""
        return [*self.calls][value.index] if isinstance(value, AggregateValue) else None

    def names(self) -> tuple[str, ...]:
        """Return a name for each aggregate: that of its function, numbered if several have the same."""
        return make_distinct_names([call.function.value.lower() for call in self.calls])


def _without_total_order(name: str) -> str | None:
    """Return what to write instead of a function that goes by the total order."""
    if name == "M4":
        return "read rows that stay, for example those of GROUP BY window_start, window_end"
    if name in LAST_OF_TIES:
        return f"write {name.removesuffix('_LAST')}(x, y): of rows that tie it takes the least x"
    return f"write an order: {name}({'k, ' if name in OF_ENTRIES else ''}x ORDER BY y)"
