"""Functions of texts, numbers, arrays and JSON in DuckDB's SQL; see `judged_functions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    STRING,
    array_of,
)
from fsql.tests.property.judged_functions import Column, ComparedFunction, constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import Value

INF: Final = float("inf")
NAN: Final = float("nan")
TEXTS: Final = Column(
    STRING,
    (
        *(None, "", "a", "ab", "abc", "Abc-12", "é", "straße", "a,b,,c", "%_", "日本語"),
        *("\U0001f600a", "  x ", "xx", "a'b\"c", "Robert", "MARTHA", "DWAYNE", "x" * 300),
    ),
)
SHORT: Final = Column(STRING, (None, "", "a", "b", "ab", "ba", "é", ",", "a,b", "MARHTA", "DUANE"))
COUNTS: Final = Column(BIGINT, (None, 0, 1, 2, 3, -1, -2, 10))
INTEGERS: Final = Column(
    BIGINT, (None, 0, 1, -1, 7, -7, 12, 18, 255, 2**31, BIGINT_MAX, BIGINT_MIN, BIGINT_MIN + 1)
)
SMALL: Final = Column(BIGINT, (None, 0, 1, -1, 7, -7, 12, 18, 255, -1_000_000))
DOUBLES: Final = Column(
    DOUBLE,
    (
        *(None, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, 7.25, 1e-9, 0.1, -3.0),
        *(1e308, -1e308, 5e-324, INF, -INF, NAN, 20.0, 700.0, 1e22),
    ),
)
INTERVALS: Final = Column(
    INTERVAL, (None, 0, 1, -1, 3, 5, -7, 3_600_000_000, 2**53 + 1, BIGINT_MAX, BIGINT_MIN)
)
PLAIN_DOUBLES: Final = Column(DOUBLE, (None, 0.5, -0.5, 0.25, 1.0, -1.0, 2.5, -3.75, 10.0))
NUMBERS: Final = array_of(BIGINT)
ARRAYS: Final = Column(
    NUMBERS,
    (None, (), (1,), (1, 2), (2, 1, 2), (3, None, 1), (None, None), (BIGINT_MAX, BIGINT_MIN, 0)),
)
FULL_ARRAYS: Final = Column(NUMBERS, (None, (), (1,), (1, 2), (2, 1, 2), (BIGINT_MAX, BIGINT_MIN)))
WORDS: Final = Column(
    array_of(STRING), (None, (), ("b", "a"), ("é", "z", "", "a"), ("a", None, "B"), (None,))
)
ELEMENTS: Final = Column(BIGINT, (None, 0, 1, 2, BIGINT_MAX))
KNOWN: Final = Column(BIGINT, (0, 1, 2, BIGINT_MAX))


def ascii_only(column: Column) -> tuple[Value, ...]:
    """Return the values that are NULL or of ASCII."""
    return tuple(value for value in column.values if str(value).isascii())


def _same(
    *names: str, columns: tuple[Column, ...], within: float = 0.0
) -> dict[str, list[ComparedFunction]]:
    """Return the functions that have the same name and arguments there."""
    places = ", ".join(f"{{{place}}}" for place in range(len(columns)))
    return {name: [ComparedFunction(f"TRY({name}({places}))", columns, within)] for name in names}


def _one(sql: str, *columns: Column, within: float = 0.0) -> list[ComparedFunction]:
    return [ComparedFunction(sql, columns, within)]


_REGEXPS: Final = ("a", "[a-z]+", "b|,", "(a)(b)?", "xx?", "é")

_TESTED: Final = Column(
    STRING, (None, "", "a", "é1", "éß", "12", "٣", "1.5", "-.5e+3", "1e", ".", "+1.", " 1", "日本")
)

_SOME: Final = Column(STRING, ("", "a", "abc", "Abc-12", "a%d"))
_WHOLE: Final = Column(STRING, ("0", "7", "-42", "123456", "-9223372036854775808"))

OTHERS: Final[Mapping[str, list[ComparedFunction]]] = {
    # Numbers
    **_same("cbrt", "sinh", "cosh", "tanh", "asinh", "atan", columns=(DOUBLES,), within=1e-14),
    "acosh": _one(
        "TRY(CASE WHEN {0} >= 1 THEN acosh({0}) WHEN {0} IS NOT NULL THEN 'nan'::DOUBLE END)",
        DOUBLES,
        within=1e-14,
    ),
    "atanh": _one(
        "TRY(CASE WHEN abs({0}) <= 1 THEN atanh({0}) WHEN {0} IS NOT NULL THEN 'nan'::DOUBLE END)",
        DOUBLES,
        within=1e-14,
    ),
    "atan2": _one("atan2({0}, {1})", DOUBLES, DOUBLES, within=1e-14),
    "hypot": _one("sqrt({0} * {0} + {1} * {1})", PLAIN_DOUBLES, PLAIN_DOUBLES, within=1e-14),
    "cot": _one("cot({0})", PLAIN_DOUBLES, within=1e-14),
    "log1p": _one("ln(1 + {0})", Column(DOUBLE, (None, 0.5, 1.0, 7.25, 1e22)), within=1e-14),
    "expm1": _one("exp({0}) - 1", PLAIN_DOUBLES, within=1e-13),
    "gamma": _one(
        "gamma({0})", Column(DOUBLE, (None, 0.5, 1.0, 2.5, 5.0, -0.5, 20.0)), within=1e-13
    ),
    "lgamma": _one("lgamma({0})", Column(DOUBLE, (None, 0.5, 1.0, 2.5, 5.0, 700.0)), within=1e-13),
    "nextafter": _one("nextafter({0}, {1})", DOUBLES, DOUBLES),
    "geo_distance": _one(
        "2 * 6371.0 * asin(sqrt(sin(radians({2} - {0}) / 2) ** 2"
        " + cos(radians({0})) * cos(radians({2})) * sin(radians({3} - {1}) / 2) ** 2))",
        *(Column(DOUBLE, (None, 0.0, 52.5, -89.0)), Column(DOUBLE, (13.4, -170.0, 0.0))),
        *(Column(DOUBLE, (48.85, 51.0)), Column(DOUBLE, (None, 2.35, 179.5))),
        within=1e-12,
    ),
    "rint": _one(
        "round_even({0}, 0)", Column(DOUBLE, (None, 0.0, 0.5, 1.5, 2.5, -0.5, -2.5, 7.25))
    ),
    "even": _one("even({0})", Column(DOUBLE, (None, 0.0, 0.5, 1.0, 2.0, -0.5, -2.5, 7.25, INF))),
    **_same("isnan", "isinf", "isfinite", columns=(DOUBLES,)),
    "gcd": _one("TRY(gcd({0}, {1}))", SMALL, SMALL),
    "lcm": _one("TRY(lcm({0}, {1}))", SMALL, SMALL),
    "factorial": _one(
        "TRY(CAST(factorial(CAST({0} AS INTEGER)) AS BIGINT))",
        Column(BIGINT, (None, 0, 1, 5, 20, 21)),
    ),
    "div": _one("TRY(CASE WHEN {1} <> 0 THEN {0} // {1} END)", INTEGERS, INTEGERS),
    "pmod": _one(
        "CASE WHEN {1} <> 0 THEN ({0} % abs({1}) + abs({1})) % abs({1}) END", SMALL, SMALL
    ),
    "try_add": _one("TRY({0} + {1})", INTEGERS, INTEGERS),
    "try_subtract": _one("TRY({0} - {1})", INTEGERS, INTEGERS),
    "try_multiply": _one("TRY({0} * {1})", INTEGERS, INTEGERS),
    "try_divide": _one("TRY(CASE WHEN {1} <> 0 THEN {0} // {1} END)", INTEGERS, INTEGERS),
    "try_mod": _one(
        "TRY(CASE WHEN {1} = -1 THEN {0} * 0 WHEN {1} <> 0 THEN {0} % {1} END)", INTEGERS, INTEGERS
    ),
    "multiply_interval": _one(
        "TRY_CAST(round_even(CAST(epoch_us({0}) AS DOUBLE) * {1}, 0) AS BIGINT)", INTERVALS, DOUBLES
    ),
    "divide_interval": _one(
        "TRY_CAST(round_even(CAST(epoch_us({0}) AS DOUBLE) / nullif({1}, 0), 0) AS BIGINT)",
        INTERVALS,
        DOUBLES,
    ),
    "bitnot": _one("~{0}", INTEGERS),
    "bit_count": _one("bit_count({0})", INTEGERS),
    "to_base": _one(
        "to_base({0}, 36)", Column(BIGINT, (None, 0, 7, 255, BIGINT_MAX)), Column(BIGINT, (36,))
    ),
    "bin": _one("bin({0})", INTEGERS),
    "to_hex": _one("lower(to_hex({0}))", INTEGERS),
    # Texts
    "octet_length": _one("octet_length(encode({0}))", TEXTS),
    "bit_length": _one("bit_length({0})", TEXTS),
    "hamming": _one(
        "CASE WHEN length({0}) = length({1}) THEN CASE WHEN {0} = '' THEN 0 ELSE hamming({0}, {1}) END END",
        Column(STRING, (None, "", "ab", "ba", "a")),
        Column(STRING, (None, "", "ab", "bb", "b")),
    ),
    "jaro_similarity": _one(
        "CASE WHEN {0} = {1} THEN 1 ELSE jaro_similarity({0}, {1}) END",
        *(Column(STRING, ascii_only(c)) for c in (TEXTS, SHORT)),
        within=1e-12,
    ),
    "jaro_winkler_similarity": _one(
        "CASE WHEN {0} = {1} THEN 1 ELSE jaro_winkler_similarity({0}, {1}) END",
        *(Column(STRING, ascii_only(c)) for c in (TEXTS, SHORT)),
        within=1e-12,
    ),
    "strip_accents": _one("strip_accents({0})", TEXTS),
    "normalize": _one(
        "nfc_normalize({0})", Column(STRING, (*TEXTS.values, "e\u0301", "\u1112\u1161\u11ab"))
    ),
    "regexp_escape": _one(
        "regexp_escape({0})",
        Column(STRING, ascii_only(TEXTS)),
    ),
    "regexp_count": [
        ComparedFunction(f"len(regexp_extract_all({{0}}, '{p}'))", (TEXTS, *constants(p)))
        for p in _REGEXPS
    ],
    "regexp_substr": [
        ComparedFunction(
            f"CASE WHEN regexp_matches({{0}}, '{p}') THEN regexp_extract({{0}}, '{p}') END",
            (TEXTS, *constants(p)),
        )
        for p in _REGEXPS
    ],
    "regexp_extract_all": [
        ComparedFunction(
            f"regexp_extract_all({{0}}, '{p}', 0)",
            (TEXTS, *constants(p), Column(BIGINT, (0,), literal=True)),
        )
        for p in _REGEXPS
    ],
    "regexp_split_to_array": [
        ComparedFunction(f"regexp_split_to_array({{0}}, '{p}')", (TEXTS, *constants(p)))
        for p in _REGEXPS
    ],
    "regexp_full_match": [
        ComparedFunction(f"regexp_full_match({{0}}, '{p}')", (TEXTS, *constants(p)))
        for p in (*_REGEXPS, "a|ab", ".*")
    ],
    "regexp_instr": [ComparedFunction("instr({0}, 'b')", (TEXTS, *constants("b")))],
    "similar_to": [
        ComparedFunction(f"regexp_full_match({{0}}, '{theirs}', 's')", (TEXTS, *constants(ours)))
        for ours, theirs in (
            ("a%", "a.*"),
            ("_", "."),
            ("%(b|,)%", ".*(b|,).*"),
            ("[A-Z]bc-12", "[A-Z]bc-12"),
            ("\\%\\_", "%_"),
            ("", ""),
            ("x+", "x+"),
            ("a.c", "a[.]c"),
        )
    ],
    # Arrays
    "array_contains": _one(
        "CASE WHEN {0} IS NULL THEN NULL WHEN {1} IS NULL THEN len(list_filter({0}, lambda x: x IS NULL)) > 0"
        " ELSE list_contains({0}, {1}) END",
        ARRAYS,
        ELEMENTS,
    ),
    "array_contains_all": _one("list_has_all({0}, {1})", FULL_ARRAYS, FULL_ARRAYS),
    "arrays_overlap": _one("list_has_any({0}, {1})", FULL_ARRAYS, FULL_ARRAYS),
    "array_position": _one(
        "coalesce(list_position({0}, {1}), 0)", Column(NUMBERS, ARRAYS.values[1:]), KNOWN
    ),
    "array_distinct": _one(
        "list_sort(list_distinct({0}))", Column(NUMBERS, (None, (), (1,), (1, 2), (1, 1, 2)))
    ),
    "array_concat": _one(
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN {0} || {1} END", ARRAYS, ARRAYS
    ),
    "array_reverse": _one("list_reverse({0})", ARRAYS),
    "array_remove": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_filter({0}, lambda x: x IS DISTINCT FROM {1}) END",
        ARRAYS,
        ELEMENTS,
    ),
    "array_replace": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_transform({0}, lambda x: CASE WHEN x IS NOT DISTINCT FROM {1} THEN {2} ELSE x END) END",
        ARRAYS,
        ELEMENTS,
        Column(BIGINT, (None, 7)),
    ),
    "array_append": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_append({0}, {1}) END", ARRAYS, ELEMENTS
    ),
    "array_prepend": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_prepend({1}, {0}) END", ARRAYS, ELEMENTS
    ),
    "array_compact": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_filter({0}, lambda x: x IS NOT NULL) END", ARRAYS
    ),
    "array_slice": _one(
        "list_slice({0}, {1}, {2})",
        ARRAYS,
        Column(BIGINT, (1, 2, 3, 5)),
        Column(BIGINT, (1, 2, 3, 9)),
    ),
    "array_sort": [
        *_one("list_sort({0}, 'ASC', 'NULLS LAST')", ARRAYS),
        *_one("list_sort({0}, 'DESC', 'NULLS FIRST')", ARRAYS, Column(BOOLEAN, (False,))),
        *_one("list_sort({0}, 'ASC', 'NULLS LAST')", WORDS),
        *_one(
            "CASE WHEN {1} THEN CASE WHEN {2} THEN list_sort({0}, 'ASC', 'NULLS FIRST') ELSE list_sort({0}, 'ASC', 'NULLS LAST') END"
            " ELSE CASE WHEN {2} THEN list_sort({0}, 'DESC', 'NULLS FIRST') ELSE list_sort({0}, 'DESC', 'NULLS LAST') END END",
            ARRAYS,
            Column(BOOLEAN, (False, True)),
            Column(BOOLEAN, (False, True)),
        ),
    ],
    "array_first": _one("{0}[1]", ARRAYS),
    "array_last": _one("{0}[-1]", ARRAYS),
    "array_min": [*_one("list_min({0})", ARRAYS), *_one("list_min({0})", WORDS)],
    "array_max": [*_one("list_max({0})", ARRAYS), *_one("list_max({0})", WORDS)],
    "array_sum": _one("CAST(list_sum({0}) AS BIGINT)", ARRAYS),
    "array_avg": _one("list_avg({0})", ARRAYS, within=1e-12),
    "sequence": [
        *_one(
            "generate_series({0}, {1})",
            Column(BIGINT, (None, 1, 3, -2)),
            Column(BIGINT, (None, 3, 5)),
        ),
        *_one(
            "generate_series({0}, {1}, {2})",
            Column(BIGINT, (5, 1)),
            Column(BIGINT, (1, 5)),
            Column(BIGINT, (2, -2, 1)),
        ),
    ],
    "array_positions": _one(
        "CASE WHEN {0} IS NOT NULL THEN list_filter(list_transform({0}, lambda x, i: CASE WHEN x IS NOT DISTINCT FROM {1}"
        " THEN i END), lambda i: i IS NOT NULL) END",
        ARRAYS,
        KNOWN,
    ),
    "flatten": _one(
        "flatten({0})",
        Column(
            array_of(NUMBERS), (None, (), ((1,), (2, 3)), ((), None, (None, 4)), (None,), ((1,),))
        ),
    ),
    "printf": [
        ComparedFunction(
            f"printf('{pattern}', {{1}}, CAST({{2}} AS BIGINT))",
            (*constants(pattern), _SOME, _WHOLE),
        )
        for pattern in ("%s-%d", "%8s|%5d", "%-8s|%-5d!", "%.2s%05d", "%s%+d", "100%% %s %03d")
    ],
    "is_alpha": _one(r"coalesce(regexp_full_match({0}, '\p{{L}}+'), FALSE)", _TESTED),
    "is_digit": _one(r"coalesce(regexp_full_match({0}, '\p{{Nd}}+'), FALSE)", _TESTED),
    "is_decimal": _one(
        "coalesce({0} NOT LIKE '% %' AND TRY_CAST({0} AS DOUBLE) IS NOT NULL AND {0} <> '', FALSE)",
        _TESTED,
    ),
}
