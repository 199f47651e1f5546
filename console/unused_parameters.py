"""A warning for parameters that no script uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.text.parameters import unused_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.talk import Talk
    from fsql.job.script import Script


def warn_of_unused_parameters(scripts: Sequence[Script], talk: Talk) -> None:
    """Warn of the given values that none of the scripts uses."""
    unused = unused_parameters([each.source for each in scripts], scripts[0].parameters)
    if unused and not talk.quiet:
        talk.diagnostics(unused, scripts[0].source if len(scripts) == 1 else None)
