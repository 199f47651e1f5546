"""The flags of `fsql run`, and whether they require a run on processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import click

from fsql.console.forked_commands import open_fork_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.job.planning import RunOptions
    from fsql.job.script import Script
    from fsql.runtime.drivers.processes.fork_server import ForkServer


class RunFlags(TypedDict):
    """The flags of `fsql run`."""

    parameters: tuple[tuple[str, str], ...]
    workers: int
    policy: str | None
    engine: str
    master: str | None
    read_ahead: int | None
    state: str | None
    snapshot_ms: int
    delivery: str | None
    listen: str | None
    joining: int
    hosted: bool | None
    contracts: bool
    auto: bool
    tick_seconds: float
    profile: Path | None
    explain_to: Path | None
    keys: Path | None
    coordination: str | None
    credentials: Path | None
    overwrite: bool
    append: bool
    form: str | None


def needs_processes(flags: RunFlags) -> bool:
    """Return whether a flag requires processes.

    Raises:
        click.UsageError: if the engine is another one, or `--master` is given without Spark.
    """
    if flags["master"] is not None and flags["engine"] != "spark":
        raise click.UsageError("--master requires --engine spark")
    wanted = {
        "--state": flags["state"],
        "--delivery": flags["delivery"],
        "--listen": flags["listen"],
        "--joining": flags["joining"] or None,
        "--coordination": flags["coordination"],
        "--keys": flags["keys"],
        "--auto": flags["auto"] or None,
    }
    if flags["profile"] is not None and flags["engine"] != "columnar":
        raise click.UsageError(f"--profile cannot be used with --engine {flags['engine']}")
    asked = [name for name, value in wanted.items() if value is not None]
    if flags["explain_to"] is not None:
        _check_explain(flags, asked)
    if flags["engine"] == "columnar":
        return bool(asked) or flags["workers"] > 1
    if asked:
        where = "in one process" if flags["engine"] == "model" else "over input that ends"
        raise click.UsageError(
            f"{asked[0]} cannot be used with --engine {flags['engine']}, which runs {where}"
        )
    return False


def _check_explain(flags: RunFlags, asked: Sequence[str]) -> None:
    """Check that the rows of operators can be counted, and that the file has a known suffix.

    Raises:
        click.UsageError: if one of them is not so.
    """
    from fsql.job.explain_run import PRINTERS

    file = flags["explain_to"]
    assert file is not None
    if file.suffix not in PRINTERS:
        raise click.UsageError(f"--explain requires a FILE with suffix {', '.join(PRINTERS)}")
    others = [
        *asked,
        *(["--workers"] if flags["workers"] > 1 else []),
        *(["--profile"] if flags["profile"] is not None else []),
        *([f"--engine {flags['engine']}"] if flags["engine"] != "columnar" else []),
    ]
    if others:
        reason = "rows are counted in a run of one process, with the plan of the script"
        raise click.UsageError(f"--explain cannot be used with {others[0]}: {reason}")


def run_with_flags(script: Script, options: RunOptions, flags: RunFlags, reporter: Reporter) -> int:
    """Run a script on processes; return the exit code.

    Raises:
        click.UsageError: if flags cannot be used together.
        FsqlError: for an error in the script, a file that it names, the state, or coordination.
    """
    with open_fork_server(click.get_current_context().find_root()) as fork_server:
        return _run_with(fork_server, script, options, flags, reporter)


def _run_with(
    fork_server: ForkServer,
    script: Script,
    options: RunOptions,
    flags: RunFlags,
    reporter: Reporter,
) -> int:
    from pathlib import Path

    from fsql.console.process_run import run_script_on_processes
    from fsql.job.process_options import ProcessOptions
    from fsql.runtime.coordination.zookeeper.address import parse_address

    coordination = flags["coordination"]
    process_options = ProcessOptions(
        state=None if flags["state"] is None else Path(flags["state"]),
        snapshot_every=flags["snapshot_ms"] / 1000,
        delivery=flags["delivery"],
        listen=flags["listen"],
        joining=flags["joining"],
        hosted=flags["hosted"],
        contracts=flags["contracts"],
        auto=flags["auto"],
        tick_seconds=flags["tick_seconds"],
        coordination=None if coordination is None else parse_address(coordination),
        credentials=flags["credentials"],
        keys=flags["keys"],
        json_messages=reporter.json,
        start_process=fork_server.start,
    )
    if process_options.credentials is not None and coordination is None:
        raise click.UsageError("--coordination-credentials requires --coordination")
    if process_options.joining > options.workers:
        raise click.UsageError("--joining cannot be more than --workers")
    return run_script_on_processes(script, options, process_options, reporter, flags["form"])
