"""Functions in DuckDB's SQL: what each is there, over which values; with `{0}` for the first argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import (
    BIGINT,
    DATE,
    DATE_MAX,
    DATE_MIN,
    DOUBLE,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
NOON: Final = 1_709_208_000 * SECOND
"""2024-02-29T12:00:00Z."""


@dataclass(frozen=True)
class Column:
    """Values that an argument takes, or a constant if there is one only and `literal`."""

    type: SqlType
    values: tuple[Value, ...]
    literal: bool = False


@dataclass(frozen=True)
class ComparedFunction:
    """A function of columns, in DuckDB's SQL; results that are numbers may differ by `within`, relatively."""

    sql: str
    columns: tuple[Column, ...]
    within: float = 0.0


def constants(*texts: str) -> tuple[Column, ...]:
    """Return a column of one constant for each text."""
    return tuple(Column(STRING, (text,), literal=True) for text in texts)


TIMES: Final = Column(
    TIMESTAMP,
    (
        *(None, 0, -1, NOON, NOON + 123_456, NOON - 13 * 3600 * SECOND, NOON + 307 * DAY),
        *(TIMESTAMP_MIN, TIMESTAMP_MAX, -DAY, 951_782_400 * SECOND, NOON + DAY // 2 - 1),
        *(1_704_067_199 * SECOND, 1_735_689_600 * SECOND, -2_208_988_800 * SECOND),
    ),
)
DATES: Final = Column(
    DATE, (None, 0, -1, 19_782, 19_753, 19_723, 20_088, DATE_MIN, DATE_MAX, 11_016)
)
COUNTS: Final = Column(BIGINT, (None, 0, 1, -1, 13, -25, 1_000))
INTERVALS: Final = Column(INTERVAL, (None, 0, 1, -SECOND, 3600 * SECOND, 45 * DAY + 7))
UNITS: Final = (
    *("microsecond", "millisecond", "second", "minute", "hour", "day", "week"),
    *("month", "quarter", "year"),
)
WIDE_TIMES: Final = Column(TIMESTAMP, tuple(v for v in TIMES.values if v != TIMESTAMP_MIN))
MOMENTS: Final = Column(BIGINT, (None, 0, -1, 1, 86_400, 1_709_208_000, -(10**9), 253_402_300_799))

_FORMATS: Final = {
    "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S",
    "d.M.yyyy H:m:s": "%-d.%-m.%Y %-H:%-M:%-S",
    "EEE, dd MMM yyyy hh:mm a": "%a, %d %b %Y %I:%M %p",
    "EEEE, MMMM d 'at' h": "%A, %B %-d at %-I",
    "DDD yy SSSSSS SSS": "%j %y %f %g",
}
_TEMPLATES: Final = {
    "YYYY-MM-DD HH24:MI:SS.US": "%Y-%m-%d %H:%M:%S.%f",
    "FMDay DD FMMonth YY HH12 am": "%A %d %B %y %I {lower}",
    "IYYY IW ID DDD": "%G %V %u %j",
    "yyyy-mm-dd hh24:mi:ss.us": "%Y-%m-%d %H:%M:%S.%f",
    "fmday dd fmmonth yy": "{lower day} %d {lower month} %y",
}
_LOWER: Final = {"{lower}": "%p", "{lower day}": "%A", "{lower month}": "%B"}
"""What DuckDB writes in capitals only."""
_READ_TEMPLATES: Final = {
    "DD.MM.YYYY HH24:MI": "%d.%m.%Y %H:%M",
    "dd.mm.yyyy hh12:mi am": "%d.%m.%Y %I:%M %p",
    "DD Month YYYY": "%d %B %Y",
    "DD Mon YYYY": "%d %b %Y",
}
_DATES_AS_TEXT: Final = Column(
    STRING,
    (
        *(None, "", "29.2.2024 7:05", "29.02.2024 23:59", "30.02.2024 00:00", "1.1.0001 0:00"),
        *("29.2.2024 24:00", "29.2.2024 7:05 PM", "29.2.2024 12:05 am", "29.2.2024 13:00 AM"),
        *("1 September 2024", "01 sep 2024", "31 SEP 2024", "1 Sept 2024", "31 december 9999"),
    ),
)
_TIMES_AS_TEXT: Final = Column(
    STRING,
    (
        *(None, "", "2024-02-29", "2024-02-30", "2023-02-29", "0001-01-01", "9999-12-31"),
        *("2024/02/29", "2024-02-29x", "é", "２０２４-02-29"),
    ),
)


def _formats(name: str) -> list[ComparedFunction]:
    families = {"date_format": _FORMATS, "strftime": {v: v for v in _FORMATS.values()}}
    return [
        ComparedFunction(f"strftime({{0}}, '{theirs}')", (TIMES, *constants(ours)))
        for ours, theirs in families[name].items()
        if "%g" not in ours
    ]


def _lower_names(directives: str) -> str:
    """Return a call of strftime in which the names of `_LOWER` are in lower case."""
    sql = f"strftime({{0}}, '{directives}')"
    for name, directive in _LOWER.items():
        word = f"<{name[1:-1]}>"
        sql = f"replace({sql.replace(name, word)}, '{word}', lower(strftime({{0}}, '{directive}')))"
    return sql


_REWRITTEN: Final = ComparedFunction(
    "strftime(TRY_CAST({0} AS TIMESTAMP), '%d.%m.%Y %H:%M:%S.%f')",
    (
        Column(STRING, (None, "", "x", "2024-02-30 10:00:00", "2024-02-29 23:59:59.5")),
        *constants("dd.MM.yyyy HH:mm:ss.SSSSSS"),
    ),
)


def _of_units(sql: str, *columns: Column, units: tuple[str, ...] = UNITS) -> list[ComparedFunction]:
    """Return a case for each unit, which is the first argument and stands for `{unit}`."""
    return [
        ComparedFunction(sql.replace("{unit}", unit), (*constants(unit), *columns))
        for unit in units
    ]


_SHIFT: Final = "TRY(CASE WHEN {r} BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN {r} END)"
_SHIFTED: Final = _SHIFT.replace("{r}", "({2} + {1} * INTERVAL 1 {unit})")

DAY_TIMES: Final = Column(TIME, (None, 0, 1, NOON % DAY, DAY // 2, DAY - 1))

JUDGED: Final[Mapping[str, list[ComparedFunction]]] = {
    "date_format": [*_formats("date_format"), _REWRITTEN],
    "strftime": _formats("strftime"),
    "format_time": [
        ComparedFunction(
            f"strftime(DATE '2000-01-01' + {{0}}, '{theirs}')", (DAY_TIMES, *constants(ours))
        )
        for ours, theirs in (("HH:mm:ss.SSSSSS", "%H:%M:%S.%f"), ("hh a mm", "%I %p %M"))
    ],
    "parse_time": [
        ComparedFunction(
            f"CAST(try_strptime({{0}}, '{theirs}') AS TIME)",
            (
                Column(
                    STRING, (None, "", "é", "00:00", "23:59", "24:00", "07:30x", "12:60", "０7:30")
                ),
                *constants(ours),
            ),
        )
        for ours, theirs in (("HH:mm", "%H:%M"),)
    ],
    "regexp_replace": [
        ComparedFunction(
            f"regexp_replace({{0}}, 'a|é', '<x>', '{flags}')",
            (
                Column(STRING, (None, "", "a", "bAa aÉé", "日本a", "Ab")),
                *constants("a|é", "<x>", flags),
            ),
        )
        for flags in ("g", "i", "gi", "c")
    ],
    "to_char": [
        ComparedFunction(_lower_names(theirs), (TIMES, *constants(ours)))
        for ours, theirs in _TEMPLATES.items()
    ],
    "try_to_timestamp": [
        ComparedFunction(
            "try_strptime({0}, '%Y-%m-%d')", (_TIMES_AS_TEXT, *constants("yyyy-MM-dd"))
        ),
        *(
            ComparedFunction(f"try_strptime({{0}}, '{theirs}')", (_DATES_AS_TEXT, *constants(ours)))
            for ours, theirs in _READ_TEMPLATES.items()
        ),
    ],
    "to_date": [
        ComparedFunction(
            "CAST(try_strptime({0}, '%Y-%m-%d') AS DATE)",
            (_TIMES_AS_TEXT, *constants("yyyy-MM-dd")),
        )
    ],
    "try_to_date": [
        ComparedFunction(
            "CAST(try_strptime({0}, '%Y-%m-%d') AS DATE)",
            (_TIMES_AS_TEXT, *constants("yyyy-MM-dd")),
        )
    ],
    "strptime": [
        ComparedFunction("try_strptime({0}, '%Y-%m-%d')", (_TIMES_AS_TEXT, *constants("%Y-%m-%d")))
    ],
    "try_strptime": [
        ComparedFunction("try_strptime({0}, '%Y-%m-%d')", (_TIMES_AS_TEXT, *constants("%Y-%m-%d")))
    ],
    "from_unixtime": [
        ComparedFunction("strftime(make_timestamp({0} * 1000000), '%Y-%m-%d %H:%M:%S')", (MOMENTS,))
    ],
    "timestamp_seconds": [ComparedFunction("make_timestamp({0} * 1000000)", (MOMENTS,))],
    "timestamp_micros": [ComparedFunction("make_timestamp({0})", (MOMENTS,))],
    "epoch_micros": [ComparedFunction("epoch_us({0})", (TIMES,))],
    "epoch_nanos": [ComparedFunction("TRY(epoch_ns({0}))", (TIMES,))],
    "unix_date": [ComparedFunction("{0} - DATE '1970-01-01'", (DATES,))],
    "date_from_unix_date": [
        ComparedFunction(
            "DATE '1970-01-01' + CAST({0} AS INTEGER)", (Column(BIGINT, DATES.values),)
        )
    ],
    "date": [ComparedFunction("CAST({0} AS DATE)", (TIMES,))],
    "make_date": [
        ComparedFunction(
            "TRY(make_date({0}, {1}, {2}))",
            (
                Column(BIGINT, (None, 1, 9999, 2023, 2024)),
                Column(BIGINT, (None, 0, 1, 2, 12, 13)),
                Column(BIGINT, (None, -1, 0, 1, 28, 29, 31, 32)),
            ),
        )
    ],
    "make_time": [
        ComparedFunction(
            "TRY(make_time({0}, {1}, {2}))",
            (
                Column(BIGINT, (None, -1, 0, 12, 23, 25)),
                Column(BIGINT, (None, -1, 0, 59, 60)),
                Column(DOUBLE, (None, 0.0, 1.5, 59.999999, -1.0, 30.1234564)),
            ),
        )
    ],
    "make_timestamp": [
        ComparedFunction(
            "TRY(make_timestamp({0}, {1}, {2}, {3}, {4}, {5}))",
            (
                Column(BIGINT, (None, 1, 9999, 2023)),
                Column(BIGINT, (0, 2, 12)),
                Column(BIGINT, (1, 29, 31)),
                Column(BIGINT, (-1, 0, 23, 25)),
                Column(BIGINT, (0, 59, 60)),
                Column(DOUBLE, (None, 0.0, 1.5, 59.999999, -1.0, 30.1234564)),
            ),
        )
    ],
    "timestamp_add": _of_units(_SHIFTED, COUNTS, TIMES),
    "timestamp_diff": _of_units("datesub('{unit}', {1}, {2})", WIDE_TIMES, WIDE_TIMES),
    "date_diff": [
        *_of_units(
            "datediff('{unit}', {1}, {2})", WIDE_TIMES, WIDE_TIMES, units=(*UNITS[:6], *UNITS[7:])
        ),
        *_of_units(
            "datediff('day', date_trunc('week', {1}), date_trunc('week', {2})) // 7",
            *(WIDE_TIMES, WIDE_TIMES),
            units=("week",),
        ),
    ],
    "datediff": [ComparedFunction("datediff('day', {1}, {0})", (DATES, DATES))],
    "date_add": [
        ComparedFunction(
            "CASE WHEN {0} + CAST({1} AS INTEGER) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            " THEN {0} + CAST({1} AS INTEGER) END",
            (DATES, COUNTS),
        ),
        ComparedFunction(_SHIFT.replace("{r}", "({0} + {1})"), (TIMES, INTERVALS)),
    ],
    "date_sub": [
        ComparedFunction(
            "CASE WHEN {0} - CAST({1} AS INTEGER) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            " THEN {0} - CAST({1} AS INTEGER) END",
            (DATES, COUNTS),
        ),
        ComparedFunction(_SHIFT.replace("{r}", "({0} - {1})"), (TIMES, INTERVALS)),
    ],
    "add_months": [
        ComparedFunction(_SHIFT.replace("{r}", "({0} + {1} * INTERVAL 1 MONTH)"), (TIMES, COUNTS)),
        ComparedFunction(
            f"CAST({_SHIFT} AS DATE)".replace("{r}", "({0} + {1} * INTERVAL 1 MONTH)"),
            (DATES, COUNTS),
        ),
    ],
    "last_day": [
        ComparedFunction("last_day({0})", (TIMES,)),
        ComparedFunction("last_day({0})", (DATES,)),
    ],
    "next_day": [
        ComparedFunction(
            f"CASE WHEN {{0}} < DATE '9999-12-24' THEN {{0}} + CAST(({day} - dayofweek({{0}}) + 6) % 7 + 1 AS INTEGER) END",
            (DATES, *constants(name)),
        )
        for name, day in (("Mon", 1), ("tuesday", 2), ("SU", 7))
    ],
    "dayname": [ComparedFunction("dayname({0})", (TIMES,))],
    "monthname": [ComparedFunction("monthname({0})", (TIMES,))],
    "date_bin": [
        ComparedFunction(
            "time_bucket({0}, {1}, TIMESTAMP '1970-01-01')",
            (
                Column(INTERVAL, (1, 7 * SECOND, 900 * SECOND, DAY, 10 * DAY)),
                Column(TIMESTAMP, TIMES.values[:7]),
            ),
        )
    ],
    "date_ceil": [
        ComparedFunction(
            f"TRY(CASE WHEN date_trunc('{unit}', {{1}}) = {{1}} THEN {{1}} ELSE date_trunc('{unit}', {{1}}) + INTERVAL 1 {unit} END)",
            (
                *constants(unit),
                Column(TIMESTAMP, tuple(v for v in TIMES.values if v != TIMESTAMP_MAX)),
            ),
        )
        for unit in UNITS[1:]
    ],
    "date_part": [
        ComparedFunction(
            f"CAST(floor(date_part('{field}', {{1}})) AS BIGINT)", (*constants(field), TIMES)
        )
        for field in (
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "doy",
            "isodow",
            "hour",
            "minute",
            "isoyear",
            "decade",
            "century",
            "millennium",
        )
    ]
    + [
        ComparedFunction(
            f"CAST({part.format('epoch_us({1})')} AS BIGINT)", (*constants(field), INTERVALS)
        )
        for field, part in (
            ("day", "{} // 86400000000"),
            ("hour", "{} // 3600000000 % 24"),
            ("minute", "{} // 60000000 % 60"),
            ("second", "{} // 1000000 % 60"),
            ("epoch", "{} // 1000000"),
        )
    ],
    **{
        name: [ComparedFunction(f"{name}({{0}})", (TIMES,))]
        for name in ("isoyear", "decade", "century", "millennium")
    },
}
