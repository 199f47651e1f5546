"""The `fsql` command: its flags.  Slow imports are made inside functions so that `--help` starts fast."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TextIO, TypedDict, Unpack

import click

from fsql import __version__
from fsql.compiler.statistics import TICK_SECONDS
from fsql.console import exit_codes
from fsql.console.commands import ImportedCommands, pass_reporter
from fsql.console.flags import (
    auto,
    cluster_directory,
    coordination,
    coordination_credentials,
    define,
    delivery,
    execute,
    existing_of,
    existing_outputs,
    explain_to,
    keys,
    profile,
    snapshot_ms,
    tick_seconds,
    workers,
)
from fsql.console.project.scripts import one_script
from fsql.console.project.settings import WITH_SETTINGS, attach_settings, settings_of
from fsql.console.run_flags import RunFlags, needs_processes, run_with_flags
from fsql.console.standard_output import FORMATS as STANDARD_OUTPUT_FORMATS
from fsql.console.state_of_job import any_state, job_instead

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.job.planning import RunOptions

_ENGINES = ("columnar", "model", "spark")
_POLICIES = ("speculative", "ordered")
_STAGES = ("syntax", "bound", "logical", "graph", "tick")
_FORMATS = ("text", "json", "mermaid", "svg", "html")

_workers = workers("Number of workers.")
_policy = click.option(
    "--policy",
    type=click.Choice(_POLICIES),
    help="How stateful operators handle disorder. Default: chosen for each operator.",
)


_MODULES = {
    "fsql.benchmarks.commands": ("bench",),
    "fsql.console.check_command": ("check",),
    "fsql.console.cluster_commands": (
        "agent",
        "doctor",
        "down",
        "job",
        "machine-agent",
        "ps",
        "up",
    ),
    "fsql.console.compile_command": ("compile",),
    "fsql.console.completion_command": ("completion",),
    "fsql.console.datagen_command": ("datagen",),
    "fsql.console.fmt_command": ("fmt",),
    "fsql.console.job_commands": (
        "deploy",
        "drop",
        "list",
        "logs",
        "rename",
        "restart",
        "script",
        "status",
        "stop",
    ),
    "fsql.console.keys_commands": ("keys",),
    "fsql.console.merge_command": ("merge",),
    "fsql.console.process_commands": ("coordinator", "fork-server", "worker"),
    "fsql.console.project.config_command": ("config",),
    "fsql.console.project.init_command": ("init",),
    "fsql.console.query_command": ("query",),
    "fsql.console.reference_commands": ("connectors", "explain-error"),
    "fsql.console.serve_command": ("serve",),
    "fsql.console.shell_command": ("shell",),
    "fsql.console.sim_commands": ("sim",),
    "fsql.console.snapshot_commands": ("snapshot",),
    "fsql.console.stats_command": ("stats",),
    "fsql.console.test_command": ("test",),
    "fsql.console.tick_commands": ("tick",),
    "fsql.console.top.command": ("top",),
    "fsql.console.web.command": ("trial", "ui"),
    "fsql.console.zookeeper_command": ("zookeeper",),
}
"""The commands that are not in this module, by their modules, which are imported when one is needed."""


def _run_options(
    workers: int,
    policy: str | None,
    engine: str = "columnar",
    read_ahead: int | None = None,
    master: str | None = None,
    profile: Path | None = None,
) -> RunOptions:
    from fsql.compiler.tick_plan import Policy
    from fsql.job.first_plan import given_profile
    from fsql.job.planning import RunOptions
    from fsql.runtime.drivers.local import READ_AHEAD_ROWS
    from fsql.runtime.drivers.spark.master import master_or_default

    return RunOptions(
        workers=workers,
        policy=None if policy is None else Policy(policy),
        model=engine == "model",
        spark=master_or_default(master) if engine == "spark" else None,
        read_ahead_rows=read_ahead or READ_AHEAD_ROWS,
        profile=None if profile is None else given_profile(profile),
    )


@click.group(
    name="fsql",
    cls=ImportedCommands,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog=exit_codes.HELP,
)
@click.version_option(__version__, message="fsql %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Streaming SQL with deterministic, exactly-once results.

    Data goes to standard output, everything else to standard error.
    """
    if ctx.invoked_subcommand in WITH_SETTINGS:
        attach_settings(ctx)


