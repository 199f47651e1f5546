"""The summary of a run, as text and as a JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import bytes_text, count_text, rate_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fsql.console.reporter import Reporter
    from fsql.job.file_uses import WrittenFile
    from fsql.runtime.metrics import RunMetrics

FINISHED: Final = "finished"
STOPPED: Final = "stopped"
INTERRUPTED: Final = "interrupted"


def print_summary(
    status: str,
    counters: RunMetrics,
    reporter: Reporter,
    unkept: Collection[str] = (),
    files: Sequence[WrittenFile] = (),
) -> None:
    """Print the summary of a run as text or, with `--json`, as an event.

    `unkept` has "late" and "rejected" if such rows are counted but not written; `files` are the files
    that the run has written.
    """
    text = summary_text(status, counters) + _files_text(files) + _unkept_text(counters, unkept)
    outputs = [
        {"table": each.table, "option": each.option, "path": str(each.path), "bytes": each.bytes}
        for each in files
    ]
    reporter.inform("summary", {**summary_fields(status, counters), "outputs": outputs}, text)


def _files_text(files: Sequence[WrittenFile]) -> str:
    """Return a line for each written file."""
    sizes = [bytes_text(each.bytes) for each in files]
    width = max(map(len, sizes), default=0)
    return "".join(
        f"  written       {size:>{width}}  {each.path}\n"
        for each, size in zip(files, sizes, strict=True)
    )


def _unkept_text(counters: RunMetrics, unkept: Collection[str]) -> str:
    """Return which rows were dropped, with the option that would keep them."""
    text = ""
    if counters.rows_late and "late" in unkept:
        text += "  late rows were dropped: the sink table has no 'late_path'\n"
    if counters.rows_rejected and "rejected" in unkept:
        text += "  rejected rows were dropped: the source table has no 'rejects_path'\n"
    return text


def summary_text(status: str, counters: RunMetrics) -> str:
    """Return the summary as aligned lines; the first has the status."""
    seconds = counters.seconds
    rows = [
        ("rows in", count_text(counters.rows_in), rate_text(counters.rows_in, seconds)),
        ("rows out", count_text(counters.rows_out), rate_text(counters.rows_out, seconds)),
        ("bytes in", bytes_text(counters.bytes_in), _bytes_rate(counters.bytes_in, seconds)),
        ("late", count_text(counters.rows_late), "too late for their windows"),
        ("rejected", count_text(counters.rows_rejected), "malformed rows"),
        (
            "unknown",
            count_text(counters.unknown_fields),
            "fields that their table does not declare",
        ),
        ("state", count_text(counters.rows_state), "rows and groups at the end"),
        ("held", count_text(counters.rows_held), "rows that waited for earlier rows"),
        ("repairs", count_text(counters.rows_redone), "rows recomputed after late arrival"),
        ("messages", count_text(counters.messages), ""),
        ("acknowledged", count_text(counters.acknowledgements), ""),
        ("releases", count_text(counters.releases), ""),
    ]
    if counters.snapshots:
        rows.append(("snapshots", count_text(counters.snapshots), ""))
    if counters.recoveries:
        rows.append(("recoveries", count_text(counters.recoveries), "restarts from a snapshot"))
    if counters.rows_unreleased:
        rows.append(
            (
                "unreleased",
                count_text(counters.rows_unreleased),
                "rows read, but not yet released",
            )
        )
    width = max(len(value) for _, value, _ in rows)
    lines = [f"{status} after {seconds_text(seconds)}"]
    lines += [f"  {name:<12}  {value:>{width}}  {note}".rstrip() for name, value, note in rows]
    if counters.held_by:
        waited = seconds_text(counters.held_seconds)
        lines.append(f"  output was waiting for {counters.held_by}, for {waited}")
    return "\n".join(lines) + "\n"


def summary_fields(status: str, counters: RunMetrics) -> dict[str, object]:
    """Return the summary as fields: the status, every metric, and the rates."""
    fields: dict[str, object] = {"status": status, **asdict(counters)}
    if counters.seconds > 0:
        fields["rows_in_per_second"] = counters.rows_in / counters.seconds
        fields["rows_out_per_second"] = counters.rows_out / counters.seconds
    return fields


def _bytes_rate(count: int, seconds: float) -> str:
    return f"{bytes_text(count / seconds)}/s" if seconds > 0 else ""
