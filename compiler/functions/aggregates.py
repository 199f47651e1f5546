"""The aggregate functions: their argument types, and the type and nullability of their results.

`fsql.compiler.expression.AggregateCall` defines what they mean; nothing here computes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import OF_TWO, AggregateFunction
from fsql.compiler.sqltypes import (
    BIGINT,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    INT,
    STRUCTURED,
    UBIGINT,
    Kind,
    SqlType,
    array_of,
    decimal_type,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_F = AggregateFunction
_OF_PYTHON: Final = frozenset({_F.PYTHON, _F.PROGRAM})
AGGREGATES: Final[Mapping[str, AggregateFunction]] = {
    **{
        each.value: each
        for each in AggregateFunction
        if each not in {_F.MATCH_RECOGNIZE, _F.PYTHON, _F.PROGRAM}
    },
    "COUNT_IF": _F.COUNT,
    "COUNTIF": _F.COUNT,
    "APPROX_COUNT_DISTINCT": _F.COUNT,
    "APPROX_DISTINCT": _F.COUNT,
    "COUNT_DISTINCT": _F.COUNT,
    "BOOL_AND": _F.MIN,
    "EVERY": _F.MIN,
    "LOGICAL_AND": _F.MIN,
    "BOOL_OR": _F.MAX,
    "LOGICAL_OR": _F.MAX,
    "ANY_VALUE": _F.MIN,
    "STDDEV": _F.STDDEV_SAMP,
    "STDDEV_SAMPLE": _F.STDDEV_SAMP,
    "CORRELATION": _F.CORR,
    "VARIANCE": _F.VAR_SAMP,
    "VAR": _F.VAR_SAMP,
    "ARG_MIN": _F.FIRST_VALUE,
    "MIN_BY": _F.FIRST_VALUE,
    "ARG_MAX": _F.FIRST_VALUE,
    "MAX_BY": _F.FIRST_VALUE,
    "ARG_MIN_LAST": _F.LAST_VALUE,
    "ARG_MAX_LAST": _F.LAST_VALUE,
    "STRING_AGG": _F.ARRAY_AGG,
    "LISTAGG": _F.ARRAY_AGG,
    "COLLECT_LIST": _F.ARRAY_AGG,
    "MAP_AGG": _F.ARRAY_AGG,
    "JSON_AGG": _F.ARRAY_AGG,
    "JSON_ARRAYAGG": _F.ARRAY_AGG,
    "JSON_OBJECTAGG": _F.ARRAY_AGG,
    "JSON_OBJECT_AGG": _F.ARRAY_AGG,
    "LATEST_BY_OFFSET": _F.LAST_VALUE,
    "EARLIEST_BY_OFFSET": _F.FIRST_VALUE,
    **dict.fromkeys(("MEDIAN", "APPROX_MEDIAN"), _F.PERCENTILE_CONT),
    **dict.fromkeys(("PERCENTILE", "QUANTILE_CONT"), _F.PERCENTILE_CONT),
    **dict.fromkeys(("APPROX_PERCENTILE", "APPROX_QUANTILE"), _F.PERCENTILE_CONT),
    "APPROX_PERCENTILE_CONT": _F.PERCENTILE_CONT,
    "QUANTILE_DISC": _F.PERCENTILE_DISC,
}
"""The aggregate functions by their names in SQL; some names are synonyms."""

LAST_OF_TIES: Final = frozenset({"ARG_MIN_LAST", "ARG_MAX_LAST"})
"""The names of LAST_VALUE with ORDER BY that take the last of rows that tie, in the total order."""
NOT_RUNNING: Final = LAST_OF_TIES | {"M4"}
"""The names of aggregates that are not computed over frames."""

_MEASURED: Final = frozenset({Kind.INT, Kind.BIGINT, Kind.DOUBLE})
TAKES: Final[Mapping[AggregateFunction, str]] = {
    **dict.fromkeys(AggregateFunction, "a number"),
    **dict.fromkeys((_F.MIN, _F.MAX, _F.MODE), "any type but ARRAY, ROW and MAP"),
    **dict.fromkeys((_F.BIT_AND, _F.BIT_OR, _F.BIT_XOR), "an integer"),
    **dict.fromkeys((_F.ARRAY_AGG, _F.FIRST_VALUE, _F.LAST_VALUE, _F.PERCENTILE_DISC), "any type"),
    _F.COUNT: "any type, or *",
    _F.M4: "a number",
}
"""What each aggregate takes, for messages."""
SHOWS_VALUES: Final = frozenset(
    {
        *(_F.COUNT, _F.MIN, _F.MAX, _F.MODE, _F.ARRAY_AGG),
        *(_F.FIRST_VALUE, _F.LAST_VALUE, _F.PERCENTILE_DISC),
    }
)
"""The functions whose results are values of the argument, or numbers of them; the others compute."""
_OF_BITS: Final = frozenset({_F.BIT_AND, _F.BIT_OR, _F.BIT_XOR})
_EXACT: Final = frozenset({_F.SUM, _F.AVG, *_OF_BITS})
"""The functions that compute in the type of the argument; the others compute in DOUBLE."""
_COMPUTED_IN: Final[Mapping[Kind, SqlType]] = {
    Kind.TINYINT: INT,
    Kind.SMALLINT: INT,
    Kind.UTINYINT: INT,
    Kind.USMALLINT: INT,
    Kind.UINT: BIGINT,
    Kind.UBIGINT: DOUBLE,
    Kind.FLOAT: DOUBLE,
    Kind.DECIMAL: DOUBLE,
}


def accumulator_type(function: AggregateFunction, argument: SqlType) -> SqlType:
    """Return the type in which values of `argument` are added and so on.

    >>> from fsql.compiler.sqltypes import decimal_type
    >>> str(accumulator_type(AggregateFunction.CORR, decimal_type(10, 2)))
    'DOUBLE'
    >>> str(accumulator_type(AggregateFunction.SUM, decimal_type(10, 2)))
    'DECIMAL(10, 2)'
    """
    if function in SHOWS_VALUES or (argument.kind is Kind.DECIMAL and function in _EXACT):
        return argument
    if argument == UBIGINT and function is _F.SUM:
        return decimal_type(20, 0)
    if argument == UBIGINT and function in _OF_BITS:
        return argument
    return _COMPUTED_IN.get(argument.kind, argument)


def aggregate_result(function: AggregateFunction, argument: SqlType | None) -> SqlType | None:  # noqa: PLR0911 - one line for each kind
    """Return the type of the aggregate over values of `argument` (None: `*`); None if it takes none.

    >>> from fsql.compiler.sqltypes import INT, STRING
    >>> str(aggregate_result(AggregateFunction.SUM, INT))
    'BIGINT'
    >>> aggregate_result(AggregateFunction.AVG, STRING) is None
    True
    """
    match function:
        case AggregateFunction.COUNT:
            return BIGINT
        case AggregateFunction.REGR_COUNT:
            return BIGINT if argument is not None and argument.kind in _MEASURED else None
        case _ if argument is None or argument.kind is Kind.NULL or function in _OF_PYTHON:
            return None
        case AggregateFunction.ARRAY_AGG:
            return array_of(argument)
        case AggregateFunction.FIRST_VALUE | AggregateFunction.LAST_VALUE | _F.PERCENTILE_DISC:
            return argument
        case AggregateFunction.BIT_AND | AggregateFunction.BIT_OR | AggregateFunction.BIT_XOR:
            return argument if argument in {INT, BIGINT, UBIGINT} else None
        case AggregateFunction.MIN | AggregateFunction.MAX | AggregateFunction.MODE:
            return None if argument.kind in STRUCTURED else argument
        case _F.M4:
            return argument if argument.kind in _MEASURED else None
        case _F.SUM | _F.AVG:
            return _sum_or_average(function, argument)
        case _:
            return DOUBLE if argument.kind in _MEASURED else None


def _sum_or_average(function: AggregateFunction, argument: SqlType) -> SqlType | None:
    if not argument.numeric or argument == UBIGINT:
        return None  # a UBIGINT is added as a DECIMAL
    if argument.kind is Kind.DECIMAL:
        scale = argument.scale
        if function is AggregateFunction.AVG:
            # The least of 6 digits after the point for which the whole ones leave room.
            scale = max(scale, min(6, DECIMAL_DIGITS_MAX - argument.precision + scale))
        return decimal_type(DECIMAL_DIGITS_MAX, scale)
    whole = function is AggregateFunction.SUM and argument.kind is not Kind.DOUBLE
    return BIGINT if whole else DOUBLE


_POINTS: Final = ("first", "last", "least", "greatest")


def points_type(value: SqlType, time: SqlType, chart: tuple[int, ...] | None) -> SqlType:
    """Return the type of M4: the row of the four points, or the array of those of a chart.

    >>> str(points_type(DOUBLE, BIGINT, (0, 100, 10, 0)))
    'ARRAY<ROW<at BIGINT, value DOUBLE>>'
    """
    if chart is None:
        parts = (("at", time), ("value", value))
        return row_of((f"{point}_{part}", kind) for point in _POINTS for part, kind in parts)
    pixels = chart[3] > 0
    fields = (("x", INT), ("y", INT)) if pixels else (("at", time), ("value", value))
    return array_of(row_of(fields))


_UNDEFINED: Final = frozenset({_F.VAR_SAMP, _F.STDDEV_SAMP, *OF_TWO})
"""The functions that can be NULL though their first argument never is."""


def aggregate_nullable(
    function: AggregateFunction, *, argument_nullable: bool, grouped: bool
) -> bool:
    """Return whether the aggregate may be NULL.

    Where there is a group there is a row; so with `grouped` only rows whose argument is NULL make the
    result NULL.  Without, the group may be empty.
    """
    match function:
        case AggregateFunction.COUNT | AggregateFunction.REGR_COUNT:
            return False
        case function if function in _UNDEFINED:
            return True
        case AggregateFunction.ARRAY_AGG:
            return not grouped
        case _:
            return argument_nullable or not grouped
