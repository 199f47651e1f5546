"""A clause whose expressions are bound: its names, and what collects the calls in it.

Each kind of expression is bound in a module of its own, which is given the clause, and has it bind the
operands.  So these modules need not know each other, nor who collects aggregates, calls with OVER and
subqueries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.binder.expressions.lambda_parameters import NO_PARAMETERS, Parameters
from fsql.compiler.binder.expressions.pseudo_columns import MESSAGE_COLUMNS
from fsql.compiler.binder.limits import check_size
from fsql.compiler.binder.report import Refusal, no_column, not_implemented, refusal
from fsql.compiler.binder.scope import Field, Scope, matches, names_text
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.diagnostics.report import Abandoned
from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.documents import json_texts_of_aggregate
from fsql.compiler.node import walk
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BOOLEAN, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fsql.compiler import syntax
    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import AggregateCall, Expression
    from fsql.compiler.schema import JsonTexts
    from fsql.compiler.text.source import Span


_WITHOUT_ARGUMENTS: Final = frozenset({"NOW", "PROCTIME", "PI", "CURRENT_ROW_TIMESTAMP"})
_OF_OUTER: Final = "a condition with a column of an outer query is written in WHERE"


class Aggregates(Protocol):
    """Collects the aggregates of a SELECT."""

    grouping: bool

    def bind(self, binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
        """Return the placeholder for an aggregate.

        Raises:
            Refusal: E2xx to E4xx.
        """

    def aggregate_of(self, value: Expression) -> AggregateCall | None:
        """Return the aggregate that a placeholder stands for; None if it is none of these placeholders."""


class Running(Protocol):
    """Collects the calls with OVER of a SELECT."""

    def bind(self, binder: ClauseBinder, written: syntax.FunctionCall) -> Expression:
        """Return the placeholder for a call with OVER.

        Raises:
            Refusal: E2xx to E4xx.
        """

    def aggregate_of(self, value: Expression) -> AggregateCall | None:
        """Return the aggregate that a placeholder stands for; None if it is none of these placeholders."""


class Navigations(Protocol):
    """Collects what is read of a match of MATCH_RECOGNIZE."""

    def bind(self, written: syntax.FunctionCall, name: str) -> Expression | None:
        """Return the placeholder for a navigation; None for any other call.

        Raises:
            Refusal: E2xx to E4xx.
        """


class Subqueries(Protocol):
    """Collects the subqueries of a clause."""

    def bind(self, written: syntax.ScalarSubquery) -> Expression:
        """Return the value of a subquery.

        Raises:
            Refusal: E2xx to E4xx.
            Abandoned: where several parts of it were refused.
        """

    def bind_array(self, written: syntax.ArraySubquery) -> Expression:
        """Return the array of the rows of a subquery.

        Raises:
            Refusal, Abandoned: as `bind`.
        """

    def bind_test(
        self,
        binder: ClauseBinder,
        written: syntax.InSubquery | syntax.Exists | syntax.QuantifiedComparison,
    ) -> Expression:
        """Return the value of IN or EXISTS, or of a comparison with ANY or ALL.

        Raises:
            Refusal, Abandoned: as `bind`.
        """


@dataclass
class ClauseBinder(ABC):
    """The expressions of one clause are bound: `clause` is its name in messages, `scope` resolves names.

    Aggregates are added to `aggregates`, running ones to `running`, subqueries to `subqueries`; without a
    collector they are refused.  `navigations` are the calls that read a match in MATCH_RECOGNIZE.  `window`
    is the window of GROUP BY, whose bounds TUMBLE_START and similar functions return.  `spans` has the last
    span of every expression bound so far, for errors that are found later; `source_spans` has the spans of
    the whole script, `functions` are those that the script declares, `zone` is its time zone.
    """

    scope: Scope
    clause: str
    source_spans: SourceSpans
    functions: Functions
    zone: str
    aggregates: Aggregates | None = None
    running: Running | None = None
    window: syntax.FunctionCall | None = None
    subqueries: Subqueries | None = None
    navigations: Navigations | None = None
    spans: dict[Expression, Span] = field(default_factory=dict)
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    """Expressions that names other than columns stand for."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """The names of items of SELECT that are computed after this clause, each with what to write instead."""
    refused: Collection[str] = ()
    """The names of items of SELECT that were refused, so that what refers to them is not."""
    parameters: Parameters = NO_PARAMETERS
    """The values that parameters of the lambdas around the expression stand for."""

    @abstractmethod
    def bind(self, expression: syntax.Expression) -> Expression:
        """Return the expression bound.

        Raises:
            Refusal: E2xx to E4xx.
        """

    def place_columns(self, bound: Expression, span: Span) -> None:
        """Note the span of columns in an expression that are not written themselves."""
        for part in walk(bound):
            if isinstance(part, ColumnRef):
                self.spans.setdefault(part, span)

    def json_texts(self, value: Expression) -> JsonTexts:
        """Return whether a column of the rows, or the value of an aggregate, has texts of JSON."""
        if isinstance(value, ColumnRef):
            texts: Iterator[JsonTexts] = (
                field.column.document
                for field in self.scope.fields
                if field.index == value.index and field.member is None
            )
            return next((each for each in texts if each), False)
        for collector in (self.aggregates, self.running):
            aggregate = None if collector is None else collector.aggregate_of(value)
            if aggregate is not None:
                return json_texts_of_aggregate(aggregate, self.json_texts)
        return False

    def bind_and_check_size(self, expression: syntax.Expression) -> Expression:
        """Return the bound expression after checking its size.

        Raises:
            Refusal: as `bind`, and E315.
        """
        bound = self.bind(expression)
        check_size(bound, expression.span)
        return bound

    def bind_condition(self, expression: syntax.Expression) -> Expression:
        """Return the bound expression, which must be BOOLEAN.

        Raises:
            Refusal: as `bind`, and E207.
        """
        bound = self.bind(expression)
        if bound.type.kind not in {Kind.BOOLEAN, Kind.NULL}:
            raise refusal(
                "E207",
                f"condition must be BOOLEAN, not {bound.type}",
                expression.span,
                f"this is {bound.type}",
                help="compare it: … <> 0" if bound.type.numeric else None,
                quote=expression.span,
            )
        return coerce(bound, BOOLEAN)

    def bind_condition_and_check_size(self, expression: syntax.Expression) -> Expression:
        """Return the bound condition after checking its size.

        Raises:
            Refusal: as `bind_condition`, and E315.
        """
        bound = self.bind_condition(expression)
        check_size(bound, expression.span)
        return bound

    def column(self, reference: syntax.ColumnReference) -> Field:
        """Return the field that a column reference refers to.

        Raises:
            Refusal: E203 if there is none, E204 if there are several, E301 for a part of a ROW.
        """
        found, inside = self.resolve(reference)
        if inside or found.member is not None:
            raise not_implemented(
                "a field of a ROW here",
                reference.span,
                help="name it in a subquery: SELECT row.field AS name",
            )
        return found

    def resolve(
        self, reference: syntax.ColumnReference
    ) -> tuple[Field, tuple[syntax.Identifier, ...]]:
        """Return the column that `a`, `t.a`, `a.x` or `t.a.x.y` begins with, and the names after it.

        `a.b` is column b of table a if there is one, and else field b of column a.

        Raises:
            Refusal: E203 if there is no such column, E204 if there are several.
            Abandoned: where the name is that of an item that was refused.
        """
        first, *others = reference.parts
        found: tuple[Field, ...] = ()
        if others:
            found, inside = self.scope.find(others[0], first), tuple(others[1:])
        if not found:
            columns = self.scope.find(first)
            if not columns and not others and first.name.lower() in self.refused:
                raise Abandoned
            if others and not any(each.column.type.parts for each in columns):
                help_ = _OF_OUTER if self.clause == "ON" else None
                if columns:
                    help_ = f"{first.name} is a column of {columns[0].column.type}, without fields"
                raise _unknown_column(self.scope, others[0], first, of_qualifier=help_)
            found, inside = columns, tuple(others)
        if not found:
            raise self._no_column(first)
        if len(found) > 1:
            raise _ambiguous_column(found, reference.span)
        return found[0], inside

    def _no_column(self, name: syntax.Identifier) -> Refusal:
        """Return the refusal of a column that is not in the scope, with what may be meant."""
        written = name.name.upper()
        help_ = self.hidden.get(name.name.lower())
        if written == "ROWTIME":
            times = [
                each for layer in self.scope.layers for each in layer if each.column.time_attribute
            ]
            help_ = f"event time is the column {times[0].name}" if times else None
        elif written in MESSAGE_COLUMNS:
            help_ = f"declare it, for connector 'kafka': {MESSAGE_COLUMNS[written]}"
        elif written in _WITHOUT_ARGUMENTS and not name.quoted:
            help_ = f"the function is written with brackets: {written}()"
        return _unknown_column(self.scope, name, None, help_)


def _unknown_column(
    scope: Scope,
    name: syntax.Identifier,
    qualifier: syntax.Identifier | None,
    preferred_help: str | None = None,
    *,
    of_qualifier: str | None = None,
) -> Refusal:
    """Return the refusal of a column that does not exist, with a help; one of a qualifier that is none."""
    relations = scope.qualifiers()
    fields = [field for layer in scope.layers for field in layer]
    if qualifier is not None and not any(matches(qualifier, each) for each in relations):
        near = near_name(qualifier.name, relations)
        return refusal(
            "E220",
            f'table "{qualifier.name}" is not in FROM',
            qualifier.span,
            f"FROM has {names_text(relations)}" if relations else "",
            help=f'a table with a similar name exists: "{near}"' if near else of_qualifier,
        )
    if qualifier is not None:
        fields = [field for field in fields if matches(qualifier, field.qualifier)]
    names = list(dict.fromkeys(field.name for field in fields))
    where = qualifier.name if qualifier is not None else " or ".join(relations[:3])
    return no_column(
        name,
        names,
        text_help=name.quoted and qualifier is None,
        label=f"not a column of {where}" if where else "",
        note=f"{where} has {names_text(names)}" if where and names else None,
        preferred_help=preferred_help,
    )


def _ambiguous_column(found: tuple[Field, ...], span: Span) -> Refusal:
    name = found[0].name
    choices = [f"{each.qualifier}.{name}" for each in found if each.qualifier is not None]
    if len(set(choices)) == 1:
        choices = [each.join_name for each in found if each.join_name is not None]
    return refusal(
        "E204",
        f'column "{name}" is ambiguous',
        span,
        help=f"write {' or '.join(choices)}" if len(set(choices)) > 1 else None,
        note=None if len(set(choices)) > 1 else f'{len(found)} columns are named "{name}"',
    )
