"""MATCH_RECOGNIZE: finds the matches of a pattern among rows in the order of event time.

    rows in order of time ─┬──────────────────────────────▶ UNION ALL ─▶ Over ─▶ Unnest ─▶ Project
                           └▶ a timer for each time, held      ▲         MATCH_RECOGNIZE   MEASURES
                              until matches from there expire ─┘

Over matches the rows of each partition, and appends to each row the matches that it decides. Timers advance
the time if no further row arrives: with WITHIN, they end matches that began longer ago; without it, each
partition has a timer at the end of the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.frames import in_order_of_time
from fsql.compiler.binder.navigations import (
    FIRST_FIELD,
    Navigations,
    find_symbol,
    invalid,
    resolve_navigations,
    unknown_variable,
)
from fsql.compiler.binder.operators import call, combine_balanced
from fsql.compiler.binder.relation import (
    Relation,
    apply_alias,
    check_column_names,
    column_refs,
    filter_relation,
    relation_of,
)
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.row_patterns import bind_pattern, bind_skip, symbols_of
from fsql.compiler.binder.window import WINDOW_US_MAX, constant_interval_us
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignSessions,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
    Unnest,
    append_only,
)
from fsql.compiler.row_matching.automaton import automaton_of
from fsql.compiler.row_pattern import Navigation, NavigationKind, RowPattern, most_rows
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    INTERVAL,
    TIMESTAMP_MAX,
    array_of,
    row_of,
)

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.schema import Column
    from fsql.compiler.text.source import Span

_CLAUSE: Final = "MATCH_RECOGNIZE"
_TRUE: Final = Literal(BOOLEAN, nullable=False, value=True)
_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)
_MICROSECOND: Final = 1
_COUNT: Final = Navigation(NavigationKind.COUNT, (), None, 0, BIGINT, BOOLEAN)


class _Input(NamedTuple):
    """Rows in the order of time within each partition, and the parts of them that MATCH_RECOGNIZE reads."""

    plan: Plan
    keys: tuple[Expression, ...]
    key_columns: tuple[Column, ...]
    time: int
    span: Span


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
    made = [
        resolve_navigations(
            each,
            lambda part: FieldAccess(
                part.type, nullable=True, argument=columns[-1], index=part.index
            ),
            spans,
        )
        for each in measures
    ]
    keys = columns[-2 - len(rows.keys) : -2]
    names = (
        *(column.name for column in rows.key_columns),
        *(each.name.name for each in written.measures),
    )
    matches = Project(found, (*keys, *made), names)
    return apply_alias(relation_of(matches, None), written.alias)


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


def _in_order(written: syntax.MatchRecognize, relation: Relation, context: Context) -> _Input:
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
    if others or first.descending:
        raise not_implemented(
            "ORDER BY several expressions in MATCH_RECOGNIZE"
            if others
            else "descending ORDER BY in MATCH_RECOGNIZE",
            (others or [first])[0].span,
            help="order by the event-time column alone, ascending",
        )
    time = binder.bind_and_check_size(first.expression)
    partition = tuple(keys)
    plan = in_order_of_time(
        relation.plan, partition, time, first.span, context.source_spans, _CLAUSE
    )
    assert isinstance(time, ColumnRef)
    schema = relation.plan.schema
    columns = tuple(schema[key.index] for key in keys if isinstance(key, ColumnRef))
    # The event time of rows in order is another column, which has the same index.
    own = tuple(column_refs(plan)[key.index] for key in keys if isinstance(key, ColumnRef))
    return _Input(plan, own, columns, time.index, first.span)


def _within(written: syntax.Expression | None, zone: str) -> int | None:
    if written is None:
        return None
    within = constant_interval_us(written, zone)
    if within is None or not 0 <= within <= WINDOW_US_MAX:
        raise refusal(
            "E307",
            "WITHIN must be a constant INTERVAL of up to 100 years",
            written.span,
            help="write WITHIN INTERVAL '1' HOUR",
        )
    return within


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


def _check_names(written: syntax.MatchRecognize, rows: _Input) -> None:
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
    rows: _Input, pattern: RowPattern, fields: tuple[Expression, ...], spans: SourceSpans
) -> Plan:
    """Return a row for each match; its last columns are keys, matches and the match."""
    inner = ("is_row", "at", *(f"field_{index}" for index in range(len(fields))))
    inner += tuple(f"key_{index}" for index in range(len(rows.keys)))
    time = column_refs(rows.plan)[rows.time]
    # The times of timers are computed, and so have all digits.
    at = coerce(time, time.type.without_fraction)
    given = Project(rows.plan, (_TRUE, at, *fields, *rows.keys), inner)
    both = Union((given, _timers(rows, pattern, fields, given, spans)))
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


def _timers(
    rows: _Input,
    pattern: RowPattern,
    fields: tuple[Expression, ...],
    like: Project,
    spans: SourceSpans,
) -> Plan:
    """Return the timers, with the columns of `like`."""
    plan, within = rows.plan, pattern.within_us
    time = column_refs(plan)[rows.time]
    names = ("first", "end", *like.names[len(like.names) - len(rows.keys) :])
    type_ = time.type.without_fraction
    end: Expression = Literal(type_, nullable=False, value=TIMESTAMP_MAX)
    if within is None:
        plan = _first_of_each(rows, spans)
    else:
        latest = TIMESTAMP_MAX - within - _MICROSECOND
        length = Literal(INTERVAL, nullable=False, value=within + _MICROSECOND)
        plan = filter_relation(plan, _begins(pattern, fields))
        near_end = call("gt", time, Literal(type_, nullable=False, value=latest))
        end = Case(
            type_,
            nullable=False,
            branches=((near_end, end),),
            otherwise=call("add", time, length),
        )
    marks = Project(plan, (time, end, *rows.keys), names)
    columns = column_refs(marks)
    # There is a session for each time of a partition: it ends when matches that begin at that time do.
    partition = tuple(columns[2:]) if within is None else (*columns[2:], columns[0])
    held = AssignSessions(marks, partition, 0, 1)
    spans.add(held, rows.span)
    made = column_refs(held)
    fills = [
        Literal(each.type, nullable=True, value=None)
        if each.nullable
        else instead_of_null(each.type)
        for each in like.schema[FIRST_FIELD : len(like.names) - len(rows.keys)]
    ]
    timer = (_FALSE, made[len(columns) + 1], *fills, *made[2 : len(columns)])
    return Project(held, timer, like.names)


def _begins(pattern: RowPattern, fields: tuple[Expression, ...]) -> list[Expression]:
    """Return a condition for rows with which a match may begin; none if it depends on more than the row."""
    automaton = automaton_of(pattern.pattern)
    variables = dict.fromkeys(automaton.variables[state] for state in automaton.begin)
    found: list[Expression] = []
    for each in variables:
        condition = pattern.conditions[each]
        if (
            not isinstance(condition, ColumnRef)
            or not FIRST_FIELD <= condition.index < len(fields) + FIRST_FIELD
        ):
            return []
        found.append(fields[condition.index - FIRST_FIELD])
    return [combine_balanced("or", found)]


def _first_of_each(rows: _Input, spans: SourceSpans) -> Plan:
    """Return the first row of each partition."""
    count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
    spans.add(count, rows.span)
    running = (OverCall(count, FrameEnd.CURRENT_ROW),)
    counted = Over(rows.plan, rows.keys, running, ("number",))
    one = Literal(BIGINT, nullable=False, value=1)
    return filter_relation(counted, [call("eq", column_refs(counted)[-1], one)])


def _unbounded_warning(span: Span) -> Diagnostic:
    return Diagnostic(
        "W302",
        "pattern without WITHIN keeps the rows of a match until it ends",
        Label(span),
        helps=("bound the time of a match: PATTERN (…) WITHIN INTERVAL '1' HOUR",),
    )
