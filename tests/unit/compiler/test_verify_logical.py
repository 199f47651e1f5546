"""Each rule of `verify_logical` finds a plan that breaks it, and says so in words."""

from __future__ import annotations

import dataclasses

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import (
    Case,
    Cast,
    ColumnRef,
    Expression,
    InSet,
    LambdaBody,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, INTERVAL, STRING, TIMESTAMP, array_of
from fsql.compiler.verify.logical import verify_logical
from fsql.tests.unit.model import plans as p

BIDS = p.scan(
    p.table(
        "bids",
        {"k": BIGINT, "s": STRING, "at": TIMESTAMP, "tags": array_of(STRING)},
        event_time="at",
    )
)
K, S, AT, TAGS = (p.col(BIDS, name) for name in ("k", "s", "at", "tags"))
COUNTS = p.group(BIDS, ["k"], n=p.count())
HOPS = p.hop(BIDS, "at", 10, 5)


def of(expression: Expression) -> logical.Plan:
    return logical.Project(BIDS, (expression,), ("x",))


def lambda_call(array: Expression, body: Expression) -> Expression:
    return LambdaCall(
        TAGS.type,
        nullable=True,
        function=LambdaFunction.TRANSFORM,
        arguments=(array,),
        captured=(),
        body=LambdaBody(body),
    )


def where(predicate: Expression) -> logical.Plan:
    return logical.Filter(BIDS, predicate)


ILLEGAL = {
    "there is no column 9 among 4": of(ColumnRef(BIGINT, nullable=True, index=9)),
    "column k BIGINT is referred to as a STRING": of(ColumnRef(STRING, nullable=True, index=0)),
    "column k BIGINT may be NULL and is referred to as if it could not": of(
        ColumnRef(BIGINT, nullable=False, index=0)
    ),
    "'x' is not a literal of type BIGINT": of(Literal(BIGINT, nullable=False, value="x")),
    "None is not a literal of type BIGINT": of(Literal(BIGINT, nullable=False, value=None)),
    "True is not a literal of type BIGINT": of(Literal(BIGINT, nullable=False, value=True)),
    f"{2**63} is not a literal of type BIGINT": of(p.lit(2**63)),
    "there is no function frobnicate": of(p.call("frobnicate", BIGINT, K)),
    "no signature of add takes (BIGINT, STRING) and returns BIGINT": of(
        p.call("add", BIGINT, K, S)
    ),
    "no signature of add takes (BIGINT, BIGINT) and returns DOUBLE": of(
        p.call("add", DOUBLE, K, K)
    ),
    "TRY_CAST is declared NOT NULL": of(TryCast(BIGINT, nullable=False, argument=S)),
    "there is no cast from ARRAY<STRING> to BIGINT": of(Cast(BIGINT, nullable=True, argument=TAGS)),
    "a CASE without branches": of(Case(BIGINT, nullable=True, branches=(), otherwise=K)),
    "a condition of CASE is a BIGINT": of(
        Case(BIGINT, nullable=True, branches=((K, K),), otherwise=K)
    ),
    "the ELSE of CASE is a STRING, the whole a BIGINT": of(
        Case(BIGINT, nullable=True, branches=((p.gt(K, K), K),), otherwise=S)
    ),
    "IN of a ARRAY<STRING> is a BOOLEAN": of(
        InSet(BOOLEAN, nullable=True, argument=TAGS, values=((), ("a",)))
    ),
    "IN of a BIGINT has values of other types": of(
        InSet(BOOLEAN, nullable=True, argument=K, values=(1, "x"))
    ),
    "IN with NULL among its values is declared NOT NULL": of(
        InSet(BOOLEAN, nullable=False, argument=K, values=(1, None))
    ),
    "TRANSFORM is of a BIGINT": of(lambda_call(K, p.lit(1))),
    "the lambda of TRANSFORM returns a BIGINT, not a STRING": of(lambda_call(TAGS, p.lit(1))),
    "column $0 STRING is referred to as a BIGINT": of(
        lambda_call(TAGS, Cast(STRING, nullable=True, argument=K))
    ),
    "the predicate is a BIGINT": where(K),
    "1 expressions have 2 names": logical.Project(BIDS, (K,), ("x", "y")),
    "a BIGINT is unnested": logical.Unnest(BIDS, K, "x", None),
    "SUM of STRING is not a BIGINT": p.group(
        BIDS, ["k"], n=dataclasses.replace(p.agg("SUM", K), argument=S)
    ),
    "ARRAY_AGG in the total order of input that changes": p.group(
        COUNTS, ["k"], all=p.agg("ARRAY_AGG", p.col(COUNTS, "n"))
    ),
    "column k BIGINT is not event time that is never NULL": logical.AssignWindows(BIDS, 0, 10, 5),
    "there is no column 7 to take the time from": logical.AssignWindows(BIDS, 7, 10, 5),
    "the size and the slide of a window must be positive": logical.AssignWindows(BIDS, 2, 10, 0),
    "the end of the window is not among the keys": dataclasses.replace(
        p.window_group(HOPS, ["k", "window_end"], n=p.count()), keys=(K,), key_names=("k",)
    ),
    "running aggregates of input that changes": p.over(COUNTS, ["k"], n=p.count()),
    "the keys of the sides have different types": logical.Join(
        BIDS, p.scan(BIDS.table, 1), (K,), (S,), None
    ),
    "a time range on input that changes": logical.Join(
        p.join(COUNTS, BIDS, [("k", "k")]),
        p.scan(BIDS.table, 1),
        (),
        (),
        logical.TimeRange(4, 2, 0, 0),
    ),
    "the branches have different types": logical.Union(
        (of(K), logical.Project(p.scan(BIDS.table, 1), (S,), ("x",)))
    ),
    "scan number 0 belongs to 2 scans": p.join(
        BIDS, p.scan(p.table("others", {"k": BIGINT}, 1)), [("k", "k")]
    ),
}


@pytest.mark.parametrize("violation", ILLEGAL)
def test_a_violation_is_named(violation: str) -> None:
    sink = logical.SinkTable("out", (), (), logical.Changes.RETRACT, None)
    with pytest.raises(AssertionError) as raised:
        verify_logical(logical.Job((logical.Insert(sink, ILLEGAL[violation]),)))
    assert violation in str(raised.value)


def test_sinks_have_the_types_and_changes_of_their_queries() -> None:
    sink = logical.SinkTable("out", of(S).schema, (), logical.Changes.APPEND, (3,))
    with pytest.raises(AssertionError) as raised:
        verify_logical(logical.Job((logical.Insert(sink, COUNTS),)))
    assert str(raised.value) == (
        "illegal plan:\n"
        "Insert into out: the query gives (BIGINT, BIGINT), the sink has (STRING)\n"
        "Insert into out: the key (3,) is not among the sink's columns\n"
        "Insert into out: an append sink is given changes\n"
        "Aggregate by k; compute COUNT(*) AS n\n"
        "└─ Scan bids; scan 0\n"
    )


def test_legal_plans_pass() -> None:
    interval = Literal(INTERVAL, nullable=False, value=5)
    shifted = p.call("add", TIMESTAMP, AT, interval)
    windows = p.window_group(HOPS, ["window_end", "k"], n=p.count(), m=p.agg("MAX", S))
    verify_logical(p.job(of(shifted), windows, COUNTS, p.over(BIDS, ["k"], n=p.count())))
    verify_logical(
        p.job(where(p.call("is_null", BOOLEAN, K)), logical.Unnest(BIDS, TAGS, "t", "n"))
    )
