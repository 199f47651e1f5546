"""The summary of a run, as text and as a JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import bytes_text, count_text, rate_text, seconds_text
from fsql.job.written import LATE_PATH, REJECTS_PATH, late_cause, unkept_rows, written_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.reporter import Reporter
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.job.written import LateCause, UnkeptRows, WrittenOutput
    from fsql.runtime.dataflow.metrics import Metrics

FINISHED: Final = "finished"
STOPPED: Final = "stopped"
INTERRUPTED: Final = "interrupted"
_KINDS: Final = {LATE_PATH: "late ", REJECTS_PATH: "rejected "}


def print_summary(
    status: str, metrics: Metrics, reporter: Reporter, compiled: Compiled, splits: Splits | None
) -> None:
    """Print the summary of a run as text or, with `--json`, as an event."""
    cause = None if splits is None else late_cause(compiled, splits, metrics)
    outputs = written_outputs(compiled, metrics)
    unkept = unkept_rows(compiled, metrics)
    text = summary_text(status, metrics) + late_cause_text(cause)
    text += outputs_text(outputs) + unkept_text(unkept)
    fields = {
        **summary_fields(status, metrics),
        "outputs": [asdict(each) for each in outputs],
        "unkept": [asdict(each) for each in unkept],
        "late_cause": None if cause is None else cause._asdict(),
    }
    reporter.inform("summary", fields, text)


def outputs_text(outputs: Sequence[WrittenOutput]) -> str:
    """Return a line for each output."""
    rows = [_rows_text(each.option, each.rows) for each in outputs]
    sizes = ["" if each.bytes is None else bytes_text(each.bytes) for each in outputs]
    widths = [max(map(len, texts), default=0) for texts in (rows, sizes)]
    lines = [
        f"  written       {row:<{widths[0]}}  {size:>{widths[1]}}  {_target_text(each)}\n"
        for each, row, size in zip(outputs, rows, sizes, strict=True)
    ]
    return "".join(lines)


def _rows_text(option: str, rows: int) -> str:
    kind = _KINDS.get(option, "")
    return f"{count_text(rows)} {kind}row{'' if rows == 1 else 's'}"


def _target_text(output: WrittenOutput) -> str:
    if output.path is not None or output.table == "stdout":
        return output.target
    return f"{output.table} ({output.target})"


def unkept_text(unkept: Sequence[UnkeptRows]) -> str:
    """Return the rows that were dropped, with the option that would keep them."""
    return "".join(
        f"  {_rows_text(each.option, each.rows)} {'was' if each.rows == 1 else 'were'} dropped:"
        f" table \"{each.table}\" has no '{each.option}'\n"
        for each in unkept
    )


def late_cause_text(cause: LateCause | None) -> str:
    """Return which row made others late, if any."""
    if cause is None:
        return ""
    return (
        f'  the watermark was moved most by row {count_text(cause.row + 1)} of "{cause.split}" in table'
        f' "{cause.table}", dated {cause.time}: a later row is of {cause.later_time}\n'
    )


def summary_text(status: str, metrics: Metrics) -> str:
    """Return the summary as aligned lines; the first has the status."""
    seconds = metrics.seconds
    rows = [
        ("rows in", count_text(metrics.rows_in), rate_text(metrics.rows_in, seconds)),
        ("rows out", count_text(metrics.rows_out), rate_text(metrics.rows_out, seconds)),
        ("bytes in", bytes_text(metrics.bytes_in), _bytes_rate(metrics.bytes_in, seconds)),
        ("late", count_text(metrics.rows_late), "too late for their windows or joins"),
        ("rejected", count_text(metrics.rows_rejected), "malformed rows"),
        (
            "unknown",
            count_text(metrics.unknown_fields),
            "fields that their table does not declare",
        ),
        *_nulled_row(metrics),
        ("state", count_text(metrics.rows_state), _state_text(metrics)),
        ("held", count_text(metrics.rows_held), "rows that waited for earlier rows"),
        ("repairs", count_text(metrics.rows_redone), "rows recomputed after late arrival"),
        ("messages", count_text(metrics.messages), ""),
        ("acknowledged", count_text(metrics.acknowledgements), ""),
        ("releases", count_text(metrics.releases), ""),
    ]
    if metrics.snapshots:
        rows.append(("snapshots", count_text(metrics.snapshots), ""))
    if metrics.recoveries:
        rows.append(
            (
                "recoveries",
                count_text(metrics.recoveries),
                "restarts from a snapshot; counts are approximate",
            )
        )
    if metrics.rows_unreleased:
        rows.append(
            (
                "unreleased",
                count_text(metrics.rows_unreleased),
                "rows read, but not yet released",
            )
        )
    if metrics.bytes_unread:
        tables = sorted(name for name, each in metrics.sources.items() if each.bytes_unread)
        note = f"received from {', '.join(tables)}, dropped: their line had not ended"
        rows.append(("unread", bytes_text(metrics.bytes_unread), note))
    width = max(len(value) for _, value, _ in rows)
    lines = [f"{status} after {seconds_text(seconds)}"]
    lines += [f"  {name:<12}  {value:>{width}}  {note}".rstrip() for name, value, note in rows]
    if metrics.held_by:
        waited = seconds_text(metrics.held_seconds)
        lines.append(f"  output was waiting for {metrics.held_by}, for {waited}")
    return "\n".join(lines) + "\n"


def summary_fields(status: str, metrics: Metrics) -> dict[str, object]:
    """Return the summary as fields: the status, every metric, and the rates."""
    fields: dict[str, object] = {"status": status, **asdict(metrics)}
    if metrics.seconds > 0:
        fields["rows_in_per_second"] = metrics.rows_in / metrics.seconds
        fields["rows_out_per_second"] = metrics.rows_out / metrics.seconds
    return fields


def _nulled_row(metrics: Metrics) -> list[tuple[str, str, str]]:
    if not metrics.nulled_fields:
        return []
    return [("nulled", count_text(metrics.nulled_fields), "malformed values that are NULL")]


def _state_text(metrics: Metrics) -> str:
    size = f", about {bytes_text(metrics.bytes_state)}" if metrics.bytes_state else ""
    return f"rows and groups at the end{size}"


def _bytes_rate(count: int, seconds: float) -> str:
    return f"{bytes_text(count / seconds)}/s" if seconds > 0 else ""
