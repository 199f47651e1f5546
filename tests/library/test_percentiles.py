"""Percentiles of fractions that no float has: 0.4 is two fifths."""

from __future__ import annotations

import fsql


def test_fractions_are_those_that_are_written() -> None:
    parts, most = 20, 12
    numbers = [{"n": n, "v": v} for n in range(1, most + 1) for v in range(1, n + 1)]
    for part in range(parts + 1):
        fraction = f"{part / parts:.2f}"
        result = fsql.sql(
            f"SELECT n, PERCENTILE_DISC({fraction}) WITHIN GROUP (ORDER BY v) AS d,"
            f" PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY v) AS c"
            " FROM numbers GROUP BY n",
            tables={"numbers": numbers},
        )
        found = [(row["n"], row["d"], row["c"]) for row in result.table().to_pylist()]
        assert found == [
            (n, max(1, -(-part * n // parts)), (part * (n - 1) + parts) / parts)
            for n in range(1, most + 1)
        ], fraction
