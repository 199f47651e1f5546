"""The warning of windows with gaps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, Label

if TYPE_CHECKING:
    from fsql.compiler.binder.windows.window import WindowCall
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.text.source import Span


def warn_of_gaps(call: WindowCall, span: Span, report: Report) -> None:
    """Warn of windows that begin less often than they are long: rows between them are in none."""
    if call.slide_us is None or call.slide_us <= call.size_us:
        return
    label = Label(span, "the slide is longer than the size")
    helps = (
        "HOP takes the slide, then the size: HOP(t, at, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)",
    )
    report.warn(Diagnostic("W305", "rows between the windows are in none", label, helps=helps))
