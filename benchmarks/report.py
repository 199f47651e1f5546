"""The results of a measurement, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fsql.compiler.diagnostics.numbers import count_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.benchmarks.measure import Measured
    from fsql.console.reporter import Reporter


def measured_text(measured: Measured) -> str:
    """Return the numbers as aligned lines."""
    workers = f"{measured.workers} worker{'s' if measured.workers > 1 else ''}"
    rows = [
        ("words in", count_text(measured.words_in), f"{count_text(measured.words_per_second)}/s"),
        ("rows in", count_text(measured.rows_in), ""),
        ("rows out", count_text(measured.rows_out), ""),
        ("peak memory", f"{measured.peak_bytes >> 20:,} MiB", ""),
    ]
    if measured.ratio is not None:
        rows.append(("ratio", f"{measured.ratio:.2f}", "of a plain batch in the same run"))
    rows += [(f"latency {q}", f"{ms:.2f} ms", "") for q, ms in measured.latency_ms.items()]
    rows += [(name, f"{spent:.2f} s", "") for name, spent in measured.operator_seconds.items()]
    names = max(len(name) for name, _, _ in rows)
    width = max(len(value) for _, value, _ in rows)
    lines = [f"{measured.benchmark}: {workers}, {seconds_text(measured.seconds)}"]
    lines += [f"  {name:<{names}}  {value:>{width}}  {note}".rstrip() for name, value, note in rows]
    return "\n".join(lines) + "\n"


def measured_json(measured: Measured) -> str:
    """Return the numbers as one object."""
    return json.dumps(measured.fields()) + "\n"


def fields_text(fields: Mapping[str, object]) -> str:
    """Return the fields of a measurement as aligned lines, without those that do not apply."""
    shown = {name: value for name, value in _flat(fields).items() if value is not None}
    title = shown.pop("benchmark")
    names = max(map(len, shown))
    lines = [f"{title}:", *(f"  {name:<{names}}  {value}" for name, value in shown.items())]
    return "\n".join(lines) + "\n"


def fields_json(fields: Mapping[str, object]) -> str:
    """Return the fields as one object."""
    return json.dumps(fields) + "\n"


def _flat(fields: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat |= {f"{name} {part}": each for part, each in value.items()}
        else:
            flat[name] = f"{value:,}" if isinstance(value, int) and value > 9999 else value
    return flat


def print_measurements(reporter: Reporter, measured: Iterable[Mapping[str, Any]]) -> None:
    """Print each measurement as soon as it is there."""
    for fields in measured:
        click.echo(fields_json(fields) if reporter.json else fields_text(fields), nl=False)
