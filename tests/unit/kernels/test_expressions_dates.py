"""Arithmetic of dates and times of day."""

from __future__ import annotations

from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    DATE,
    DATE_MAX,
    DATE_MIN,
    INTERVAL,
    MONTHS,
    TIME,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
)
from fsql.tests.unit.kernels.tables import call, check_table, fails

DAY = 86_400_000_000
E504 = fails(504)


def test_a_date_and_an_interval_are_the_date_of_the_moment() -> None:
    check_table(
        call("add", DATE),
        [DATE, INTERVAL],
        [
            *(((0, DAY), 1), ((0, DAY - 1), 0), ((0, -1), -1), ((DATE_MAX, DAY - 1), DATE_MAX)),
            *(((DATE_MAX, DAY), E504), ((DATE_MIN, -1), E504), ((0, BIGINT_MAX), E504)),
            ((0, BIGINT_MIN), E504),
        ],
    )
    check_table(
        call("subtract", DATE),
        [DATE, INTERVAL],
        [
            *(((0, DAY), -1), ((0, 1), -1), ((0, -1), 0), ((0, -DAY), 1)),
            *(((DATE_MIN, 1), E504), ((0, BIGINT_MIN), E504), ((0, BIGINT_MAX), E504)),
        ],
    )


def test_the_difference_of_dates_is_a_number_of_days() -> None:
    check_table(
        call("subtract", BIGINT),
        [DATE, DATE],
        [((0, 1), -1), ((DATE_MAX, DATE_MIN), DATE_MAX - DATE_MIN)],
    )


def test_a_time_goes_round_the_clock() -> None:
    check_table(
        call("add", TIME),
        [TIME, INTERVAL],
        [
            *(((0, -1), DAY - 1), ((DAY - 1, 1), 0), ((5, 3 * DAY), 5)),
            *(((1, BIGINT_MAX), (1 + BIGINT_MAX) % DAY), ((1, BIGINT_MIN), (1 + BIGINT_MIN) % DAY)),
        ],
    )
    check_table(
        call("subtract", TIME),
        [TIME, INTERVAL],
        [((0, 1), DAY - 1), ((1, BIGINT_MIN), (1 - BIGINT_MIN) % DAY)],
    )
    check_table(call("subtract", INTERVAL), [TIME, TIME], [((0, DAY - 1), 1 - DAY)])


def test_a_month_later_is_the_same_day_or_the_last() -> None:
    january_31, february_28, leap_day = 30, 58, 789
    check_table(
        call("add", DATE),
        [DATE, MONTHS],
        [
            *(((january_31, 1), february_28), ((january_31, 2), 89), ((leap_day, 12), 1154)),
            *(((leap_day, -12), 423), ((leap_day, 48), leap_day + 1461), ((DATE_MAX, 1), E504)),
            *(((DATE_MAX, -12 * 9998 - 11), DATE_MIN + 30), ((DATE_MIN, -1), E504)),
            *(((0, BIGINT_MAX), E504), ((0, BIGINT_MIN), E504), ((DATE_MIN, 0), DATE_MIN)),
        ],
    )
    check_table(
        call("subtract", TIMESTAMP),
        [TIMESTAMP, MONTHS],
        [
            *(((89 * DAY + 5, 1), february_28 * DAY + 5), ((-1, 1), -31 * DAY - 1)),
            *(((TIMESTAMP_MIN, 1), E504), ((TIMESTAMP_MAX, -1), E504), ((0, BIGINT_MIN), E504)),
        ],
    )
