"""What a measurement came to, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.console.numbers import count_text, seconds_text

if TYPE_CHECKING:
    from fsql.benchmarks.measure import Measured


def measured_text(measured: Measured) -> str:
    """Return the numbers as aligned lines."""
    workers = f"{measured.workers} worker{'s' if measured.workers > 1 else ''}"
    lines = [f"{measured.benchmark}: {workers}, {seconds_text(measured.seconds)}"]
    rows = [
        ("words in", count_text(measured.words_in), f"{count_text(measured.words_per_second)}/s"),
        ("rows in", count_text(measured.rows_in), ""),
        (
            "rows out",
            count_text(measured.rows_out),
            f"{count_text(measured.rows_out_per_second)}/s",
        ),
    ]
    for quantile, milliseconds in (measured.latency_ms or {}).items():
        rows.append((f"latency {quantile}", f"{milliseconds:.1f} ms", ""))
    width = max(len(value) for _, value, _ in rows)
    lines += [f"  {name:<12}  {value:>{width}}  {note}".rstrip() for name, value, note in rows]
    return "\n".join(lines) + "\n"


def measured_json(measured: Measured) -> str:
    """Return the numbers as one object."""
    return json.dumps(measured.fields()) + "\n"
