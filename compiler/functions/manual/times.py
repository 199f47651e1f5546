"""Dates and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import UNREADABLE, YEARS, ManualEntry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Dates and times"
INTRODUCTION: Final = """\
A function of times takes a TIMESTAMP as it is, and a TIMESTAMP_LTZ as the local time in the
[zone of the script](../language.md#timestamp_ltz-and-time-zones), which is UTC unless it is set. A DATE stands for its midnight where a TIMESTAMP is expected. A unit is `microsecond`, `millisecond`,
`second`, `minute`, `hour`, `day`, `week` (from Monday), `month`, `quarter` or `year`, in quotes or as a bare word, in the
singular or the plural; `FLOOR(t TO HOUR)` and `CEIL(t TO HOUR)` round to a unit, down and up, and keep DATE and TIME; of a TIME, the midnight that follows is 00:00:00. A month later is the same day of
the month, or the last one where the month is shorter.

`NOW()`, `PROCTIME()` and others are the [time of the row](../language.md#the-time-of-a-row); `CURRENT_WATERMARK(at)` is the [watermark at it](../language.md#current_watermark).

A pattern is a literal, checked before the job runs. Other parts are refused; one that is probably another, such as the month in `HH:MM`, has a warning (W307). Names of days and months are English,
and are read in any case. A text must match the whole pattern; where the pattern lacks a part, it is January, the first
day, or midnight.

`DATE_FORMAT`, `FROM_UNIXTIME`, `FORMAT_TIME` and `PARSE_TIME` take patterns of Java, `TO_CHAR` those of PostgreSQL. What else reads a text,
`TO_TIMESTAMP`, `TO_DATE`, `UNIX_TIMESTAMP` and their variants, takes both:

* A pattern that only one family can read is of that family: `yyyy-MM-dd HH:mm:ss` of Java, `YYYY-MM-DD HH24:MI:SS` and `yyyy-mm-dd hh24:mi:ss` of PostgreSQL.
* A pattern that reads the same parts in both, such as `yyyy-MM-dd` or `yyyyMMdd`, is of Java. `yy` in it is Java's: `dd.MM.yy` reads 2000 to 2099, `DD.MM.YY` 1970 to 2069.
* A pattern that reads other parts in Java than in PostgreSQL is refused (E405): in `yyyy-mm-dd`, `mm` is the minute of Java and the month of PostgreSQL.
* A pattern with single quotes is of Java.

A template of PostgreSQL is in capitals or in lower case, where only names and AM differ in what they write. It reads a number without its leading zeros where no other
number is beside it, as `DD.MM.YYYY` reads `5.7.2026`; `YYYY` has four digits. Letters must be in quotes: `YYYY-MM-DD"T"HH24:MI:SS`.

| part | Java: `DATE_FORMAT`, `TO_TIMESTAMP` | strftime: `STRFTIME`, `STRPTIME` | PostgreSQL: `TO_CHAR`, `TO_TIMESTAMP` |
|---|---|---|---|
| year | `yyyy` or `uuuu`, `yy` (from 2000) | `%Y`, `%y` (not read) | `YYYY`, `YY` (1970 to 2069), `CC` (century, not read) |
| quarter (not read) | `Q` | | `Q` |
| month | `M`, `MM`, `MMM` (Jan), `MMMM` (January), or `L` | `%m`, `%b` (Jan), `%B` (January) | `MM`, `Mon`, `Month`, also `MON` and `mon` |
| day | `d`, `dd` | `%d` | `DD` |
| day of the year | `D`, `DDD` | `%j` | `DDD` |
| day of the week | `E`, `EEE` (Mon), `EEEE` (Monday) | `%a`, `%A`, `%u` (from Monday, 1), `%w` (from Sunday, 0) | `Dy`, `Day`; not read: `ID` (from Monday, 1), `D` (from Sunday, 1) |
| year, week and day of ISO 8601 (not read) | | `%G`, `%V` | `IYYY`, `IW`, `IDDD` |
| week of the year and of the month, from their first days; Julian day (not read) | | | `WW`, `W`, `J` |
| hour | `H`, `HH` | `%H` | `HH24` |
| hour of 12 | `h`, `hh` with `a` (AM) | `%I` with `%p` | `HH12` or `HH` with `AM`, `PM`, `am` or `pm` |
| minute, second | `m`, `mm`, `s`, `ss` | `%M`, `%S` | `MI`, `SS` |
| fraction | `S` to `SSSSSS` | `%f` (6 digits) | `MS`, `US`, `FF1` to `FF6`; `.5` is read as half a second |
| second of the day (not read) | | | `SSSS` or `SSSSS` |
| zone | `X`, `XX` and so on (Z), `x`, `xx`, `xxx` (+00:00), `Z` (+0000) | `%z` (+00), `%Z` (UTC, not read) | |
| others | `'text'`, `''` for a quote | `%F` is `%Y-%m-%d`, `%T` is `%H:%M:%S`, `%%`; `%-d` has no leading zero | `"text"`; `FMDD` has no leading zero, `FMMonth` no padding |
"""

_AT: Final = "TIMESTAMP '2026-05-17 12:30:15.25'"

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "date_format": entry(
        "The timestamp as text, by a Java pattern; a text is read as CAST does.",
        f"DATE_FORMAT({_AT}, 'dd.MM.yyyy HH:mm') = '17.05.2026 12:30'",
        f"DATE_FORMAT({_AT}, 'EEE, d MMM yy') = 'Sun, 17 May 26'",
        "DATE_FORMAT('2026-05-17 12:30:00', 'HH:mm') = '12:30'",
        fails=UNREADABLE,
    ),
    "format_time": entry(
        "The TIME as text, by a Java pattern without parts of a date.",
        "FORMAT_TIME(TIME '12:30:05.25', 'h:mm a, ss.SS') = '12:30 PM, 05.25'",
    ),
    "parse_time": entry(
        "The TIME that a text names, by a Java pattern without parts of a date.",
        "PARSE_TIME('1:05 PM', 'h:mm a') = TIME '13:05:00'",
        fails=UNREADABLE,
    ),
    "strftime": entry(
        "The timestamp as text, by a pattern of strftime.",
        f"STRFTIME({_AT}, '%Y-%m-%d %H:%M') = '2026-05-17 12:30'",
    ),
    "to_char": entry(
        "The timestamp as text, by a pattern of PostgreSQL. Numbers are not formatted.",
        f"TO_CHAR({_AT}, 'YYYY-MM-DD HH24:MI:SS') = '2026-05-17 12:30:15'",
        f"TO_CHAR({_AT}, 'yyyy-mm-dd hh24:mi:ss.ms') = '2026-05-17 12:30:15.250'",
        f"TO_CHAR({_AT}, 'FMDay') = 'Sunday'",
    ),
    "to_timestamp": entry(
        "The timestamp that a text names, by a pattern of Java or of PostgreSQL, or in the form of JSON input.",
        "TO_TIMESTAMP('17.05.2026 12:30', 'dd.MM.yyyy HH:mm') = TIMESTAMP '2026-05-17 12:30:00'",
        "TO_TIMESTAMP('17 May 2026 12:30', 'DD Mon YYYY HH24:MI') = TIMESTAMP '2026-05-17 12:30:00'",
        "TO_TIMESTAMP('5/7/2026 1:05 pm', 'MM/DD/YYYY HH12:MI AM') = TIMESTAMP '2026-05-07 13:05:00'",
        "TO_TIMESTAMP(1779021000.25) = TIMESTAMP_LTZ '2026-05-17 12:30:00.25Z'",
        "TO_TIMESTAMP('2026-05-17T12:30:00+02:00') = TIMESTAMP '2026-05-17 10:30:00'",
        fails=f"{UNREADABLE}; {YEARS}",
    ),
    "TO_TIMESTAMP_LTZ": form(
        "(BIGINT, 0 or 3) TIMESTAMP_LTZ; (STRING) TIMESTAMP_LTZ; (STRING, STRING) TIMESTAMP_LTZ; (STRING, STRING, STRING) TIMESTAMP_LTZ",
        "The instant of a number of seconds (0) or milliseconds (3, the default) since 1970, or the one that a text names: by a pattern of Java or of PostgreSQL, by default `yyyy-MM-dd HH:mm:ss`, in the zone of the script or in a given one. Precision, pattern and zone are constants.",
        "TO_TIMESTAMP_LTZ(1779021000, 0) = TIMESTAMP_LTZ '2026-05-17 12:30:00Z'",
        "TO_TIMESTAMP_LTZ('17.05.2026 12:30', 'dd.MM.yyyy HH:mm', 'Europe/Oslo') = TIMESTAMP_LTZ '2026-05-17 10:30:00Z'",
        fails=f"{UNREADABLE}; {YEARS}",
    ),
    "CONVERT_TZ": form(
        "(STRING, STRING, STRING) STRING; (TIMESTAMP, STRING, STRING) TIMESTAMP",
        "The text of a local time in the first zone, as the local time in the second, `yyyy-MM-dd HH:mm:ss`. The text has that form, or the one that a cast of a TIMESTAMP or TIMESTAMP_LTZ gives, whose offset is left out of account; it is NULL otherwise. That of a TIMESTAMP is a TIMESTAMP, as in ksqlDB. The zones are constants.",
        "CONVERT_TZ('2026-05-17 12:30:00', 'UTC', 'America/New_York') = '2026-05-17 08:30:00'",
        "CONVERT_TZ(CAST(TIMESTAMP '2026-05-17 12:30:00' AS STRING), 'Europe/Rome', 'UTC') = '2026-05-17 10:30:00'",
        "CONVERT_TZ('today', 'UTC', 'America/New_York') IS NULL",
        "CONVERT_TZ(TIMESTAMP '2026-05-17 12:30:00', 'UTC', 'America/New_York') = TIMESTAMP '2026-05-17 08:30:00'",
        fails=YEARS,
    ),
    "try_to_timestamp": entry(
        "As `TO_TIMESTAMP`, NULL where that fails.",
        "TRY_TO_TIMESTAMP('17.5.', 'dd.MM.yyyy') IS NULL",
    ),
    "to_date": entry(
        "The date that a text names, by a pattern of Java or of PostgreSQL, or `yyyy-MM-dd`, which a time of day may follow.",
        "TO_DATE('17/05/2026', 'dd/MM/yyyy') = DATE '2026-05-17'",
        "TO_DATE('17/5/2026', 'DD/MM/YYYY') = DATE '2026-05-17'",
        "TO_DATE('2026-05-17') = DATE '2026-05-17'",
        "TO_DATE('2026-05-17 12:30:00') = DATE '2026-05-17'",
        fails=UNREADABLE,
    ),
    "try_to_date": entry(
        "As `TO_DATE`, NULL where that fails.", "TRY_TO_DATE('2026-02-30') IS NULL"
    ),
    "strptime": entry(
        "The timestamp that a text names, by a pattern of strftime.",
        "STRPTIME('17.5.2026', '%d.%-m.%Y') = TIMESTAMP '2026-05-17 00:00:00'",
        fails=UNREADABLE,
    ),
    "try_strptime": entry(
        "As `STRPTIME`, NULL where that fails.", "TRY_STRPTIME('x', '%Y') IS NULL"
    ),
    "from_unixtime": entry(
        "Seconds since 1970 as text, by a Java pattern, by default `yyyy-MM-dd HH:mm:ss`.",
        "FROM_UNIXTIME(60) = '1970-01-01 00:01:00'",
        "FROM_UNIXTIME(0, 'yyyy') = '1970'",
        fails=YEARS,
    ),
    "unix_timestamp": entry(
        "Seconds since 1970, rounded down: of a timestamp, or of a text by a pattern of Java or of PostgreSQL, or in the form of JSON input. Without arguments it is of `NOW()`, the time of the row.",
        "UNIX_TIMESTAMP(TIMESTAMP '1970-01-01 00:01:00') = 60",
        "UNIX_TIMESTAMP('1970-01-01 00:01:00') = 60",
        "UNIX_TIMESTAMP(CAST(TIMESTAMP '1970-01-01 00:01:00' AS STRING)) = 60",
        "UNIX_TIMESTAMP('1970', 'yyyy') = 0",
        fails=f"{UNREADABLE}; {YEARS}",
    ),
    "timestamp_seconds": entry(
        "The timestamp of seconds since 1970.",
        "TIMESTAMP_SECONDS(60) = TIMESTAMP '1970-01-01 00:01:00'",
        fails=YEARS,
    ),
    "timestamp_millis": entry(
        "The timestamp of milliseconds since 1970.",
        "TIMESTAMP_MILLIS(500) = TIMESTAMP '1970-01-01 00:00:00.5'",
        fails=YEARS,
    ),
    "timestamp_micros": entry(
        "The timestamp of microseconds since 1970.",
        "TIMESTAMP_MICROS(1) = TIMESTAMP '1970-01-01 00:00:00.000001'",
        fails=YEARS,
    ),
    "epoch_millis": entry(
        "Milliseconds since 1970, rounded down.",
        "EPOCH_MILLIS(TIMESTAMP '1970-01-01 00:00:01') = 1000",
    ),
    "epoch_micros": entry(
        "Microseconds since 1970.", "EPOCH_MICROS(TIMESTAMP '1970-01-01 00:00:01') = 1000000"
    ),
    "epoch_nanos": entry(
        "Nanoseconds since 1970.",
        "EPOCH_NANOS(TIMESTAMP '1970-01-01 00:00:01') = 1000000000",
        fails="FSQL-E502 outside of the years 1678 to 2261",
    ),
    "unix_date": entry("Days since 1970.", "UNIX_DATE(DATE '1970-01-02') = 1"),
    "date_from_unix_date": entry(
        "The date of days since 1970.", "DATE_FROM_UNIX_DATE(-1) = DATE '1969-12-31'", fails=YEARS
    ),
    "date": entry(
        "The date of a timestamp, or of a text `yyyy-MM-dd`, which a time of day may follow.",
        f"DATE({_AT}) = DATE '2026-05-17'",
        "DATE('2026-05-17') = DATE '2026-05-17'",
        fails=UNREADABLE,
    ),
    "make_date": entry(
        "The date of a year, a month and a day.",
        "MAKE_DATE(2026, 5, 17) = DATE '2026-05-17'",
        fails=f"FSQL-E503 if there is no such day; {YEARS}",
    ),
    "make_time": entry(
        "The time of day of an hour, a minute and a second, which is rounded to microseconds.",
        "MAKE_TIME(12, 30, 15.25) = TIME '12:30:15.25'",
        fails="FSQL-E503 if there is no such time; FSQL-E502 if it is rounded to midnight",
    ),
    "make_timestamp": entry(
        "The timestamp of a year, month, day, hour, minute and second; the second is rounded to microseconds.",
        f"MAKE_TIMESTAMP(2026, 5, 17, 12, 30, 15.25) = {_AT}",
        fails=f"FSQL-E503 if there is no such time; {YEARS}",
    ),
    "timestamp_add": entry(
        "The timestamp a number of units later; of a DATE and units of days or more a DATE. See also `t + INTERVAL '1' DAY`.",
        "TIMESTAMPADD(MONTH, 1, TIMESTAMP '2024-01-31 10:00:00') = TIMESTAMP '2024-02-29 10:00:00'",
        "DATEADD('hours', -1, TIMESTAMP '2024-01-31 10:00:00') = TIMESTAMP '2024-01-31 09:00:00'",
        "CAST(DATEADD(WEEK, 1, DATE '2024-02-28') AS STRING) = '2024-03-06'",
        fails=YEARS,
    ),
    "timestamp_diff": entry(
        "The number of whole units between two times, rounded towards zero: the greatest n for which the first time plus n units is not after the second.",
        "TIMESTAMPDIFF(MONTH, DATE '2024-01-31', DATE '2024-02-28') = 0",
        "TIMESTAMPDIFF(HOUR, TIMESTAMP '2024-01-01 10:00:00', TIMESTAMP '2024-01-01 08:30:00') = -1",
    ),
    "date_diff": entry(
        "The number of beginnings of a unit between two times.",
        "DATE_DIFF(MONTH, DATE '2024-01-31', DATE '2024-02-01') = 1",
        "DATE_DIFF('year', DATE '2024-12-31', DATE '2024-01-01') = 0",
    ),
    "datediff": entry(
        "Days from the second date to the first: `DATEDIFF(end, start)`. With a unit, use `DATE_DIFF(unit, start, end)`.",
        "DATEDIFF(DATE '2024-03-01', DATE '2024-02-28') = 2",
    ),
    "date_add": entry(
        "A date some days later; a date or timestamp an interval later.",
        "DATE_ADD(DATE '2024-02-28', 2) = DATE '2024-03-01'",
        "DATE_ADD(TIMESTAMP '2024-02-28 00:00:00', INTERVAL '1' HOUR) = TIMESTAMP '2024-02-28 01:00:00'",
        "DATE_ADD(DATE '2024-01-31', INTERVAL '1' MONTH) = DATE '2024-02-29'",
        fails=YEARS,
    ),
    "date_sub": entry(
        "A date some days before; a date or timestamp an interval before.",
        "DATE_SUB(DATE '2024-03-01', 1) = DATE '2024-02-29'",
        "DATE_SUB(TIMESTAMP '2024-03-31 10:00:00', INTERVAL '1' MONTH) = TIMESTAMP '2024-02-29 10:00:00'",
        fails=YEARS,
    ),
    "add_months": entry(
        "A date or timestamp some months later.",
        "ADD_MONTHS(DATE '2024-01-31', 1) = DATE '2024-02-29'",
        fails=YEARS,
    ),
    "last_day": entry(
        "The last day of the month.", "LAST_DAY(DATE '2024-02-03') = DATE '2024-02-29'"
    ),
    "next_day": entry(
        "The first date after a date that is a given day of the week; the day is a literal such as 'Monday', 'Mon' or 'Mo'.",
        "NEXT_DAY(DATE '2024-02-29', 'Thu') = DATE '2024-03-07'",
        fails=YEARS,
    ),
    "dayname": entry("The English name of the day of the week.", f"DAYNAME({_AT}) = 'Sunday'"),
    "monthname": entry("The English name of the month.", f"MONTHNAME({_AT}) = 'May'"),
    "date_bin": entry(
        "The beginning of the bin that a timestamp is in; bins have a width and begin at an origin, by default 1970-01-01.",
        f"DATE_BIN(INTERVAL '15' MINUTE, {_AT}) = TIMESTAMP '2026-05-17 12:30:00'",
        f"DATE_BIN(INTERVAL '1' HOUR, {_AT}, TIMESTAMP '2026-01-01 00:20:00') = TIMESTAMP '2026-05-17 12:20:00'",
        fails=f"FSQL-E502 if the width is not positive; {YEARS}",
    ),
    "date_trunc": entry(
        "The beginning of the unit that a timestamp is in: `FLOOR(t TO unit)`. `DATE_TRUNC(unit, t, zone)` of a TIMESTAMP_LTZ is the beginning in a time zone. `TRUNC(t, 'MONTH')`, `TIMESTAMP_TRUNC(t, MONTH)` and `DATE_TRUNC(t, MONTH)` are `FLOOR(t TO MONTH)`. Weeks begin on Monday; there, as in BigQuery, they are ISOWEEK, and WEEK, from Sunday, is refused. With DECADE, CENTURY and MILLENNIUM, which begin in 2020, 2001 and 2001, years before 10 fail the row, and TIMESTAMP_LTZ is refused.",
        f"DATE_TRUNC('month', {_AT}) = TIMESTAMP '2026-05-01 00:00:00'",
        "DATE_TRUNC('day', TIMESTAMP_LTZ '2026-05-17 23:00:00Z', 'Europe/Oslo') = TIMESTAMP_LTZ '2026-05-17 22:00:00Z'",
        f"FLOOR({_AT} TO HOUR) = TIMESTAMP '2026-05-17 12:00:00'",
        f"CEIL({_AT} TO HOUR) = TIMESTAMP '2026-05-17 13:00:00'",
        "CEIL(TIME '12:34:56' TO MINUTE) = TIME '12:35:00'",
        "CEIL(TIME '23:34:56' TO HOUR) = TIME '00:00:00'",
        "FLOOR(DATE '2026-05-17' TO DECADE) = DATE '2020-01-01'",
        "FLOOR(DATE '2000-05-17' TO CENTURY) = DATE '1901-01-01'",
        "CEIL(DATE '2001-01-01' TO MILLENNIUM) = DATE '2001-01-01'",
        "TRUNC(DATE '2026-05-17', 'MONTH') = DATE '2026-05-01'",
        f"TIMESTAMP_TRUNC({_AT}, MONTH) = TIMESTAMP '2026-05-01 00:00:00'",
    ),
    "date_part": entry(
        "A field of a timestamp, as `EXTRACT(field FROM t)`: a literal 'millennium', 'century', 'decade', 'year', 'isoyear', 'quarter', 'month', 'week', 'day', 'doy', 'isodow', 'hour', 'minute', 'second' or 'epoch'. Of an INTERVAL the whole days, hours of a day, minutes, seconds, or all seconds ('epoch'); of one of months the years and months. They have its sign.",
        f"DATE_PART('doy', {_AT}) = 137",
        f"EXTRACT(HOUR FROM {_AT}) = 12",
        "EXTRACT(EPOCH FROM TIMESTAMP '2026-05-17 12:30:00' - TIMESTAMP '2026-05-16 11:00:00') = 91800",
        "DATE_PART('hour', INTERVAL '1 01:30:00' DAY TO SECOND) = 1",
        "EXTRACT(YEAR FROM INTERVAL '25' MONTH) = 2",
    ),
    "millennium": entry(
        "The millennium; the third begins in 2001.", "MILLENNIUM(DATE '2000-12-31') = 2"
    ),
    "century": entry("The century; the 21st begins in 2001.", "CENTURY(DATE '2000-12-31') = 20"),
    "decade": entry("The year divided by 10.", "DECADE(DATE '2026-01-01') = 202"),
    "year": entry("The year.", f"YEAR({_AT}) = 2026"),
    "isoyear": entry(
        "The year that the week of ISO 8601 belongs to.", "ISOYEAR(DATE '2027-01-01') = 2026"
    ),
    "quarter": entry("The quarter, from 1.", f"QUARTER({_AT}) = 2"),
    "month": entry("The month, from 1.", f"MONTH({_AT}) = 5"),
    "week": entry("The week of ISO 8601.", "WEEK(DATE '2027-01-01') = 53"),
    "dayofmonth": entry("The day of the month, from 1.", f"DAYOFMONTH({_AT}) = 17"),
    "dayofyear": entry("The day of the year, from 1.", f"DAYOFYEAR({_AT}) = 137"),
    "isodow": entry("The day of the week, from **Monday**, 1.", f"ISODOW({_AT}) = 7"),
    "dayofweek": entry("The day of the week, from **Sunday**, 1.", f"DAYOFWEEK({_AT}) = 1"),
    "hour": entry("The hour, from 0.", f"HOUR({_AT}) = 12"),
    "minute": entry("The minute, from 0.", f"MINUTE({_AT}) = 30"),
    "second": entry("The whole second, from 0.", f"SECOND({_AT}) = 15"),
}
