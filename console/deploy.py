"""`fsql deploy`: compiles a script and gives the plan to the agent, for a new job or to change one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.numbers import bytes_text, count_text, seconds_text
from fsql.console.bootstrap import deploy_with_bootstrap, until_of
from fsql.console.connections import connections_of
from fsql.console.flags import function_folders
from fsql.console.project.scripts import named_script
from fsql.console.text_table import text_table
from fsql.console.unused_parameters import warn_unused_parameters
from fsql.deployment.additions import accepted_addition, addition_to
from fsql.deployment.changes import Change, plan_change
from fsql.deployment.client import ask_agent
from fsql.deployment.common_parts import common_parts, common_parts_text
from fsql.deployment.directory import check_name, find_directory
from fsql.deployment.machines import MachineDirectory
from fsql.deployment.messages import Deploy
from fsql.deployment.plans import check_deployable
from fsql.job.compilation import compile_job
from fsql.job.graph_diff import StateChange
from fsql.job.plan_file import plan_file_bytes, plan_file_of
from fsql.job.script_file import STANDARD_INPUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory
    from fsql.job.compilation import Compiled
    from fsql.job.script_addition import Addition


def deploy_script(
    reporter: Reporter,
    script: str,
    name: str | None,
    directory: Path | None,
    existing: Any,  # noqa: ANN401 - one of the words of `Deploy.existing`
    flags: Mapping[str, Any],
) -> None:
    """Deploy a script as a new job, change the plan of the job of that name, or add the script to a job.

    Raises:
        FsqlError: errors in the script; E631 to E638, E640.
    """
    the_script = named_script(script, dict(flags["parameters"]))
    compiled = compile_job(the_script)
    warn_unused_parameters([the_script], reporter)
    if compiled.warnings and not reporter.quiet:
        reporter.diagnostics(compiled.warnings, the_script.source)
    check_deployable(compiled)
    cluster = find_directory(directory)
    of_script, before = compiled, None
    if flags["into"] is not None:
        addition, before = addition_to(cluster, flags["into"], compiled)
        _tell_addition(reporter, addition, flags["into"], script)
        if addition.compiled is None:
            return
        compiled = addition.compiled
    job = flags["into"] or (Path(script).stem if name is None else name)
    request = replace(_request(job, compiled, flags), existing=existing, before=before)
    check_name(request.name)
    _check_connections(cluster, request)
    _warn_of_machines(reporter, cluster, request)
    _tell_common_parts(reporter, cluster, of_script, request.name, script)
    until = until_of(flags["bootstrap_until"])
    exists = request.name in cluster.by_name()
    if flags["bootstrap"] and not flags["dry_run"] and not exists:
        from fsql.runtime.drivers.spark.master import master_or_default

        master = master_or_default(flags["master"])
        deploy_with_bootstrap(reporter, cluster, replace(request, change=None), master, until)
    elif flags["bootstrap"] and exists:
        message = f'job "{request.name}" cannot be bootstrapped: it is deployed already'
        helps = ("drop it first", "or deploy it under another name with --name")
        raise FsqlError([Diagnostic("E662", message, helps=helps)])
    elif exists or flags["into"] is not None:
        _change_job(reporter, cluster, compiled, request, flags)
    else:
        _deploy_new(reporter, cluster, request, dry_run=flags["dry_run"])


def _request(job: str, compiled: Compiled, flags: Mapping[str, Any]) -> Deploy:
    """Return the request that deploys a script as a job, or changes the plan of the job.

    Raises:
        FsqlError: E634, if a machine cannot have a name.
    """
    return Deploy(
        job,
        plan_file_bytes(plan_file_of(compiled)).decode(),
        workers=flags["workers"],
        snapshot_ms=flags["snapshot_ms"],
        delivery=flags["delivery"],
        auto=flags["auto"],
        tick_seconds=flags["tick_seconds"],
        profile=None if flags["profile"] is None else str(flags["profile"].resolve()),
        change=_change(flags).value,
        drain_seconds=flags["drain_seconds"],
        connections=connections_of(flags),
        machines=_machines(flags["machines"]),
        allow_inconsistent=flags["allow_inconsistent"],
    )


def _check_connections(cluster: ClusterDirectory, request: Deploy) -> None:
    """Check the connections of the job, with those that the request does not set.

    Raises:
        click.UsageError: if more workers run elsewhere than the job has.
        FsqlError: E601, E641, E643 or E646, if an address, credentials or keys cannot be used.
    """
    _, deployed = cluster.by_name().get(request.name, (None, None))
    before = cluster.connections() if deployed is None else deployed.connections
    connections = request.connections.or_else(before)
    connections.check()
    workers = request.workers or (1 if deployed is None else deployed.workers)
    machines = request.machines
    if machines is None:
        machines = {} if deployed is None else deployed.machines
    if (connections.joining or 0) + sum(machines.values()) > workers:
        raise click.UsageError("--joining and --on together cannot be more than --workers")


def _warn_of_machines(reporter: Reporter, cluster: ClusterDirectory, request: Deploy) -> None:
    """Print the machines that workers are to run on and whose agents have not reported, if there are any."""
    absent = [
        name
        for name in sorted(request.machines or {})
        if MachineDirectory(cluster.path, name).status() is None
    ]
    for name in absent:
        text = (
            f"warning: no agent of machine {name} has reported, so its workers do not run yet;"
            f" on that machine: fsql up --machine {name}\n"
        )
        reporter.inform("machine_absent", {"job": request.name, "machine": name}, text)


def _tell_addition(reporter: Reporter, addition: Addition, name: str, script: str) -> None:
    """Print which statements of a script a job has, and which are added to it."""
    lines = [f"{script}, compared with the script of {name}:"]
    if addition.compiled is None:
        lines = [f"{name} has all INSERTs of {script} already, so it is not changed:"]
    lines += [f"  {what}: to be added" for what in addition.added]
    lines += [f"  {what}: as in the script of {name}" for what in addition.shared]
    fields = {"job": name, "added": addition.added, "shared": addition.shared}
    reporter.inform("script_added", fields, "".join(f"{line}\n" for line in lines))


def _tell_common_parts(
    reporter: Reporter, cluster: ClusterDirectory, compiled: Compiled, name: str, script: str
) -> None:
    """Print which parts of the script other jobs compute already, and the command to compute them once."""
    parts = common_parts(cluster, compiled, name)
    if not parts:
        return
    command = None
    if name not in cluster.by_name() and script != STANDARD_INPUT:
        accepted = accepted_addition(cluster, compiled, parts)
        if accepted is not None:
            command = _command_into(*accepted, script)
    fields = {"job": name, "parts": [each.fields() for each in parts], "command": command}
    reporter.inform("computed_twice", fields, common_parts_text(parts, command))


def _command_into(job: str, change: StateChange, script: str) -> str:
    """Return the command that adds the script to a job, with the flags that concern it.

    Values of parameters may be secret, and this is printed, so they are not part of it.
    """
    arguments = ["fsql", "deploy", script, "--into", job]
    context = click.get_current_context()
    for name, _ in context.params["parameters"]:
        arguments += ["-D", f"{name}=..."]
    for folder in function_folders(context):
        arguments += ["--functions", str(folder)]
    if context.params["directory"] is not None:
        arguments += ["--dir", str(context.params["directory"])]
    if change is StateChange.REBUILD:
        arguments.append("--rebuild")
    return shlex.join(arguments)


def _machines(given: tuple[tuple[str, int], ...]) -> dict[str, int] | None:
    """Return the number of workers on other machines by machine; None if it is not given.

    Raises:
        FsqlError: E634, if a machine cannot have a name.
    """
    for name, _ in given:
        check_name(name, "machine")
    return {name: count for name, count in given if count} if given else None


def _change(flags: Mapping[str, Any]) -> StateChange:
    if flags["rebuild"]:
        return StateChange.REBUILD
    return StateChange.LOSE if flags["allow_state_loss"] else StateChange.KEEP


def _deploy_new(
    reporter: Reporter, cluster: ClusterDirectory, request: Deploy, *, dry_run: bool
) -> None:
    if dry_run:
        fields: dict[str, object] = {"job": request.name}
        reporter.inform("would_deploy", fields, f"{request.name} would be a new job\n")
        return
    answer = ask_agent(cluster, replace(request, change=None))
    fields = {"job": request.name, "id": answer.job}
    reporter.inform("deployed", fields, f"{request.name} is deployed\n")


def _change_job(
    reporter: Reporter,
    cluster: ClusterDirectory,
    compiled: Compiled,
    request: Deploy,
    flags: Mapping[str, Any],
) -> None:
    """Print the effects of a changed plan on a job, and change it.

    Raises:
        FsqlError: E636 to E638.
    """
    assert request.change is not None
    job, _ = cluster.find_job(request.name)
    inconsistent = flags["allow_inconsistent"]
    kind = StateChange(request.change)
    change = plan_change(job, compiled, kind, allow_inconsistent=inconsistent)
    if reporter.json:
        click.echo(json.dumps(_json(request.name, change), ensure_ascii=False))
    elif not reporter.quiet:
        click.echo(_text(request.name, change), nl=False)
    change.check(allow_inconsistent=inconsistent)
    if flags["dry_run"]:
        return
    answer = ask_agent(cluster, request, seconds=request.drain_seconds + 60.0)
    fields = {"job": request.name, "id": answer.job, "seconds": round(answer.seconds, 3)}
    reporter.inform("changed", fields, f"{request.name} continues with the new plan\n")


def _text(name: str, change: Change) -> str:
    diff = change.diff
    lines = [f"change of {name}:"]
    rows = [
        (
            each.effect.value,
            each.text,
            f"{count_text(each.rows)} stored rows, {bytes_text(each.size)}",
            each.reason,
        )
        for each in diff.operators
    ]
    if rows:
        table = text_table(("state", "operator", "size", "why"), rows)
        lines += [f"  {line}" for line in table.splitlines()]
    else:
        lines.append("  no operator keeps state")
    for output, changes in change.changes.items():
        text = "known when the input has been read again"
        if changes is not None:
            text = f"{count_text(changes)} change" + "s" * (changes != 1)
        lines.append(f"  output {output} gets the difference of both results: {text}")
    for what, names in (
        ("new outputs, which begin at the position of the change", diff.outputs_added),
        ("outputs that are no longer written", diff.outputs_dropped),
        ("outputs whose changes would not add up", diff.inconsistent),
        ("new tables", diff.tables_added),
        ("tables that are no longer read", diff.tables_dropped),
    ):
        if names:
            lines.append(f"  {what}: {', '.join(names)}")
    lines.append(f"  {_pause_text(change)}")
    return "\n".join(lines) + "\n"


def _pause_text(change: Change) -> str:
    loaded = f"{bytes_text(change.diff.kept_bytes)} of state are loaded"
    if change.change is StateChange.REBUILD:
        return "output pauses until the input has been read again"
    if change.pause_seconds is None:
        return f"output pauses while the job starts; {loaded}"
    return f"output pauses for about {seconds_text(change.pause_seconds)}; {loaded}"


def _json(name: str, change: Change) -> dict[str, object]:
    diff = change.diff
    return {
        "job": name,
        "position": diff.position,
        "operators": [
            {
                "operator": each.operator,
                "text": each.text,
                "effect": each.effect.value,
                "reason": each.reason,
                "stored_rows": each.rows,
                "bytes": each.size,
            }
            for each in diff.operators
        ],
        "outputs": {
            "kept": diff.outputs_kept,
            "added": diff.outputs_added,
            "dropped": diff.outputs_dropped,
            "inconsistent": diff.inconsistent,
            "differences": [
                {"output": output, "changes": changes} for output, changes in change.changes.items()
            ],
        },
        "tables": {"added": diff.tables_added, "dropped": diff.tables_dropped},
        "kept_bytes": diff.kept_bytes,
        "pause_seconds": change.pause_seconds,
    }
