"""`fsql script`: prints the script of a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fsql.compiler.text.parameters import used_parameters
from fsql.job.script_file import read_script

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory


def print_script(reporter: Reporter, cluster: ClusterDirectory, name: str) -> None:
    """Print the script of a job, and what it needs besides its text.

    Raises:
        FsqlError: E633, if there is no such job; E606 or E607, if its plan cannot be read.
    """
    job, deployment = cluster.find_job(name)
    script = read_script(str(job.plan_of(deployment)), {})
    parameters = {each: script.parameters[each] for each in used_parameters(script.source)}
    text = script.source.text
    if reporter.json:
        fields = {
            "job": name,
            "script": text,
            "directory": str(script.base_directory),
            "parameters": parameters,
            "functions": [str(folder) for folder in script.functions],
        }
        click.echo(json.dumps(fields, ensure_ascii=False))
        return
    click.echo(text, nl=not text.endswith("\n"))
    needs = [f"relative paths start from {script.base_directory}"]
    if parameters:  # Values may be secrets.
        needs.append(f"parameters, whose values --json shows: {', '.join(parameters)}")
    if script.functions:
        needs.append(f"functions are in: {', '.join(map(str, script.functions))}")
    if not reporter.quiet:
        click.echo("".join(f"note: {each}\n" for each in needs), nl=False, err=True)
