"""MATCH_RECOGNIZE: finds the matches of a pattern among rows in the order of event time.

    rows in order of time ─┬──────────────────────────────▶ UNION ALL ─▶ Over ─▶ Unnest ─▶ Project
                           └▶ a timer for each time, held      ▲         MATCH_RECOGNIZE   MEASURES
                              until matches from there expire ─┘

Over matches the rows of each partition, and appends to each row the matches that it decides. Timers advance
the time if no further row arrives: with WITHIN, they end matches that began longer ago; without it, each
partition has a timer at the end of the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.over.rank import bind_order
from fsql.compiler.binder.relation import Relation, apply_alias, check_column_names, relation_of
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.row_patterns.match_timers import MatchInput, timers
from fsql.compiler.binder.row_patterns.navigations import (
    FIRST_FIELD,
    TIME_OF_DECISION,
    Navigations,
    find_symbol,
    invalid,
    is_time_of_match,
    resolve_navigations,
    unknown_variable,
)
from fsql.compiler.binder.row_patterns.row_patterns import bind_pattern, bind_skip, symbols_of
from fsql.compiler.binder.windows.window import WINDOW_US_MAX, constant_interval_us
from fsql.compiler.bound.pending import NavigationValue
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.event_times import TIME_BEFORE
from fsql.compiler.logical import (
    AssignRowTime,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
    Unnest,
    append_only,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.order import in_order_of_time
from fsql.compiler.planner.rows import column_refs
from fsql.compiler.row_pattern import (
    TIME,
    Navigation,
    NavigationKind,
    RowPattern,
    decision_us,
    most_rows,
)
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, INTERVAL, array_of, row_of

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.text.source import Span


_CLAUSE: Final = "MATCH_RECOGNIZE"
_TRUE: Final = Literal(BOOLEAN, nullable=False, value=True)
_COUNT: Final = Navigation(NavigationKind.COUNT, (), None, 0, BIGINT, BOOLEAN)


def match_recognize(
    written: syntax.MatchRecognize, relation: Relation, context: Context
) -> Relation:
    """Return the matches of a pattern in the rows of `relation`.

    Raises:
        Refusal: E2xx to E4xx.
    """
    spans = context.source_spans
    if written.all_rows:
        raise not_implemented(
            "ALL ROWS PER MATCH",
            written.span,
            help="write ONE ROW PER MATCH, and read the rows of a match with FIRST and LAST",
        )
    if not append_only(relation.plan):
        raise not_implemented(
            "MATCH_RECOGNIZE over rows that can be retracted",
            written.input.span,
            help="group the input by a window that is final",
        )
    rows = _in_order(written, relation, context)
    _check_names(written, rows)
    symbols = symbols_of(written)
    conditions = Navigations(relation, rows.time, symbols, spans, context.functions, context.zone)
    defined = _conditions(written, conditions)
    measured = Navigations(
        *(relation, rows.time, symbols, spans, context.functions, context.zone),
        fields=conditions.fields,
    )
    measures = [measured.measure(each.expression) for each in written.measures]
    pattern = _row_pattern(written, conditions, defined, measured)
    if pattern.within_us is None and most_rows(pattern.pattern) is None:
        context.report.warn(_unbounded_warning(written.pattern.span))
    found = _matches(rows, pattern, tuple(conditions.fields), spans)
    columns = column_refs(found)
    if any(_reads_decision(each) for each in measures):
        found = AssignRowTime(found)
    made = [
        resolve_navigations(each, lambda part: _value_of_match(part, columns), spans)
        for each in measures
    ]
    longest = decision_us(pattern)
    if longest is not None:
        behind = Literal(INTERVAL, nullable=False, value=longest)
        made = [
            call(TIME_BEFORE, each, columns[TIME], behind) if is_time_of_match(own) else each
            for each, own in zip(made, (each.expression for each in written.measures), strict=True)
        ]
    keys = columns[-2 - len(rows.keys) : -2]
    names = (
        *(column.name for column in rows.key_columns),
        *(each.name.name for each in written.measures),
    )
    matches = Project(found, (*keys, *made), names)
    return apply_alias(relation_of(matches, None), written.alias)


def _reads_decision(measure: Expression) -> bool:
    """Return whether a measure reads the time at which the match is decided."""
    return any(
        isinstance(node, NavigationValue) and node.index == TIME_OF_DECISION
        for node in walk(measure)
    )


def _value_of_match(part: NavigationValue, columns: list[Expression]) -> Expression:
    """Return the value of a navigation over a row for each match, whose last column is the match."""
    if part.index == TIME_OF_DECISION:
        return ColumnRef(part.type, nullable=False, index=len(columns))
    return FieldAccess(part.type, nullable=True, argument=columns[-1], index=part.index)


def _row_pattern(
    written: syntax.MatchRecognize,
    conditions: Navigations,
    defined: list[Expression | None],
    measured: Navigations,
) -> RowPattern:
    symbols = conditions.symbols
    width = FIRST_FIELD + len(measured.fields)
    skip_to, skipped = bind_skip(written.skip_to, symbols)
    return RowPattern(
        tuple(each.name for each in symbols if each.is_variable),
        bind_pattern(written.pattern, symbols),
        tuple(
            None
            if each is None
            else resolve_navigations(
                each,
                lambda part: ColumnRef(part.type, part.nullable, width + part.index),
                conditions.source_spans,
            )
            for each in defined
        ),
        tuple(conditions.found),
        # A match without measures is still a row.
        tuple(measured.found) or (_COUNT,),
        _within(written.within, conditions.zone),
        skip_to,
        skipped,
        width,
    )


def _in_order(written: syntax.MatchRecognize, relation: Relation, context: Context) -> MatchInput:
    """Return the rows in the order that PARTITION BY and ORDER BY determine."""
    binder = ExpressionBinder(
        relation.scope, _CLAUSE, context.source_spans, context.functions, context.zone
    )
    keys: list[Expression] = []
    for each in written.partition_by:
        key = binder.bind_and_check_size(each)
        if not isinstance(key, ColumnRef):
            raise not_implemented(
                "PARTITION BY an expression in MATCH_RECOGNIZE",
                each.span,
                help="name it in a subquery: (SELECT f(a) AS b, … FROM t) MATCH_RECOGNIZE (…)",
            )
        if key not in keys:
            keys.append(key)
    if not written.order_by:
        raise invalid(
            "MATCH_RECOGNIZE without ORDER BY",
            written.span,
            "write ORDER BY with the event-time column: it defines which rows follow each other",
        )
    first, *others = written.order_by
    if first.descending:
        raise not_implemented(
            "descending ORDER BY in MATCH_RECOGNIZE",
            first.span,
            help="order by the event-time column first, ascending",
        )
    time = binder.bind_and_check_size(first.expression)
    partition = tuple(keys)
    plan = in_order_of_time(
        relation.plan,
        partition,
        time,
        first.span,
        context.source_spans,
        _CLAUSE,
        then=bind_order(binder, others),
    )
    assert isinstance(time, ColumnRef)
    schema = relation.plan.schema
    columns = tuple(schema[key.index] for key in keys if isinstance(key, ColumnRef))
    # The event time of rows in order is another column, which has the same index.
    own = tuple(column_refs(plan)[key.index] for key in keys if isinstance(key, ColumnRef))
    return MatchInput(plan, own, columns, time.index, first.span)


def _within(written: syntax.Expression | None, zone: str) -> int | None:
    if written is None:
        return None
    within = constant_interval_us(written, zone)
    if within is None or not 0 < within <= WINDOW_US_MAX:
        raise refusal(
            "E307",
            "WITHIN must be a constant INTERVAL above 0 and of up to 100 years",
            written.span,
            help="write WITHIN INTERVAL '1' HOUR",
        )
    # The last row of a match is less than WITHIN after its first.
    return within - 1


def _conditions(
    written: syntax.MatchRecognize, navigations: Navigations
) -> list[Expression | None]:
    """Return the condition of each variable, None for those that DEFINE does not name."""
    symbols = navigations.symbols
    conditions: list[Expression | None] = [None for each in symbols if each.is_variable]
    seen: set[int] = set()
    for each in written.definitions:
        index = find_symbol(each.variable, symbols)
        if index is None:
            raise unknown_variable(each.variable.span, symbols)
        if not symbols[index].is_variable or index in seen:
            raise invalid(
                f'DEFINE of "{each.variable.name}", which is a SUBSET'
                if not symbols[index].is_variable
                else f'variable "{each.variable.name}" is defined more than once',
                each.variable.span,
                "define each variable of PATTERN once; connect conditions by AND",
            )
        seen.add(index)
        conditions[index] = navigations.condition(each.condition, index)
    return conditions


def _check_names(written: syntax.MatchRecognize, rows: MatchInput) -> None:
    if not written.measures and not rows.keys:
        raise invalid(
            "MATCH_RECOGNIZE without columns",
            written.span,
            "add MEASURES, such as COUNT(*) AS n, or PARTITION BY",
        )
    keys = {column.name.lower() for column in rows.key_columns}
    for measure in written.measures:
        if measure.name.name.lower() in keys:
            raise refusal(
                "E205",
                f'column "{measure.name.name}" is a measure and in PARTITION BY',
                measure.name.span,
                help="rename the measure",
            )
    measures = [measure.name for measure in written.measures]
    if measures:
        check_column_names(measures, len(measures), _CLAUSE)


def _matches(
    rows: MatchInput, pattern: RowPattern, fields: tuple[Expression, ...], spans: SourceSpans
) -> Plan:
    """Return a row for each match; its last columns are keys, matches and the match."""
    inner = ("is_row", "at", *(f"field_{index}" for index in range(len(fields))))
    inner += tuple(f"key_{index}" for index in range(len(rows.keys)))
    time = column_refs(rows.plan)[rows.time]
    # The times of timers are computed, and so have all digits.
    at = coerce(time, time.type.without_fraction)
    given = Project(rows.plan, (_TRUE, at, *fields, *rows.keys), inner)
    both = Union((given, timers(rows, pattern, fields, given, spans)))
    columns = column_refs(both)
    read = columns[: FIRST_FIELD + len(fields)]
    row_type = row_of((name, each.type) for name, each in zip(inner, read, strict=False))
    row = Cast(row_type, nullable=False, argument=call("row", *read))
    measures = row_of(
        (f"measure_{index}", each.type) for index, each in enumerate(pattern.measures)
    )
    aggregate = AggregateCall(
        AggregateFunction.MATCH_RECOGNIZE,
        row,
        array_of(measures),
        nullable=True,
        pattern=pattern,
    )
    spans.add(aggregate, rows.span)
    keys = tuple(columns[len(read) :])
    over = Over(both, keys, (OverCall(aggregate, FrameEnd.CURRENT_ROW),), ("matches",))
    return Unnest(over, column_refs(over)[-1], "match", None)


def _unbounded_warning(span: Span) -> Diagnostic:
    return Diagnostic(
        "W302",
        "pattern without WITHIN keeps the rows of a match until it ends",
        Label(span),
        helps=("bound the time of a match: PATTERN (…) WITHIN INTERVAL '1' HOUR",),
    )
