"""Expressions of MATCH_RECOGNIZE: conditions of DEFINE and measures, which read the rows of a match.

A variable's columns are columns of the scope, after those of the row itself:

    PATTERN (A B)       price, A.price, B.price are columns 1, 1 + width, 1 + 2 * width

In DEFINE B, `price` and `B.price` are the row's own, and A.price is LAST(A.price, 0), a navigation.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.limits import check_size
from fsql.compiler.binder.over.frames import whole_number
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.scope import Field, Scope, matches, names_text
from fsql.compiler.bound.pending import NavigationValue, replace_pending
from fsql.compiler.expression import AggregateFunction, ColumnRef, Expression
from fsql.compiler.functions.aggregates import (
    AGGREGATES,
    accumulator_type,
    aggregate_nullable,
    aggregate_result,
)
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.node import walk
from fsql.compiler.records import dataclass
from fsql.compiler.row_pattern import TIME, Navigation, NavigationKind
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, TIMESTAMP, SqlType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.text.source import Span


FIRST_FIELD: Final = 2
"""The number of fields of a row before those that are read: see `fsql.compiler.row_pattern`."""
TIME_OF_DECISION: Final = -1
"""The index of the placeholder for MATCH_PROCTIME(): the time at which the match is decided."""
OFFSET_MAX: Final = 1_000
"""The maximum offset of FIRST, LAST and PREV."""
_EDGES: Final = frozenset({"FIRST", "LAST", "PREV", "NEXT"})
_SIMPLE: Final = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})
_TIME_OF_MATCH: Final = "MATCH_ROWTIME"
_OF_MATCH: Final = frozenset({"CLASSIFIER", "MATCH_NUMBER", "MATCH_PROCTIME", _TIME_OF_MATCH})


class Symbol(NamedTuple):
    """A name that denotes rows of a match: a variable, or a SUBSET of them."""

    name: str
    variables: tuple[int, ...]
    is_variable: bool = True


@dataclass
class Navigations:
    """Collects the fields of a row that are read, and the navigations of one clause, each once.

    `current` is the symbol whose condition is bound; None in MEASURES.
    """

    relation: Relation
    time: int
    symbols: Sequence[Symbol]
    source_spans: SourceSpans
    functions: Functions
    zone: str
    fields: dict[Expression, int] = field(default_factory=dict)
    found: dict[Navigation, int] = field(default_factory=dict)
    current: int | None = None

    @property
    def clause(self) -> str:
        """Return the name of the clause for messages."""
        return "MEASURES" if self.current is None else "DEFINE"

    def condition(self, written: syntax.Expression, symbol: int) -> Expression:
        """Return a condition over the fields of the row and navigations, which are pending.

        Raises:
            Refusal: E2xx to E4xx.
        """
        self.current = symbol
        with self._known_variables():
            bound = self._binder().bind_condition_and_check_size(written)
        own = self._with_navigations(bound)
        pending = any(isinstance(node, NavigationValue) for node in walk(own))
        if not pending and not fallible(own):
            return self._field(own)
        return replace_pending(
            own,
            lambda part: self._field(part) if isinstance(part, ColumnRef) else None,
            self.source_spans,
        )

    def measure(self, written: syntax.Expression) -> Expression:
        """Return a measure over navigations, which are pending.

        Raises:
            Refusal: E2xx to E4xx.
        """
        self.current = None
        with self._known_variables():
            bound = self._binder().bind(written)
        check_size(bound, written.span)
        return self._with_navigations(bound)

    def bind(self, written: syntax.FunctionCall, name: str) -> Expression | None:
        """Return a call that reads the match; None for a call that is computed from the row.

        Raises:
            Refusal: E2xx to E4xx.
        """
        if written.over is not None:
            raise not_implemented(f"OVER in {self.clause} of MATCH_RECOGNIZE", written.span)
        if name in _OF_MATCH:
            return self._match_value(written, name)
        if name not in _EDGES and name not in AGGREGATES:
            return None
        if written.distinct or written.order_by or written.filter or written.ignore_nulls:
            raise not_implemented(f"DISTINCT, ORDER BY and FILTER of {name} here", written.span)
        if name in _EDGES:
            return self._edge(written, name)
        if name not in _SIMPLE:
            raise not_implemented(
                f"{name} in MATCH_RECOGNIZE",
                written.span,
                help="use COUNT, SUM, AVG, MIN, MAX, FIRST or LAST",
            )
        return self._aggregate(written, name)

    @contextmanager
    def _known_variables(self) -> Iterator[None]:
        """Refuse a name before a dot that is not a variable of the pattern."""
        try:
            yield
        except Refusal as refused:
            diagnostic = refused.diagnostic
            if diagnostic.code != "E220" or diagnostic.primary is None:
                raise
            raise unknown_variable(diagnostic.primary.span, self.symbols) from None

    def _binder(self) -> ExpressionBinder:
        return ExpressionBinder(
            Scope((self._columns(of_match=True),)),
            self.clause,
            self.source_spans,
            self.functions,
            self.zone,
            navigations=self,
        )

    def _columns(self, *, of_match: bool) -> tuple[Field, ...]:
        """Return the fields of the scope; with `of_match`, columns of other rows may be NULL."""
        width = self.relation.width
        found: list[Field] = []
        for index in range(len(self.symbols) + 1):
            symbol = index - 1
            own = not of_match or (self.current is not None and symbol in {-1, self.current})
            for each in self.relation.fields:
                nullable = each.column.nullable or not own
                column = replace(each.column, nullable=nullable, time_attribute=False)
                made = replace(each, column=column, index=each.index + index * width)
                if symbol >= 0:
                    made = replace(made, qualifier=self.symbols[symbol].name, merged=True)
                found.append(made)
        return tuple(found)

    def _with_navigations(self, bound: Expression) -> Expression:
        """Return an expression with a navigation for each column of another row, and a field for others."""
        width = self.relation.width

        def replacement(part: Expression) -> Expression | None:
            if not isinstance(part, ColumnRef):
                return None
            symbol = part.index // width - 1
            column = self.relation.plan.schema[part.index % width]
            own = ColumnRef(part.type, column.nullable, part.index % width)
            if self.current is not None and symbol in {-1, self.current}:
                return own
            return self._navigation(NavigationKind.LAST, self._variables(symbol), own, 0)

        return replace_pending(bound, replacement, self.source_spans)

    def _variables(self, symbol: int) -> tuple[int, ...]:
        return () if symbol < 0 else self.symbols[symbol].variables

    def _field(self, own: Expression) -> ColumnRef:
        """Return a reference to the field that has a value of the row."""
        # The time that orders rows has no declared digits: TIMESTAMP(3) is a separate field.
        if isinstance(own, ColumnRef) and own.index == self.time and own.type.fraction is None:
            return ColumnRef(own.type, nullable=False, index=TIME)
        index = self.fields.setdefault(own, FIRST_FIELD + len(self.fields))
        return ColumnRef(own.type, own.nullable, index)

    def _navigation(
        self,
        kind: NavigationKind,
        variables: tuple[int, ...],
        argument: Expression | None,
        offset: int,
        of: SqlType | None = None,
    ) -> NavigationValue:
        """Return the placeholder of a navigation of type `of`, which is usually that of its argument."""
        taken = BOOLEAN if argument is None else argument.type
        index = None if argument is None else self._field(argument).index
        made = Navigation(kind, variables, index, offset, of or taken, taken)
        nullable = kind not in {NavigationKind.COUNT, NavigationKind.MATCH_NUMBER}
        return NavigationValue(made.type, nullable, self.found.setdefault(made, len(self.found)))

    def _argument(
        self, written: syntax.Expression | syntax.Star, name: str
    ) -> tuple[int, Expression]:
        """Return the symbol of an argument, -1 for all rows, and the argument over the row's fields."""
        if isinstance(written, syntax.Star):
            raise refusal("E404", f"{name} does not take *", written.span)
        scope = Scope((self._columns(of_match=False),))
        binder = ExpressionBinder(
            scope, f"an argument of {name}", self.source_spans, self.functions, self.zone
        )
        bound = binder.bind_and_check_size(written)
        width = self.relation.width
        used = {node.index // width - 1 for node in walk(bound) if isinstance(node, ColumnRef)}
        if len(used) > 1:
            raise invalid(
                f"the argument of {name} has columns of several variables",
                written.span,
                f"write a {name} for each variable, or all columns of one",
            )
        schema = self.relation.plan.schema
        own = replace_pending(
            bound,
            lambda part: (
                ColumnRef(part.type, schema[part.index % width].nullable, part.index % width)
                if isinstance(part, ColumnRef)
                else None
            ),
            self.source_spans,
        )
        return next(iter(used), -1), own

    def _edge(self, written: syntax.FunctionCall, name: str) -> Expression:
        if name == "NEXT" or (name == "PREV" and self.current is None):
            raise _physical(name, self.clause, written.span)
        if not 1 <= len(written.arguments) <= 2:
            raise refusal("E401", f"{name} takes 1 or 2 arguments", written.span)
        symbol, argument = self._argument(written.arguments[0], name)
        offset = 1 if name == "PREV" else 0
        if len(written.arguments) == 2:
            given = written.arguments[1]
            number = None if isinstance(given, syntax.Star) else whole_number(given)
            if number is None or number > OFFSET_MAX:
                raise refusal(
                    "E307",
                    f"the offset of {name} must be a number of rows up to {OFFSET_MAX:,}",
                    given.span,
                    help=f"write {name}(x, 1)",
                )
            offset = number
        if name == "PREV" and symbol not in {-1, self.current}:
            raise invalid(
                "PREV of another variable than the one that is defined",
                written.span,
                "write PREV(x), the row before in the partition, or LAST(A.x), the last row of A",
            )
        if name == "PREV" and not offset:
            return argument
        variables = () if name == "PREV" else self._variables(symbol)
        return self._navigation(NavigationKind(name), variables, argument, offset)

    def _aggregate(self, written: syntax.FunctionCall, name: str) -> Expression:
        if len(written.arguments) != 1:
            raise refusal("E401", f"{name} takes 1 argument", written.span)
        given = written.arguments[0]
        function, kind = AggregateFunction(name), NavigationKind(name)
        if name == "COUNT" and isinstance(given, syntax.Star):
            return self._navigation(kind, (), None, 0, BIGINT)
        symbol, argument = self._argument(given, name)
        argument = coerce(argument, accumulator_type(function, argument.type))
        result = aggregate_result(function, argument.type)
        if result is None:
            raise refusal("E401", f"{name} does not take {argument.type}", given.span)
        assert aggregate_nullable(function, argument_nullable=True, grouped=True) is (
            name != "COUNT"
        )
        return self._navigation(kind, self._variables(symbol), argument, 0, result)

    def _time_of_match(self, written: syntax.FunctionCall) -> Expression:
        """Return the event time of the last row; the argument can only be the column that orders the rows."""
        for each in written.arguments:
            if len(written.arguments) > 1 or not _is_column(
                self._argument(each, _TIME_OF_MATCH)[1], self.time
            ):
                column = self.relation.plan.schema[self.time].name
                raise refusal(
                    "E401",
                    f"{_TIME_OF_MATCH} takes no argument but the column of ORDER BY",
                    each.span,
                    help=f"write {_TIME_OF_MATCH}(), or LAST(x) for another column than {column}",
                )
        type_ = self.relation.plan.schema[self.time].type
        time = ColumnRef(type_, nullable=False, index=self.time)
        return self._navigation(NavigationKind.LAST, (), time, 0)

    def _match_value(self, written: syntax.FunctionCall, name: str) -> Expression:
        if name == _TIME_OF_MATCH:
            return self._time_of_match(written)
        if written.arguments:
            raise refusal("E401", f"{name} takes no arguments here", written.span)
        if self.current is not None:
            raise not_implemented(f"{name} in DEFINE", written.span, help="use it in MEASURES")
        if name == "MATCH_PROCTIME":
            return NavigationValue(TIMESTAMP, nullable=False, index=TIME_OF_DECISION)
        kind = NavigationKind(name)
        result = STRING if kind is NavigationKind.CLASSIFIER else BIGINT
        return self._navigation(kind, (), None, 0, result)


def _is_column(expression: Expression, index: int) -> bool:
    return isinstance(expression, ColumnRef) and expression.index == index


def is_time_of_match(written: syntax.Expression) -> bool:
    """Return whether a measure is MATCH_ROWTIME(), which may be event time of the result."""
    return isinstance(written, syntax.FunctionCall) and (
        written.name.parts[-1].name.upper() == _TIME_OF_MATCH
    )


def resolve_navigations(
    pending: Expression,
    of: Callable[[NavigationValue], Expression],
    source_spans: SourceSpans,
) -> Expression:
    """Return an expression with each navigation replaced by its value."""
    return replace_pending(
        pending,
        lambda part: of(part) if isinstance(part, NavigationValue) else None,
        source_spans,
    )


def invalid(what: str, span: Span, help_text: str) -> Refusal:
    """Return the refusal of a row pattern."""
    return refusal("E326", what, span, help=help_text)


def unknown_variable(span: Span, symbols: Sequence[Symbol]) -> Refusal:
    """Return the refusal of a name that is not a variable of the pattern."""
    return refusal(
        "E326",
        "there is no such variable in PATTERN",
        span,
        help="add it to PATTERN, or use one of its variables",
        note=f"PATTERN has {names_text([each.name for each in symbols])}",
    )


def find_symbol(name: syntax.Identifier, symbols: Sequence[Symbol]) -> int | None:
    """Return the index of the symbol of that name; None if there is none."""
    for index, each in enumerate(symbols):
        if matches(name, each.name):
            return index
    return None


def _physical(name: str, clause: str, span: Span) -> Refusal:
    helps = {
        "PREV": "use LAST(x, 1) for the row before the last of the match",
        "NEXT": "a row is matched before the next one is known: add a variable for it to PATTERN",
    }
    return not_implemented(f"{name} in {clause}", span, help=helps[name])
