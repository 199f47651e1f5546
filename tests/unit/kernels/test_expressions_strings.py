from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fsql.compiler.expression import Call, Literal
from fsql.compiler.functions.like import like
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DOUBLE,
    STRING,
    array_of,
)
from fsql.runtime.kernels.expressions.functions_string import like_matcher
from fsql.tests.reference.scalar_texts import like as reference_like
from fsql.tests.unit.kernels.tables import NAN, call, check_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.tests.unit.kernels.tables import Build

STRINGS = [
    ("lower", STRING, {("ÀB-İ",): "àb-i̇", ("ΑΣ",): "ας", ("",): "", ("AbC",): "abc"}),
    (
        "upper",
        STRING,
        {("straße",): "STRASSE", ("\u0149",): "\u02bcN", ("abC",): "ABC", ("😀a",): "😀A"},
    ),
    ("trim", STRING, {("  a b ",): "a b", ("\t a\n",): "\t a\n", ("   ",): ""}),
    ("ltrim", STRING, {("  a ",): "a ", ("é ",): "é "}),
    ("rtrim", STRING, {("  a ",): "  a", (" é",): " é"}),
    ("char_length", BIGINT, {("",): 0, ("abc",): 3, ("é€😀",): 3, ("e\u0301",): 2}),
    ("concat", STRING, {("a", "b"): "ab", ("", ""): "", ("é", "😀"): "é😀"}),
    (
        *("replace", STRING),
        {
            ("aaa", "aa", "b"): "ba",
            ("abc", "", "x"): "abc",
            ("", "", "x"): "",
            ("a.c", ".", "\\1"): "a\\1c",
            ("aéa", "é", ""): "aa",
        },
    ),
    (
        *("starts_with", BOOLEAN),
        {
            ("abc", "ab"): True,
            ("abc", ""): True,
            ("ab", "abc"): False,
            ("", ""): True,
            ("éa", "é"): True,
            ("ea", "é"): False,
        },
    ),
    ("eq", BOOLEAN, {("a", "a"): True, ("a", "A"): False, ("", ""): True}),
    ("ne", BOOLEAN, {("a", "b"): True, ("é", "é"): False}),
    (
        "lt",
        BOOLEAN,
        {("a", "b"): True, ("Z", "a"): True, ("\uffff", "😀"): True, ("a", "ab"): True},
    ),
    ("ge", BOOLEAN, {("a", "b"): False, ("b", "a"): True}),
    ("greatest", STRING, {("a", "b"): "b", ("é", "z"): "é"}),
    ("least", STRING, {("a", "b"): "a", ("é", "z"): "z"}),
]


@pytest.mark.parametrize(("name", "type_", "table"), STRINGS)
def test_strings(name: str, type_: SqlType, table: dict[tuple[str, ...], Value]) -> None:
    rows = list(table.items())
    check_table(call(name, type_), [STRING] * len(rows[0][0]), rows)


SLICES: list[tuple[Sequence[Value], Value]] = [
    (("abcdef", 2, 3), "bcd"),
    (("abcdef", 1, 99), "abcdef"),
    (("abcdef", 0, 3), "ab"),
    (("abcdef", -2, 4), "a"),
    (("abcdef", -2, 3), ""),
    (("abcdef", 3, 0), ""),
    (("abcdef", 3, -1), ""),
    (("abcdef", 7, 1), ""),
    (("é€😀x", 2, 2), "€😀"),
    (("é€😀x", 3, 2), "😀x"),
    (("", 1, 1), ""),
    (("ab", BIGINT_MAX, BIGINT_MAX), ""),
    (("ab", BIGINT_MIN, BIGINT_MAX), ""),
    (("ab", BIGINT_MIN, BIGINT_MIN), ""),
    (("ab", 2 - BIGINT_MAX, BIGINT_MAX), "a"),
    (("ab", 1, BIGINT_MAX), "ab"),
    (("ab", 2, BIGINT_MIN), ""),
]
TAILS: list[tuple[Sequence[Value], Value]] = [
    (("abc", 2), "bc"),
    (("abc", 1), "abc"),
    (("abc", 0), "abc"),
    (("abc", -5), "abc"),
    (("abc", 4), ""),
    (("é€😀x", 3), "😀x"),
    (("ab", BIGINT_MAX), ""),
    (("ab", BIGINT_MIN), "ab"),
]


