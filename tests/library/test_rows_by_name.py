"""Rows meet by the names of their fields: values never get the name of another one."""

from __future__ import annotations

import re

import pytest

import fsql
from fsql.compiler.diagnostics import FsqlError

X, Y, LIKE_X = "STRUCT(X := 30, Y := 40)", "STRUCT(Y := 50, Z := 60)", "STRUCT(x := 1, y := 2)"
FORMS = {
    "elements": "SELECT ARRAY[{}, {}] AS r",
    "coalesced": "SELECT COALESCE({}, {}) AS r",
    "chosen": "SELECT CASE WHEN TRUE THEN {} ELSE {} END AS r",
    "either": "SELECT IF(TRUE, {}, {}) AS r",
    "united": "SELECT {} AS r UNION ALL SELECT {}",
    "listed": "SELECT r FROM (VALUES ({}), ({})) AS t(r)",
    "entries": "SELECT MAP['a', {}, 'b', {}] AS r",
    "compared": "SELECT {} = {} AS r",
    "one of": "SELECT {} IN ({}) AS r",
    "default": "SELECT LAG({}, 1, {}) OVER () AS r",
}


def first(query: str) -> object:
    return fsql.sql(query).table().to_pylist()[0]["r"]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_of_other_names_are_refused_with_a_remedy_that_works(form: str) -> None:
    with pytest.raises(fsql.QueryError) as caught:
        first(form.format(X, Y))
    remedy = re.search(r"ROW\(.*\)", str(caught.value.diagnostics[0].helps[0]))
    assert remedy is not None
    unnamed = remedy[0] if "row." not in remedy[0] else f"ROW(({Y}).Y, ({Y}).Z)"
    assert unnamed == f"ROW(({Y}).Y, ({Y}).Z)"
    positional = form.format("ROW(30, 40)", "ROW(50, 60)")
    names = {"f1": "X", "f2": "Y"}

    def named(value: object) -> object:
        match value:
            case dict():
                return {names[key]: each for key, each in value.items()}
            case list():
                return [*map(named, value)]
            case (str() as key, entry):
                return key, named(entry)
            case _:
                return value

    expected = first(positional)
    assert first(form.format(X, unnamed)) == named(expected)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_of_the_same_names_meet_in_any_case(form: str) -> None:
    assert first(form.format(X, LIKE_X)) is not None


@pytest.mark.parametrize(
    ("cast", "value"),
    [
        (f"CAST({Y} AS ROW<a INT, b BIGINT>)", {"a": 50, "b": 60}),
        ("CAST(ROW(1, 2) AS ROW<y INT, x INT>)", {"y": 1, "x": 2}),
        (f"CAST({X} AS ROW<x BIGINT, other INT>)", {"x": 30, "other": 40}),
    ],
)
def test_casts_give_new_names(cast: str, value: object) -> None:
    assert first(f"SELECT {cast} AS r") == value


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT CAST({Y} AS ROW<x INT, y INT>) AS r",
        f"SELECT CAST(ARRAY[{Y}] AS ARRAY<ROW<x INT, y INT>>) AS r",
        f"SELECT TRY_CAST({X} AS ROW<y INT, x INT>) AS r",
        f"SELECT CAST(MAP['k', {X}] AS MAP<STRING, ROW<y INT, x INT>>) AS r",
    ],
)
def test_casts_move_no_value_to_another_name(query: str) -> None:
    with pytest.raises(fsql.QueryError, match="E208"):
        first(query)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("ROW<y INT, x INT>", X),
        ("ARRAY<ROW<y INT, x INT>>", f"ARRAY[{X}]"),
        ("MAP<STRING, ROW<y INT, x BIGINT>>", f"MAP['k', {X}]"),
    ],
)
def test_inserts_move_no_value_to_another_name(declared: str, value: str) -> None:
    with pytest.raises(fsql.QueryError, match="E210"):
        fsql.compile(
            f"CREATE TABLE o (r {declared}) WITH ('connector' = 'blackhole');"
            f" INSERT INTO o SELECT {value}"
        )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT {} AS x UNION ALL SELECT {} AS y",
        "SELECT CASE WHEN TRUE THEN {} ELSE {} END AS x",
        "SELECT ELEMENT_AT(ARRAY[{}, {}], 2) AS x",
        "SELECT {} = {} AS x",
    ],
)
def test_the_remedy_for_fields_in_another_order_keeps_their_names(query: str) -> None:
    one, other = "CAST(ROW(1, 2) AS ROW<a INT, b INT>)", "CAST(ROW(2, 1) AS ROW<b INT, a INT>)"
    with pytest.raises(FsqlError) as raised:
        fsql.sql(query.format(one, other))
    (help_,) = raised.value.diagnostics[0].helps
    taken = help_.rpartition("one by one: ")[2].replace("y.", f"({other}).")
    found = fsql.sql(query.format(one, taken)).table().to_pylist()
    assert found[-1]["x"] in (True, {"a": 1, "b": 2})


def test_the_remedy_for_a_long_integer_keeps_its_digits() -> None:
    number = "99999999999999999999999999999999999999"
    with pytest.raises(FsqlError) as raised:
        fsql.sql(f"SELECT {number} AS x")
    (help_,) = raised.value.diagnostics[0].helps
    cast = help_.partition(", or ")[2].removesuffix(" for all digits")
    [found] = fsql.sql(f"SELECT {cast} AS x").table().to_pylist()
    assert str(found["x"]) == number
