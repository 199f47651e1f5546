"""`fsql explain --stage tick` with --job or --state: its flags, and what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from fsql.console.state_of_job import state_of
from fsql.deployment.common_parts import common_parts, common_parts_text
from fsql.deployment.directory import find_directory
from fsql.job.explain_ticks import ticks_of_job

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.deployment.common_parts import CommonPart
    from fsql.job.compilation import Compiled

_OF_SCRIPTS: Final = ("parameters", "workers", "policy", "profile", "trace")
"""The flags that are for scripts only; a job has its own."""


def explain_job(script: str | None, text: str | None, form: str, flags: Mapping[str, Any]) -> str:
    """Return the tick plan of a job, with what its last tick has changed and the next one would.

    Raises:
        click.UsageError: if the flags do not fit.
        FsqlError: if the job cannot be read.
    """
    if script is not None or text is not None:
        raise click.UsageError("--job and --state are instead of SCRIPT and --execute")
    context = click.get_current_context()
    given = context.get_parameter_source("stage") is ParameterSource.COMMANDLINE
    if given and flags["stage"] != "tick":
        raise click.UsageError("--job and --state require --stage tick")
    for name in _OF_SCRIPTS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = "define" if name == "parameters" else name
            raise click.UsageError(f"--{flag} is for scripts, not for --job and --state")
    state = state_of(flags["name"], flags["state"], flags["directory"])
    name = flags["name"]
    ticks = ticks_of_job(state, deployed=name is not None)
    parts = [] if name is None else _common_parts(flags["directory"], ticks.compiled, name)
    match form:
        case "text":
            return ticks.text() + common_parts_text(parts)
        case "json":
            more = {} if name is None else {"computed_twice": [each.fields() for each in parts]}
            return ticks.json(more)
        case _:
            raise click.UsageError(f"stage tick is available as text and json, not as {form}")


def _common_parts(directory: Path | None, compiled: Compiled, name: str) -> list[CommonPart]:
    return common_parts(find_directory(directory), compiled, name)
