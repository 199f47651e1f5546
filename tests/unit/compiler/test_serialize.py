"""Canonical bytes tell nodes apart that are apart; operator ids keep to what is computed."""

from __future__ import annotations

import dataclasses
import json

from fsql.compiler import logical
from fsql.compiler.expression import Literal
from fsql.compiler.serialize import canonical_bytes, digest, operator_id, operator_ids
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, array_of
from fsql.tests.unit.model import plans as p

WORDS = p.table("words", {"word": STRING, "n": BIGINT})
COUNTS = p.group(p.scan(WORDS), ["word"], n=p.count())


def test_the_form_is_known() -> None:
    assert canonical_bytes(p.gt(p.col(p.scan(WORDS), "n"), p.lit(1))) == (
        b'[["ColumnRef",{"type":{"type":"BIGINT"},"nullable":true,"index":1}],'
        b'["Literal",{"type":{"type":"BIGINT"},"nullable":false,"value":1}],'
        b'["Call",{"type":{"type":"BOOLEAN"},"nullable":true,"function":"gt",'
        b'"arguments":[{"node":0},{"node":1}]}]]'
    )


def test_shared_parts_are_written_once() -> None:
    literal = p.lit(5)
    doubled = p.call("add", BIGINT, literal, literal)
    for _ in range(40):
        doubled = p.call("add", BIGINT, doubled, doubled)
    assert len(json.loads(canonical_bytes(doubled))) == 42


def test_values_are_kept_apart_as_nodes_are() -> None:
    literals = [
        Literal(DOUBLE, nullable=False, value=0.0),
        Literal(DOUBLE, nullable=False, value=-0.0),
        Literal(BIGINT, nullable=False, value=0),
        Literal(DOUBLE, nullable=True, value=None),
        Literal(DOUBLE, nullable=False, value=float("nan")),
        Literal(STRING, nullable=False, value="0.0"),
    ]
    assert len({digest(literal) for literal in literals}) == len(literals)


def test_the_id_of_an_operator_is_fixed() -> None:
    """State is found by it again: if this fails, the state of running jobs is lost."""
    assert operator_id(COUNTS) == "aggregate-eda00c633ffa"


def test_names_and_places_do_not_change_the_id() -> None:
    renamed = dataclasses.replace(COUNTS, key_names=("w",), aggregate_names=("total",))
    assert operator_id(renamed) == operator_id(COUNTS)
    moved = dataclasses.replace(WORDS, ordinal=3, options=(("path", "elsewhere"),))
    assert operator_id(p.group(p.scan(moved), ["word"], n=p.count())) == operator_id(COUNTS)


def test_what_is_computed_changes_the_id() -> None:
    scan = p.scan(WORDS)
    others = [
        p.group(scan, ["word"], n=p.agg("MAX", p.col(scan, "n"))),
        p.group(scan, [], n=p.count()),
        p.group(p.scan(WORDS, 1), ["word"], n=p.count()),
        p.group(logical.Filter(scan, p.gt(p.col(scan, "n"), p.lit(1))), ["word"], n=p.count()),
        p.group(p.scan(dataclasses.replace(WORDS, name="other")), ["word"], n=p.count()),
        p.group(p.scan(dataclasses.replace(WORDS, delay_us=1)), ["word"], n=p.count()),
    ]
    assert len({operator_id(plan) for plan in [COUNTS, *others]}) == len(others) + 1


def test_an_ordinal_is_no_name() -> None:
    arrays = p.scan(p.table("t", {"a": array_of(STRING)}))
    plain, one, other = (
        logical.Unnest(arrays, p.col(arrays, "a"), "x", name) for name in (None, "i", "j")
    )
    assert operator_id(plain) != operator_id(one) == operator_id(other)


def test_operators_of_one_job_have_ids_of_their_own() -> None:
    renamed = dataclasses.replace(COUNTS, aggregate_names=("total",))
    ids = operator_ids(p.job(COUNTS, renamed))
    assert ids[renamed] == f"{ids[COUNTS]}-2"
    assert len(set(ids.values())) == len(ids) == 3
