"""WITHIN: a time range of a join over the event times of both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.scope import Field
from fsql.compiler.binder.windows.event_time import LATEST_TIME, with_latest_time
from fsql.compiler.binder.windows.window import check_delay, constant_interval_us
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.sqltypes import INTERVAL

if TYPE_CHECKING:
    from fsql.compiler import syntax
    from fsql.compiler.binder.relation import FromResult, Relation
    from fsql.compiler.text.source import Span


def sides_in_time(
    clause: syntax.JoinClause, left: FromResult, right: FromResult
) -> tuple[FromResult, FromResult]:
    """Return the sides of a join with WITHIN, with the greatest of their event times if they have several."""
    if clause.within is None:
        return left, right
    timed = (with_latest_time(side.relation)[0] for side in (left, right))
    return replace(left, relation=next(timed)), replace(right, relation=next(timed))


def within_conditions(
    within: syntax.Within, left: Relation, right: Relation, zone: str
) -> list[Expression]:
    """Return `b.at >= a.at - before` and `b.at <= a.at + after`, over the columns of both sides.

    A side with several event times has the greatest of them as its last column.

    Raises:
        Refusal: E304 if a side has no event time; E307 for months, and for a
            GRACE PERIOD that is not the greater delay.
    """
    lefts, rights = _event_time(left, "left", within.span), _event_time(right, "right", within.span)
    if within.grace is not None:
        times = (
            (lefts, delay_us(left.plan, lefts.index)),
            (rights, delay_us(right.plan, rights.index)),
        )
        waiting, waited_us = max(times, key=lambda each: each[1])
        check_delay("GRACE PERIOD", within.grace, waiting.name, waited_us)
    mine, theirs = lefts.expression, rights.shift(left.width).expression
    before, after = (
        Literal(INTERVAL, nullable=False, value=constant_interval_us(each, zone))
        for each in (within.before, within.after)
    )
    return [
        call("ge", theirs, call("subtract", mine, before)),
        call("le", theirs, call("add", mine, after)),
    ]


def _event_time(side: Relation, which: str, span: Span) -> Field:
    last = side.plan.schema[-1]
    if last.name == LATEST_TIME and last.time_attribute:
        return Field(None, LATEST_TIME, side.width - 1, last)
    times = [field for field in side.fields if field.column.time_attribute]
    if not times:
        raise refusal(
            "E304",
            f"WITHIN, and the {which} side of the join has no event time",
            span,
            help="declare it in CREATE TABLE: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
        )
    return times[0]
