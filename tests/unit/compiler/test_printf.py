"""PRINTF: numbers as Java's Formatter writes them, which DuckDB's does not."""

from __future__ import annotations

import pytest

from fsql.compiler.functions.table import FUNCTIONS


@pytest.mark.parametrize(
    ("pattern", "texts", "written"),
    [
        ("%f", ["0.5"], "0.500000"),
        ("%.0f|%.1f|%.2f", ["2.5", "0.25", "1.005"], "3|0.3|1.01"),
        ("%.1f|%.1f", ["-0.04", "-0.0"], "-0.0|-0.0"),
        ("%,.2f|%,d", ["1234567.891", "-1234567"], "1,234,567.89|-1,234,567"),
        ("%010.2f|%+.1f|%-8.1f|", ["-3.14159", "2.0", "2.0"], "-000003.14|+2.0|2.0     |"),
        ("%.3f", ["1e22"], "10000000000000000000000.000"),
        ("%.99f", ["1.7976931348623157e308"], "17976931348623157" + "0" * 292 + "." + "0" * 99),
        ("%8.1f|%+f|%05.1f", ["NaN", "Infinity", "NaN"], "     NaN|+Infinity|  NaN"),
        ("%f", ["-Infinity"], "-Infinity"),
        ("%5d|%-5s|%f|%05d", [None, None, None, None], " null|null |null| null"),
        ("%.2s|%5.1s|", ["abc", "xyz"], "ab|    x|"),
        ("100%%", [], "100%"),
        ("", [], ""),
    ],
)  # fmt: skip
def test_values_are_written_as_in_java(pattern: str, texts: list[str | None], written: str) -> None:
    (printf,) = {each.scalar for each in FUNCTIONS["printf"].signatures}
    assert printf(pattern, *texts) == written


@pytest.mark.parametrize(
    "pattern",
    ["%", "%q", "%5", "%-d", "%0d", "%-05d", "%++d", "%.2d", "%,s", "%1000d", "% d", "%1$s"],
)
def test_what_is_no_directive_is_refused(pattern: str) -> None:
    check = FUNCTIONS["printf"].literal_check
    assert check is not None
    assert check(pattern) is not None
