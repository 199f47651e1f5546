"""Functions whose types `fsql.udf` takes from their annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsql

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_function_with_annotations() -> None:
    session = fsql.Session()

    @session.udf
    @fsql.udf
    def joined(texts: list[str], separator: str | None, least: int) -> str | None:
        found = (separator or "").join(texts)
        return found if len(found) >= least else None

    query = """
        SELECT joined(ARRAY[word, 'x'], '-', n) AS a, joined(ARRAY[word], CAST(NULL AS STRING), 1) AS b
        FROM words
    """
    words = [{"word": "sky", "n": 1}, {"word": "aeon", "n": 9}]
    found = session.sql(query, tables={"words": words}).table()
    assert found.to_pylist() == [{"a": "sky-x", "b": "sky"}, {"a": None, "b": "aeon"}]


def test_annotations_that_are_no_sql_types() -> None:
    def root(number: float) -> complex:
        return number**0.5

    def called(get: Callable[[], str]) -> str:
        return get()

    def all_of(*numbers: int) -> int:
        return sum(numbers)

    def named(number: int, *, factor: int) -> int:
        return number * factor

    position = "does not take one argument by its position; write a parameter for each"
    write = 'write the types: @udf(["STRING"], "BIGINT")'
    refused: dict[Callable[..., object], str] = {
        all_of: f'parameter "numbers" of all_of {position}',
        named: f'parameter "factor" of named {position}',
        len: f'parameter "obj" of len has no annotation; {write}',
        root: f"the result of root has the annotation <class 'complex'>, which is no SQL type; {write}",
        called: f"the annotations of called cannot be read: name 'Callable' is not defined; {write}",
    }
    assert {each: said(each) for each in refused} == refused
    with pytest.raises(TypeError) as one:
        fsql.udf(["INT"])  # type: ignore[call-overload]
    assert str(one.value) == """the type of the result is missing: @udf(['INT'], "STRING")"""


def said(function: Callable[..., object]) -> str:
    with pytest.raises(TypeError) as refused:
        fsql.udf(function)
    return str(refused.value)
