"""`fsql deploy --bootstrap`: deploys a job, computes its state over history, and starts it after that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click
from msgspec.structs import replace

from fsql.compiler.diagnostics.numbers import bytes_text, counted_text, seconds_text
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.console.interrupt import Interrupt
from fsql.deployment.bootstrap import bootstrap_job
from fsql.deployment.client import ask_agent
from fsql.deployment.messages import Drop, Start
from fsql.job.bootstrap import Until
from fsql.runtime.drivers.spark.session import check_spark

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.messages import Deploy

_DIGITS_MAX: Final = 12
"""Numbers of this many digits exceed the maximum number of rows of a split."""


def until_of(text: str | None) -> Until | None:
    """Return the end of history that a text specifies: a timestamp, or a row number.

    Raises:
        click.UsageError: if it is neither.
    """
    if text is None:
        return None
    if text.isdecimal() and len(text) <= _DIGITS_MAX:
        return Until(int(text), is_row=True)
    try:
        return Until(parse_timestamp(text), is_row=False)
    except RowFailure:
        raise click.UsageError(f'--bootstrap-until: "{text}" is not a timestamp') from None


def deploy_with_bootstrap(
    reporter: Reporter, cluster: ClusterDirectory, request: Deploy, master: str, until: Until | None
) -> None:
    """Deploy a new job, and start it after its history.  If that fails, nothing is deployed.

    Raises:
        FsqlError: E644, E661, E662 or E663, or the errors of deployment.
    """
    started = time.monotonic()
    check_spark(master)  # before anything is deployed
    answer = ask_agent(cluster, replace(request, wanted="stopped"))
    assert answer.job is not None
    try:
        with Interrupt() as interrupt:
            job = cluster.job_of(answer.job)
            done = bootstrap_job(job, master, until, lambda _: interrupt.check())
    except BaseException:
        ask_agent(cluster, Drop(request.name))
        raise
    ask_agent(cluster, Start(request.name))
    seconds = time.monotonic() - started
    fields: dict[str, object] = {
        "job": request.name,
        "id": answer.job,
        "position": done.position,
        "rows_in": done.rows_in,
        "rows_out": done.rows_out,
        "state_rows": done.state_rows,
        "state_bytes": done.state_bytes,
        "seconds": round(seconds, 3),
    }
    text = (
        f"{request.name} is deployed, and continues after its history:"
        f" {counted_text(done.rows_in, 'row')} read, {counted_text(done.rows_out, 'row')} written,"
        f" {counted_text(done.state_rows, 'row')} of state ({bytes_text(done.state_bytes)}),"
        f" in {seconds_text(seconds)}\n"
    )
    reporter.inform("bootstrapped", fields, text)
