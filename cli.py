"""The `fsql` command: reads the flags, and calls what carries out a command.

Slow imports are made in functions, so that `fsql --help` starts fast.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TextIO, TypedDict, Unpack

import click

from fsql import __version__
from fsql.benchmarks.commands import bench
from fsql.console import exit_codes
from fsql.console.commands import Commands, reporting
from fsql.console.compile_command import compile_
from fsql.console.flags import (
    define,
    delivery,
    existing_of,
    existing_outputs,
    snapshot_ms,
    workers,
)
from fsql.console.process_commands import coordinator, worker
from fsql.console.sim_commands import sim
from fsql.console.snapshot_commands import snapshot
from fsql.console.standard_output import FORMATS as STANDARD_OUTPUT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.console.reporter import Reporter
    from fsql.job.run import RunOptions
    from fsql.job.script import Script

_ENGINES = ("columnar", "model")
_POLICIES = ("speculative", "ordered")
_STAGES = ("syntax", "logical", "graph", "tick")
_FORMATS = ("text", "json", "mermaid", "svg")

_workers = workers("How many workers share the keys.")
_policy = click.option(
    "--policy",
    type=click.Choice(_POLICIES),
    help="How stateful operators meet disorder; chosen for each by itself unless given.",
)


def _the_script(name: str | None, text: str | None, parameters: Mapping[str, str]) -> Script:
    from fsql.job.script import read_script, script_of_text

    if (name is None) == (text is None):
        raise click.UsageError("give either a script or -e with its text")
    if text is not None:
        return script_of_text(text, parameters)
    assert name is not None
    return read_script(name, parameters)


def _run_options(
    workers: int, policy: str | None, engine: str = "columnar", lead: int | None = None
) -> RunOptions:
    from fsql.compiler.tick_plan import Policy
    from fsql.job.run import RunOptions
    from fsql.runtime.drivers.local import LEAD_ROWS

    return RunOptions(
        workers=workers,
        policy=None if policy is None else Policy(policy),
        model=engine == "model",
        lead_rows=lead or LEAD_ROWS,
    )


@click.group(
    name="fsql",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog=exit_codes.HELP,
)
@click.version_option(__version__, message="fsql %(version)s")
def main() -> None:
    """Streaming SQL with deterministic, exactly-once results.

    Data goes to standard output, everything else to standard error.
    """


class _RunFlags(TypedDict):
    parameters: tuple[tuple[str, str], ...]
    workers: int
    policy: str | None
    engine: str
    lead: int | None
    state: str | None
    snapshot_ms: int
    delivery: str | None
    listen: str | None
    joining: int
    overwrite: bool
    append: bool
    form: str | None


@main.command(short_help="Run a script.")
@click.argument("script", required=False)
@click.option(
    "--execute", "-e", "text", metavar="SQL", help="The script itself, in place of a file."
)
@define
@_workers
@_policy
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default="columnar",
    show_default=True,
    help="The model executes the graph row by row: slow, and obviously right.",
)
@click.option(
    "--lead",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="How many rows a split may be ahead of what is final.",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep state there; a later run of the same script goes on from it.",
)
@snapshot_ms
@delivery("What outputs promise under failures, whatever their tables ask for.")
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where workers join, tcp://127.0.0.1:PORT; a free port unless given.",
)
@click.option(
    "--joining",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="How many of the workers you start by hand, with fsql worker.",
)
@existing_outputs
@click.option(
    "--format",
    "form",
    type=click.Choice(STANDARD_OUTPUT_FORMATS),
    help="How a bare SELECT prints; a table on a terminal, else JSON lines, unless given.",
)
@reporting
def run(
    reporter: Reporter, script: str | None, text: str | None, **flags: Unpack[_RunFlags]
) -> None:
    """Run SCRIPT until its input ends.

    SCRIPT is a file, or - for standard input.  Relative paths in it, of sources and of sinks, start from
    the directory that it is in; those of a script from standard input or -e start from the working directory.
    A SELECT at the end of the script prints to standard output: a table on a terminal, else JSON lines.

    Neither workers nor policy, engine or lead show in the results: they are the same bytes.
    """
    existing = existing_of(overwrite=flags["overwrite"], append=flags["append"])
    options = _run_options(flags["workers"], flags["policy"], flags["engine"], flags["lead"])
    options = replace(options, existing=existing)
    the_script = _the_script(script, text, dict(flags["parameters"]))
    if _on_processes(flags):
        code = _run_on_processes(the_script, options, flags, reporter)
    else:
        from fsql.console.run import run_script

        code = run_script(the_script, options, reporter, flags["form"])
    click.get_current_context().exit(code)


def _on_processes(flags: _RunFlags) -> bool:
    """Return whether an option needs processes.

    Raises:
        click.UsageError: if the model is to do it.
    """
    wanted = {
        "--state": flags["state"],
        "--delivery": flags["delivery"],
        "--listen": flags["listen"],
        "--joining": flags["joining"] or None,
    }
    asked = [name for name, value in wanted.items() if value is not None]
    if flags["engine"] == "columnar":
        return bool(asked) or flags["workers"] > 1
    if asked:
        raise click.UsageError(f"{asked[0]} is not for --engine model, which is one process")
    return False


def _run_on_processes(
    script: Script, options: RunOptions, flags: _RunFlags, reporter: Reporter
) -> int:
    from pathlib import Path

    from fsql.console.process_run import run_script_on_processes
    from fsql.job.process_run import ProcessOptions

    process_options = ProcessOptions(
        state=None if flags["state"] is None else Path(flags["state"]),
        snapshot_every=flags["snapshot_ms"] / 1000,
        delivery=flags["delivery"],
        listen=flags["listen"],
        joining=flags["joining"],
    )
    if process_options.joining > options.workers:
        raise click.UsageError("--joining cannot be more than --workers")
    return run_script_on_processes(script, options, process_options, reporter, flags["form"])


@main.command(short_help="Print diagnostics of scripts, and what they would do.")
@click.argument("files", nargs=-1, required=True)
@define
@reporting
def check(
    reporter: Reporter, files: tuple[str, ...], parameters: tuple[tuple[str, str], ...]
) -> None:
    """Print diagnostics of the scripts FILES, and what they would do.

    For each INSERT: which changes its table is given (append, upsert, retract), and what the query
    remembers, and what keeps that from growing for ever.  Nothing is read or written.
    """
    from fsql.console.check import check_json, check_script, check_text
    from fsql.console.unused_parameters import warn_unused_parameters
    from fsql.job.script import read_script

    scripts = [read_script(name, dict(parameters)) for name in files]
    checks = [check_script(script) for script in scripts]
    warn_unused_parameters(scripts, reporter)
    if reporter.json:
        click.echo(check_json(checks), nl=False)
    for each in () if reporter.json else checks:
        if each.diagnostics and not (reporter.quiet and each.valid):
            reporter.diagnostics(each.diagnostics, each.source)
        if not reporter.quiet:
            click.echo(check_text(each), nl=False)
    if not all(each.valid for each in checks):
        click.get_current_context().exit(exit_codes.USER_ERROR)


class _ExplainFlags(TypedDict):
    stage: str
    form: str | None
    trace: bool
    parameters: tuple[tuple[str, str], ...]
    workers: int
    policy: str | None


@main.command(short_help="Show a script at one stage of compilation.")
@click.argument("script", required=False)
@click.option(
    "--execute", "-e", "text", metavar="SQL", help="The script itself, in place of a file."
)
@click.option(
    "--stage",
    type=click.Choice(_STAGES),
    default="logical",
    show_default=True,
    help="What to show.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="How to show it; by the suffix of FILE unless given, else text.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Where to write it, in place of standard output.",
)
@click.option("--trace", is_flag=True, help="Show before it what each rewrite rule did.")
@define
@_workers
@_policy
@reporting
def explain(
    reporter: Reporter,
    script: str | None,
    text: str | None,
    output: TextIO,
    **flags: Unpack[_ExplainFlags],
) -> None:
    """Show what SCRIPT becomes: its syntax, logical plan, dataflow graph, or tick plan.

    A tick plan depends on workers, policy, and how many splits the tables have now.  Mermaid and SVG are
    for graphs.  --json is the same as --format json.
    """
    from fsql.console.unused_parameters import warn_unused_parameters
    from fsql.job.compilation import compile_job
    from fsql.job.explain_stage import FormatError, check_output, explain_stage, format_of

    the_script = _the_script(script, text, dict(flags["parameters"]))
    form = flags["form"] or ("json" if reporter.json else format_of(output.name))
    options = _run_options(flags["workers"], flags["policy"])
    try:
        result = compile_job(the_script)
        warn_unused_parameters([the_script], reporter)
        shown = explain_stage(result, flags["stage"], form, options, trace=flags["trace"])
    except FormatError as error:
        raise click.UsageError(str(error)) from None
    if output.name == "-":
        click.echo(shown, nl=False)  # it finds standard output by itself, also where it is closed
        return
    check_output(result, output.name)
    click.echo(shown, file=output, nl=False)


class _ConsumeFlags(TypedDict):
    until_end: bool
    key: str | None
    overwrite: bool
    append: bool


@main.command(short_help="Store what a job sends to a table with connector tcp.")
@click.option("--listen", metavar="ADDRESS", required=True, help="127.0.0.1:PORT; port 0 is any.")
@click.option(
    "--to", "target", metavar="FILE", required=True, help="Where to; - for standard output."
)
@click.option(
    "--times", type=click.File("w"), metavar="FILE", help="Note there when each bundle was stored."
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The key that the job has to have; yours unless given.",
)
@click.option("--until-end", is_flag=True, help="End when a job has come to its end.")
@existing_outputs
@reporting
def consume(
    reporter: Reporter,
    listen: str,
    target: str,
    times: TextIO | None,
    **flags: Unpack[_ConsumeFlags],
) -> None:
    """Store the rows that one job sends to one table with connector `tcp`, each once, whatever fails.

    What FILE has is noted beside it, in FILE.position.*; started again, it goes on there.
    """
    from pathlib import Path

    from fsql.console.consume import Target
    from fsql.console.consume import consume as store_rows

    existing = existing_of(overwrite=flags["overwrite"], append=flags["append"])
    code = store_rows(
        listen,
        Target(target, existing, None if flags["key"] is None else Path(flags["key"])),
        times,
        reporter,
        until_end=flags["until_end"],
    )
    click.get_current_context().exit(code)


@main.command(short_help="List connectors and formats with their options.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def connectors(name: str | None, *, as_json: bool) -> None:
    """List the connectors and formats with their options, or only what is called NAME."""
    from fsql.console.connectors import connectors_json, connectors_text

    click.echo(connectors_json(name) if as_json else connectors_text(name), nl=False)


@main.command("explain-error", short_help="Explain an error code.")
@click.argument("code")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain_error(code: str, *, as_json: bool) -> None:
    """Explain what an error CODE such as E203 means and what to do about it."""
    from fsql.console.error_code import UnknownCodeError, code_json, code_text, find_code

    try:
        found = find_code(code)
    except UnknownCodeError as error:
        raise click.UsageError(str(error)) from None
    click.echo(code_json(found) if as_json else code_text(found), nl=False)


for _command in (bench, compile_, coordinator, sim, snapshot, worker):
    main.add_command(_command)