def test_substring() -> None:
    check_table(call("substring", STRING), [STRING, BIGINT, BIGINT], SLICES)
    check_table(call("substring", STRING), [STRING, BIGINT], TAILS)


@pytest.mark.parametrize(("arguments", "outcome"), [*SLICES, *TAILS])
def test_substring_at_constant_places(arguments: Sequence[Value], outcome: Value) -> None:
    text, *places = arguments
    build = with_constants("substring", STRING, *((BIGINT, place) for place in places))
    check_table(build, [STRING], [((text,), outcome)])


def with_constants(name: str, type_: SqlType, *behind: tuple[SqlType, Value]) -> Build:
    """Return what calls a function with constants as its last arguments."""
    constants: tuple[Expression, ...] = tuple(
        Literal(constant, nullable=value is None, value=value) for constant, value in behind
    )
    return lambda arguments: Call(
        type_, nullable=True, function=name, arguments=(*arguments, *constants)
    )


LIKE = [
    ("", {"": True, "a": False}),
    ("abc", {"abc": True, "abcd": False, "Abc": False}),
    ("ab%", {"ab": True, "abc": True, "xab": False, "ab\nc": True}),
    ("%ab", {"ab": True, "xab": True, "abx": False}),
    ("%ab%", {"xabx": True, "ba": False, "": False}),
    ("%", {"": True, "\n": True}),
    ("%%", {"": True, "x": True}),
    ("_", {"": False, "é": True, "😀": True, "\n": True, "ab": False}),
    ("a_c%", {"abc": True, "ac": False, "a\ncx": True}),
    ("a%b%c", {"abc": True, "axxbyyc": True, "acb": False}),
    (r"a\%b", {"a%b": True, "axb": False}),
    (r"%\_%", {"a_b": True, "ab": False}),
    (r"\\", {"\\": True, "": False}),
    (r"a\bc", {"abc": True}),
    ("a.b*", {"a.b*": True, "axbb": False}),
    ("_.(", {"x.(": True, "xy(": False}),
    ("_\n%\t\0", {"x\ny\t\0": True, "xn": False}),
    ("_é$^|", {"aé$^|": True}),
    ("a%a", {"a": False, "aa": True, "aba": True, "abab": False}),
    ("%a_a%", {"aaa": True, "abbaba": True, "aab": False}),
    ("%__%", {"a": False, "ab": True, "abc": True}),
    ("%_b_%c", {"abac": True, "abc": False, "xbbbxc": True}),
    ("%ab%ab%", {"ab": False, "abab": True, "aabxab": True}),
]


@pytest.mark.parametrize(("pattern", "table"), LIKE)
def test_like(pattern: str, table: dict[str, bool]) -> None:
    rows = [((text,), outcome) for text, outcome in table.items()]
    check_table(with_constants("like", BOOLEAN, (STRING, pattern)), [STRING], rows)


def test_like_tells_every_short_pattern_as_the_reference_does() -> None:
    texts = ["".join(text) for length in range(6) for text in product("ab", repeat=length)]
    for length in range(6):
        for characters in product("a_%", repeat=length):
            pattern = "".join(characters)
            expected = [reference_like(text, pattern) for text in texts]
            assert [like(text, pattern) for text in texts] == expected, pattern
            assert like_matcher(pattern)(pa.array(texts)).to_pylist() == expected, pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%a" * 50 + "%b", "a" * 10_000),
        ("%a_" * 100 + "%b", "a" * 10_000),
        ("a%" * 5000, "a" * 20_000),
        ("%" + "_" * 4999 + "b" + "a" * 5000, "a" * 20_000),
        ("%" + "a" * 4998 + "_b%", "a" * 20_000),
    ],
)
def test_like_needs_no_backtracking(pattern: str, text: str) -> None:
    expected = pattern.endswith("a%")
    assert like(text, pattern) is expected
    assert like_matcher(pattern)(pa.array([text, None])).to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("separator", "place", "table"),
    [
        ("/", 0, {"a/b": "a", "": "", "/": "", "ab": "ab"}),
        ("/", 2, {"a/b": None, "a/b/": "", "a/b/c": "c", "a/b/é/d": "é", "": None}),
        ("ab", 1, {"xabyabz": "y", "aab": "", "ababab": "", "x": None, "x ab😀": "😀"}),
        ("é", 1, {"aébéc": "b", "e": None, "é": ""}),
        ("", 0, {"a/b": "a/b", "": ""}),
        ("", 1, {"a/b": None}),
        ("/", -1, {"a/b": None}),
        ("/", BIGINT_MAX, {"a/b": None}),
        ("/", BIGINT_MIN, {"a/b": None}),
    ],
)
def test_split_index(separator: str, place: int, table: dict[str, str | None]) -> None:
    build = with_constants("split_index", STRING, (STRING, separator), (BIGINT, place))
    check_table(build, [STRING], [((text,), part) for text, part in table.items()])


