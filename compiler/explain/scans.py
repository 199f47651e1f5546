"""The scans of a table, shown by the name of the table and the lines of the script on which it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.explain.literals import name_text
from fsql.compiler.explain.parts import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.logical import Scan

    ScanLines = Callable[[Scan], Sequence[int]]
    """Returns the lines of the script on which a scan is written, nothing if they are not known."""


def no_scan_lines(_scan: Scan) -> Sequence[int]:
    """Return no lines: the `ScanLines` of a plan without a script."""
    return ()


def scan_parts(scan: Scan, scan_lines: ScanLines) -> tuple[Part, ...]:
    """Return the table and the lines of a scan; its number if its lines are not known."""
    table = Part("table", "", name_text(scan.table.name))
    lines = tuple(scan_lines(scan))
    if not lines:
        return table, Part("scan", "scan", scan.scan_number)
    return table, Part("lines", "line" if len(lines) == 1 else "lines", lines)
