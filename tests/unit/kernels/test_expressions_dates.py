"""Arithmetic of dates."""

from __future__ import annotations

from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    DATE,
    DATE_MAX,
    DATE_MIN,
    INTERVAL,
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