@main.command(short_help="Run a script.")
@click.argument("script", required=False)
@execute
@define
@_workers
@_policy
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default="columnar",
    show_default=True,
    help="columnar for all work; model executes the graph row by row, slowly; spark processes data at rest.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Master of --engine spark: local[N], spark://HOST:PORT, sc://HOST:PORT, yarn, k8s://…  "
    "Default: the variable FSQL_SPARK_MASTER, or local[*].",
)
@click.option(
    "--read-ahead",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="How many rows may be read from a split beyond those that are final.",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="State directory; a later run of the same script resumes from it.",
)
@snapshot_ms
@delivery("Delivery guarantee of all outputs; overrides the option of their tables.")
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Address at which workers join, tcp://HOST:PORT. Default: a free port of the loopback interface.",
)
@click.option(
    "--contract/--no-contract",
    "contracts",
    default=True,
    show_default=True,
    help="With --hosted: move all keys to the first worker while the load is low, and to the others "
    "under load.",
)
@click.option(
    "--hosted/--apart",
    default=None,
    help="Run the coordinator in the process of the first worker, or in one of its own. "
    "Default: --hosted if a table that is read is live and --joining is 0, --apart otherwise.",
)
@click.option(
    "--joining",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Number of workers that are started by hand with fsql worker.",
)
@auto
@profile
@explain_to
@tick_seconds(
    "Interval at which workers write statistics and --auto chooses ticks; 0 for never.",
    TICK_SECONDS,
)
@keys
@coordination
@coordination_credentials
@existing_outputs
@click.option(
    "--format",
    "form",
    type=click.Choice(STANDARD_OUTPUT_FORMATS),
    help="Output format of a bare SELECT. Default: a table on a terminal, otherwise JSON lines.",
)
@pass_reporter
def run(
    reporter: Reporter, script: str | None, text: str | None, **flags: Unpack[RunFlags]
) -> None:
    """Run SCRIPT until its input ends.

    SCRIPT is a file, or - for standard input; by default it is the script of the project.  Relative paths
    of sources and sinks are relative to the directory of the script; in a script from standard input or -e,
    to the working directory.
    A SELECT at the end of the script prints to standard output: a table on a terminal, otherwise JSON lines.

    The results do not depend on --workers, --policy, --engine or --read-ahead.
    """
    existing = existing_of(overwrite=flags["overwrite"], append=flags["append"])
    options = _run_options(
        *(flags["workers"], flags["policy"], flags["engine"], flags["read_ahead"]),
        *(flags["master"], flags["profile"]),
    )
    options = replace(options, existing=existing)
    if script is None and text is None and flags["state"] is None:
        flags["state"] = settings_of(click.get_current_context()).path("run.state")
    the_script = one_script(script, text, dict(flags["parameters"]))
    if needs_processes(flags):
        code = run_with_flags(the_script, options, flags, reporter)
    else:
        from fsql.console.run import run_script

        code = run_script(the_script, options, reporter, flags["form"], flags["explain_to"])
    click.get_current_context().exit(code)


class _ExplainFlags(TypedDict):
    stage: str
    form: str | None
    trace: bool
    parameters: tuple[tuple[str, str], ...]
    workers: int
    policy: str | None
    profile: Path | None
    name: str | None
    state: Path | None
    directory: Path | None


@main.command(short_help="Show a script at one stage of compilation.")
@click.argument("script", required=False)
@execute
@click.option(
    "--stage",
    type=click.Choice(_STAGES),
    default="logical",
    show_default=True,
    help="Stage of compilation.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Output format. Default: by the suffix of FILE, otherwise text.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Output file. Default: standard output.",
)
@click.option(
    "--trace",
    is_flag=True,
    help="Also show what each rewrite rule has changed; with --stage bound, each pass of the planner.",
)
@define
@_workers
@_policy
@profile
@job_instead
@any_state
@cluster_directory
@pass_reporter
def explain(
    reporter: Reporter,
    script: str | None,
    text: str | None,
    output: TextIO,
    **flags: Unpack[_ExplainFlags],
) -> None:
    """Show the syntax, bound SELECTs, logical plan, dataflow graph or tick plan of SCRIPT.

    A tick plan depends on --workers, --policy, --profile and the number of splits.  Mermaid is for graphs,
    SVG for graphs and logical plans, HTML for logical plans.

    With --job or --state, there is no SCRIPT, and the stage is tick: the plan that the job has now, or had at
    its end, with what its last tick has changed, and what the next one would by its statistics, and why.
    """
    from fsql.console.explain_job import explain_job
    from fsql.console.unused_parameters import warn_unused_parameters
    from fsql.job.compilation import compile_job
    from fsql.job.explain_stage import FormatError, check_output, explain_stage, format_of

    form = flags["form"] or ("json" if reporter.json else None)
    try:
        if flags["name"] is not None or flags["state"] is not None:
            form = form or format_of(output.name)
            shown = explain_job(script, text, form, flags)
        else:
            the_script = one_script(script, text, dict(flags["parameters"]))
            options = _run_options(flags["workers"], flags["policy"], profile=flags["profile"])
            result = compile_job(the_script)
            warn_unused_parameters([the_script], reporter)
            if output.name != "-":
                check_output(result, output.name)
            form = form or format_of(output.name)
            shown = explain_stage(result, flags["stage"], form, options, trace=flags["trace"])
    except FormatError as error:
        raise click.UsageError(str(error)) from None
    click.echo(shown, file=output, nl=False)


class _ConsumeFlags(TypedDict):
    until_end: bool
    key: str | None
    overwrite: bool
    append: bool


@main.command(short_help="Store the rows that a job writes with connector tcp.")
@click.option(
    "--listen",
    metavar="ADDRESS",
    required=True,
    help="Address to listen at, 127.0.0.1:PORT; port 0 selects a free one.",
)
@click.option(
    "--to", "target", metavar="FILE", required=True, help="Output file; - for standard output."
)
@click.option(
    "--times", type=click.File("w"), metavar="FILE", help="Log the time of each stored bundle."
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Key file for authentication. Default: that of the user.",
)
@click.option("--until-end", is_flag=True, help="Exit when the job has finished.")
@existing_outputs
@pass_reporter
def consume(
    reporter: Reporter,
    listen: str,
    target: str,
    times: TextIO | None,
    **flags: Unpack[_ConsumeFlags],
) -> None:
    """Store the rows that a job writes to one table with connector `tcp`, each exactly once.

    The position up to which rows are stored is kept in FILE.position.*; the command resumes there when it is
    started again.
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
