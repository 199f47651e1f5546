"""The logical plan as an HTML page: its picture, and a table with the full texts.  It loads no files."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler.explain.drawing.logical_boxes import logical_boxes
from fsql.compiler.explain.drawing.logical_svg import draw_boxes
from fsql.compiler.explain.drawing.picture import markup_text
from fsql.compiler.explain.scans import no_scan_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.explain.drawing.logical_boxes import LogicalBox
    from fsql.compiler.explain.scans import ScanLines
    from fsql.compiler.logical import Job, Plan

_STYLE: Final = """
  body { margin: 2rem; font: 15px/1.4 system-ui, sans-serif; color: #1f2933; background: #ffffff; }
  .picture { overflow-x: auto; }
  table { border-collapse: collapse; margin-top: 2rem; }
  th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid #cbd2d9; text-align: left; vertical-align: top; }
  td { overflow-wrap: anywhere; }
  @media (prefers-color-scheme: dark) {
    body { color: #e4e7eb; background: #14191f; }
    th, td { border-color: #3e4c59; }
  }
"""
_HEADINGS: Final = ("number", "operator", "does", "reads", "changes", "state")


def logical_html(
    job: Job,
    *,
    scan_lines: ScanLines = no_scan_lines,
    rows: Mapping[Plan, int] = MappingProxyType({}),
) -> str:
    """Return the text of an HTML page; `rows` are those that operators have returned in a run."""
    boxes = logical_boxes(job, scan_lines, rows)
    headings = (*_HEADINGS, "rows") if rows else _HEADINGS
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><title>Logical plan</title>',
        '<meta name="viewport" content="width=device-width">',
        f"<style>{_STYLE}</style></head>",
        "<body>",
        "<h1>Logical plan</h1>",
        f'<div class="picture">\n{draw_boxes(boxes)}</div>',
        "<table>",
        f"<tr>{''.join(map(_heading, headings))}</tr>",
        *(
            f"<tr>{''.join(map(_cell, _texts(number, box)[: len(headings)]))}</tr>"
            for number, box in enumerate(boxes)
        ),
        "</table>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _texts(number: int, box: LogicalBox) -> tuple[str, ...]:
    """Return the texts of a box in the table, in the order of the headings; rows are the last."""
    reads = ", ".join(map(str, box.inputs))
    rows = "" if box.rows is None else f"{box.rows:,}"
    return str(number), box.name, box.does, reads, box.changes, box.state, rows


def _heading(text: str) -> str:
    return f'<th scope="col">{text}</th>'


def _cell(text: str) -> str:
    return f"<td>{markup_text(text)}</td>"