def test_split() -> None:
    rows: list[tuple[Sequence[Value], Value]] = [
        (("",), ("",)),
        (("a b",), ("a", "b")),
        ((" a  b ",), ("", "a", "", "b", "")),
        (("é€",), ("é€",)),
    ]
    check_table(with_constants("split", array_of(STRING), (STRING, " ")), [STRING], rows)
    rows = [(("a, b,c",), ("a", "b,c")), ((", ",), ("", ""))]
    check_table(with_constants("split", array_of(STRING), (STRING, ", ")), [STRING], rows)


@pytest.mark.parametrize("name", ["split", "like", "starts_with"])
def test_a_null_constant_gives_null(name: str) -> None:
    type_ = array_of(STRING) if name == "split" else BOOLEAN
    check_table(with_constants(name, type_, (STRING, None)), [STRING], [(("a",), None)])


NUMBERS, WORDS, LISTS = array_of(BIGINT), array_of(STRING), array_of(array_of(DOUBLE))
ARRAYS = [
    ("cardinality", BIGINT, (WORDS,), {(("a", None),): 2, ((),): 0}),
    (
        *("element_at", STRING, (WORDS, BIGINT)),
        {
            (("a", "b"), 1): "a",
            (("a", "b"), 2): "b",
            (("a", "b"), 3): None,
            (("a", "b"), 0): None,
            (("a", "b"), -1): None,
            ((None,), 1): None,
            ((), 1): None,
            (("a",), BIGINT_MAX): None,
            (("a",), BIGINT_MIN): None,
        },
    ),
    ("element_at", BIGINT, (NUMBERS, BIGINT), {((5, None, 7), 3): 7, ((5, None, 7), 2): None}),
    (
        *("eq", BOOLEAN, (NUMBERS, NUMBERS)),
        {
            ((1, 2), (1, 2)): True,
            ((1, 2), (2, 1)): False,
            ((1,), (1, 2)): False,
            ((), ()): True,
            ((None,), (None,)): True,
            ((None,), (1,)): False,
            ((1, None), (1, None)): True,
        },
    ),
    (
        *("ne", BOOLEAN, (LISTS, LISTS)),
        {
            (((NAN, 0.0),), ((NAN, -0.0),)): False,
            (((1.0,), None), ((1.0,), None)): False,
            (((1.0,), None), ((1.0,), ())): True,
            (((1.0, None),), ((1.0, 2.0),)): True,
        },
    ),
    ("eq", BOOLEAN, (WORDS, WORDS), {(("a", ""), ("a", "")): True, (("a",), ("b",)): False}),
    ("coalesce", WORDS, (WORDS, WORDS), {(None, ("a",)): ("a",), ((), ("a",)): ()}),
]


@pytest.mark.parametrize(("name", "type_", "types", "table"), ARRAYS)
def test_arrays(
    name: str,
    type_: SqlType,
    types: Sequence[SqlType],
    table: dict[tuple[Value, ...], Value],
) -> None:
    check_table(call(name, type_), types, list(table.items()))


def test_array_makes_null_an_element() -> None:
    array = call("array", NUMBERS)
    one, two = (Literal(BIGINT, nullable=False, value=value) for value in (1, 2))
    check_table(
        lambda arguments: call("element_at", BIGINT)((array((one, *arguments)), two)),
        [BIGINT],
        [((7,), 7)],
    )
    check_table(
        lambda arguments: call("eq", BOOLEAN)((array((arguments[0], one)), arguments[1])),
        [BIGINT, NUMBERS],
        [((7, (7, 1)), True), ((None, (None, 1)), True), ((None, (7, 1)), False)],
    )
