"""How queries are bound within queries: passed to the binders of their parts, to avoid a circular import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan


class QueryBinder(Protocol):
    """Binds queries, and SELECTs over rows that are already bound."""

    def __call__(self, query: syntax.Query, context: Context) -> Plan:
        """Return the plan of a query.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts were refused.
        """

    def with_common_tables(self, tables: Sequence[syntax.CommonTable], context: Context) -> Context:
        """Return the context in which the common tables of WITH are visible.

        Raises:
            Refusal: E2xx to E4xx.
        """

    def of_parts(
        self,
        operation: syntax.SetOperation,
        context: Context,
        bind_part: Callable[[syntax.QueryBody, Context], Plan],
    ) -> Plan:
        """Return the plan of a set operation, whose parts `bind_part` binds.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts were refused.
        """

    def of_partitions(
        self,
        select: syntax.Select,
        relation: Relation,
        partition: Sequence[Expression],
        context: Context,
    ) -> Plan:
        """Return the plan of a SELECT over the rows of its FROM and WHERE, for each partition separately.

        The values of `partition`, which are over these rows, are its last columns.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts were refused.
        """
