"""A gallery of plans: every operator, and the combinations in which order or retraction is delicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, TIMESTAMP, array_of
from fsql.tests.unit.model import plans as p

if TYPE_CHECKING:
    from fsql.compiler.expression import AggregateCall, Expression

EVENTS = p.table(
    "events",
    {"k": STRING, "v": BIGINT, "x": DOUBLE, "at": TIMESTAMP},
    event_time="at",
    delay_us=2 * p.SECOND,
    options={"on_error": "reject"},
)
OTHERS = p.table("others", {"k": STRING, "v": BIGINT, "at": TIMESTAMP}, 1, event_time="at")
RESTING = p.table(
    "resting",
    {"k": STRING, "v": BIGINT, "a": array_of(BIGINT)},
    2,
    time=logical.TimeKind.START,
)

events, events_too, others, resting = (
    p.scan(EVENTS, 0),
    p.scan(EVENTS, 1),
    p.scan(OTHERS, 1),
    p.scan(RESTING, 2),
)
element = p.column(BIGINT, 3)
ordinal = p.column(BIGINT, 4)


def of(name: str, plan: logical.Plan, column: str) -> AggregateCall:
    return p.agg(name, p.col(plan, column))


def every(plan: logical.Plan, column: str) -> dict[str, AggregateCall]:
    """Return all aggregates that may take values back."""
    names = ("COUNT", "SUM", "MIN", "MAX", "AVG")
    return {"n": p.count(), **{name.lower(): of(name, plan, column) for name in names}}


def pick(plan: logical.Plan, *names: str) -> logical.Project:
    return p.project(plan, **{name: p.col(plan, name) for name in names})


def divided(dividend: int, divisor: Expression) -> Expression:
    return p.call("divide", BIGINT, p.lit(dividend), divisor)


counts = p.group(events, ["k"], n=p.count())
count_of_counts = p.group(pick(counts, "n"), ["n"], m=p.count())
other_sums = p.group(others, ["k"], s=of("SUM", others, "v"))
hops = p.hop(events, "at", 4 * p.SECOND, 2 * p.SECOND)
window_counts = p.window_group(hops, ["k", "window_end"], n=p.count())
windows_again = p.hop(pick(window_counts, "n", "window_end"), "window_end", 3 * p.SECOND)
pairs = p.join(events, others, [("k", "k")])
unnested = logical.Unnest(resting, p.col(resting, "a"), "e", "i")
of_two_depths = logical.Union(
    (p.project(unnested, k=p.col(unnested, "k"), v=p.col(unnested, "e")), pick(others, "k", "v"))
)
scaled = p.project(
    events, k=p.col(events, "k"), b=p.call("multiply", BIGINT, p.col(events, "v"), p.lit(2**61))
)
with_sums = p.join(events, other_sums, [("k", "k")])
windows_with_sums = p.hop(with_sums, "at", 4 * p.SECOND)
pairs_of_ties = p.join(window_counts, others, [("n", "v")])
window_sums = p.window_group(hops, ["k", "window_end"], n=p.count(), s=of("SUM", hops, "v"))
pairs_of_tied_sums = p.join(window_sums, others, [("n", "v")])
resting_and_unnested = logical.Union(
    (pick(resting, "k", "v"), p.project(unnested, k=p.col(unnested, "k"), v=p.col(unnested, "e")))
)

GALLERY: Final[dict[str, logical.Plan | logical.Insert]] = {
    "filter": logical.Filter(events, p.gt(p.col(events, "v"), p.lit(0))),
    "failing project": p.project(events, q=divided(10, p.col(events, "v"))),
    "unnest": unnested,
    "lateral by element": logical.LateralAggregate(
        resting,
        p.col(resting, "a"),
        ordinality=True,
        predicate=p.gt(divided(6, element), p.lit(-9)),
        keys=(element,),
        key_names=("e",),
        aggregates=(p.count(), p.agg("SUM", element), p.agg("ARRAY_AGG", ordinal)),
        aggregate_names=("n", "s", "places"),
    ),
    "lateral without keys": logical.LateralAggregate(
        resting,
        p.col(resting, "a"),
        ordinality=False,
        predicate=None,
        keys=(),
        key_names=(),
        aggregates=(p.count(), p.agg("SUM", element), p.agg("ARRAY_AGG", element)),
        aggregate_names=("n", "s", "all"),
    ),
    "aggregate": p.insert(p.group(events, ["k"], **every(events, "v")), ["k"]),
    "upsert of doubles": p.insert(
        p.group(events, ["k"], **every(events, "x")), ["k"], logical.Changes.UPSERT
    ),
    "double as key": p.group(events, ["x"], **every(events, "v")),
    "global aggregate": p.group(events, [], **every(events, "v")),
    "aggregate of aggregate": p.insert(
        p.group(counts, ["n"], m=p.count(), last=of("MAX", counts, "k")), ["n"]
    ),
    "rows that become equal": pick(counts, "n"),
    "three aggregates deep": p.group(count_of_counts, ["m"], s=of("SUM", count_of_counts, "n")),
    "sum out of range": p.group(scaled, ["k"], s=of("SUM", scaled, "b")),
    "running sum out of range": p.over(scaled, [], s=of("SUM", scaled, "b")),
    "failure that may pass": p.project(
        count_of_counts,
        q=divided(9, p.call("subtract", BIGINT, p.col(count_of_counts, "m"), p.lit(2))),
    ),
    "hop": p.window_group(hops, ["k", "window_end"], final=True, **every(hops, "v")),
    "hop with changes": p.window_group(hops, ["k", "window_end"], final=False, **every(hops, "x")),
    "window of windows": p.window_group(
        pick(window_counts, "n", "window_end"),
        ["window_end"],
        most=of("MAX", pick(window_counts, "n"), "n"),
        all=of("ARRAY_AGG", pick(window_counts, "n"), "n"),
    ),
    "wider windows of windows": logical.WindowAggregate(
        windows_again,
        (p.col(windows_again, "n"), p.column(TIMESTAMP, 3)),
        ("n", "end"),
        (p.count(),),
        ("m",),
        window_end=3,
        final=True,
    ),
    "array of rows that tie": p.window_group(
        window_counts, ["window_end"], all=of("ARRAY_AGG", window_counts, "n")
    ),
    "over rows that tie": p.over(
        pick(window_counts, "n", "window_end"),
        [],
        logical.FrameEnd.ONE_PRECEDING,
        s=of("SUM", pick(window_counts, "n"), "n"),
        all=of("ARRAY_AGG", pick(window_counts, "n"), "n"),
    ),
    "over": p.over(events, ["k"], n=p.count(), s=of("SUM", events, "v"), m=of("MIN", events, "x")),
    "over rows before": p.over(
        events, ["k"], logical.FrameEnd.ONE_PRECEDING, n=p.count(), s=of("SUM", events, "x")
    ),
    "over branches of two depths": p.over(
        of_two_depths, ["k"], all=of("ARRAY_AGG", of_two_depths, "v")
    ),
    "union": logical.Union((pick(events, "k", "v"), pick(others, "k", "v"))),
    "union of two depths": of_two_depths,
    "join": pairs,
    "join in time": p.join(
        events,
        others,
        [("k", "k")],
        logical.TimeRange(
            p.col(events, "at").index, p.col(others, "at").index, -2 * p.SECOND, 3 * p.SECOND
        ),
    ),
    "join with a table at rest": p.join(events, resting, [("k", "k")]),
    "join of a table with itself": p.join(events, events_too, [("v", "v")]),
    "join with rows that tie": pairs_of_ties,
    "over pairs that tie": p.over(pairs_of_ties, [], all=of("ARRAY_AGG", pairs_of_ties, "at")),
    "pairs that tie in another order than their rows": pick(pairs_of_tied_sums, "s"),
    "join in time of two sides at one position": p.join(
        pick(events, "v", "k", "at"),
        pick(events, "k", "at"),
        [("k", "k")],
        logical.TimeRange(2, 1, -3 * p.SECOND, 0),
    ),
    "join of two depths at one position": p.join(resting_and_unnested, resting, [("k", "k")]),
    "join of three": p.join(pairs, resting, [("k", "k")]),
    "join with an aggregate": with_sums,
    "several changes of one key": p.insert(with_sums, ["k"]),
    "join of aggregates": p.insert(p.join(counts, other_sums, [("k", "k")]), ["k"]),
    "join of aggregates by value": p.join(counts, other_sums, [("n", "s")]),
    "window of changes": p.window_group(
        windows_with_sums, ["window_end"], n=p.count(), s=of("SUM", windows_with_sums, "s")
    ),
    "changes of a window of changes": p.window_group(
        windows_with_sums, ["window_end"], final=False, s=of("SUM", windows_with_sums, "s")
    ),
}
