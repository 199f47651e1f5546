"""Warnings about parameters that no script uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.text.parameters import unused_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.reporter import Reporter
    from fsql.job.script import Script


def warn_unused_parameters(scripts: Sequence[Script], reporter: Reporter) -> None:
    """Warn about given parameters that no script uses."""
    unused = unused_parameters([each.source for each in scripts], scripts[0].parameters)
    if unused and not reporter.quiet:
        reporter.diagnostics(unused, scripts[0].source if len(scripts) == 1 else None)
