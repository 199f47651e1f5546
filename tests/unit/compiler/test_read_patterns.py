"""Patterns that read a text: which family a pattern is of, and what those of PostgreSQL read.

Catches a pattern that is read as one of the other family, and one that is guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fsql.compiler.functions.failure import UnreadableTextFailure
from fsql.compiler.functions.read_patterns import READ
from fsql.compiler.functions.time_patterns import pattern_of

SURE = "write it as yyyy-MM-dd HH:mm:ss or as YYYY-MM-DD HH24:MI:SS"
HOUR = "hour of 12 and the half of the day"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(text: str, pattern: str) -> str:
    """Return the time that a text names, or `unreadable`."""
    assert READ.reading_error(pattern) is None
    try:
        at_us = pattern_of(READ, pattern).read(text)
    except UnreadableTextFailure:
        return "unreadable"
    return f"{EPOCH + timedelta(microseconds=at_us):%Y-%m-%d %H:%M:%S.%f}"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("YYYY-MM-DD HH24:MI:SS", "2026-05-17 12:30:15", "2026-05-17 12:30:15.000000"),
        ("yyyy-mm-dd hh24:mi:ss.us", "2026-05-17 12:30:15.25", "2026-05-17 12:30:15.250000"),
        ("DD Mon YYYY", "7 sep 2026", "2026-09-07 00:00:00.000000"),
        ("FMMonth DD, YYYY", "September 7, 2026", "2026-09-07 00:00:00.000000"),
        ("Month DD YYYY", "May 17 2026", "2026-05-17 00:00:00.000000"),
        ("Day, DD.MM.YYYY", "Sunday, 17.5.2026", "2026-05-17 00:00:00.000000"),
        ("Dy DD.MM.YYYY", "Mon 17.5.2026", "unreadable"),
        ("MM/DD/YYYY HH12:MI AM", "5/7/2026 12:05 am", "2026-05-07 00:05:00.000000"),
        ("MM/DD/YYYY HH:MI pm", "5/7/2026 12:05 PM", "2026-05-07 12:05:00.000000"),
        ("YYYYMMDDHH24MISS", "20260517123015", "2026-05-17 12:30:15.000000"),
        ("YYYYMMDD", "2026517", "unreadable"),
        ("YYYY-MM-DD", "26-05-17", "unreadable"),
        ("YYYY-MM-DD", "2026-02-30", "unreadable"),
        ("YYYY-MM-DD", "2026-05-17 ", "unreadable"),
        ("DD.MM.YY", "1.2.69", "2069-02-01 00:00:00.000000"),
        ("DD.MM.YY", "1.2.70", "1970-02-01 00:00:00.000000"),
        ("dd.MM.yy", "01.02.70", "2070-02-01 00:00:00.000000"),
        ("YYYY DDD", "2024 366", "2024-12-31 00:00:00.000000"),
        ("YYYY DDD", "2024 60", "2024-02-29 00:00:00.000000"),
        ("SS.MS YYYY", "7.5 2026", "2026-01-01 00:00:07.500000"),
        ("SS.FF2 YYYY", "7.50 2026", "2026-01-01 00:00:07.500000"),
        ('YYYY-MM-DD"T"HH24:MI', "2026-05-17T12:30", "2026-05-17 12:30:00.000000"),
        # A digit in a quoted text is beside a number as another number is.
        ('DD"1"MM YYYY', "1711 2026", "unreadable"),
        ('DD"1"MM YYYY', "17105 2026", "2026-05-17 00:00:00.000000"),
        # Both families read these, and read the same; digits are Java's.
        ("yyyy-MM-dd", "2026-5-17", "unreadable"),
        ("yyyyMMdd", "20260517", "2026-05-17 00:00:00.000000"),
        # Only Java reads these.
        ("yyyy-MM-dd HH:mm:ss", "2026-05-17 12:30:15", "2026-05-17 12:30:15.000000"),
        ("yyyyMMddHHmmssSSS", "20260517123015250", "2026-05-17 12:30:15.250000"),
        ("yyyy'-'MM", "2026-05", "2026-05-01 00:00:00.000000"),
        ("MM/dd/yyyy hh:mm a", "05/17/2026 01:30 PM", "2026-05-17 13:30:00.000000"),
        ("yyyy-MM-dd HH", "2026-05-17 13", "2026-05-17 13:00:00.000000"),
    ],
)
def test_a_pattern_reads_as_in_its_family(pattern: str, text: str, expected: str) -> None:
    assert read(text, pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        (
            "yyyy-mm-dd",
            f"pattern yyyy-mm-dd reads the minute as one of Java, the month as one of PostgreSQL; {SURE}",
        ),
        (
            "yyyy SS",
            f"pattern yyyy SS reads the fraction as one of Java, the second as one of PostgreSQL; {SURE}",
        ),
        (
            'yyyy"-"MM',
            'pattern yyyy"-"MM reads other signs as one of Java than as one of PostgreSQL',
        ),
        (
            "yyyy-mm-dd hh:mm:ss",
            "pattern of Java reads the minute twice: mm is the minute, MM the month",
        ),
        (
            "YYYY-MM-DD HH24:MM",
            "pattern of PostgreSQL reads the month twice: MM is the month, MI the minute",
        ),
        (
            "YYYY-MM-DD HH:MI",
            f"pattern of PostgreSQL needs both an {HOUR}: write HH24, or HH12 and AM",
        ),
        (
            "YYYY-MM-DDTHH24:MI",
            "pattern of PostgreSQL has THH, which is not supported; write text in quotes",
        ),
        ("YYYY-MM-DD SSSS", "pattern of PostgreSQL cannot read the second of the day"),
        (
            "YYYY Mon MM",
            "pattern of PostgreSQL reads the month twice: MM is the month, MI the minute",
        ),
        ("HH24:MI", "pattern of PostgreSQL reads no year"),
        ("HH:mm", "pattern of Java reads no year"),
        ("yyyy-MM-dd B", "pattern of Java has the letters B, which are not supported"),
        ("yyyy 'x", "pattern of Java has a quote that does not end"),
        ("", "pattern of Java reads no year"),
    ],
)
def test_a_pattern_that_is_not_sure_is_refused(pattern: str, error: str) -> None:
    assert READ.reading_error(pattern) == error
