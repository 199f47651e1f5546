"""`fsql ui`: its flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter


@click.command(short_help="Show the jobs in the browser.")
@cluster_directory
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="PORT",
    help="Port of the loopback interface. Default: a free one.",
)
@pass_reporter
def ui(reporter: Reporter, directory: Path | None, port: int) -> None:
    """Serve a page that shows the jobs of the cluster directory, until Ctrl-C.

    The command prints the address of the page, with a token: whoever has it can do with the jobs what you
    can.  The server listens on the loopback interface only.  To see the page of another machine, forward its
    port: ssh -L 8100:127.0.0.1:8100 MACHINE fsql ui --port 8100

    It needs an extra: pip install 'fsql[ui]'.  With --json, standard output has one object: {"url", "port"}.
    """
    from fsql.compiler.diagnostics import Diagnostic, FsqlError
    from fsql.deployment.directory import find_directory

    try:
        from fsql.console.web.server import listen, page_server
    except ModuleNotFoundError as error:
        message = f"fsql ui needs the package {error.name}, which is not installed"
        helps = ("install fsql with the extra ui: pip install 'fsql[ui]'",)
        raise FsqlError([Diagnostic("E671", message, helps=helps)]) from None
    from fsql.console.web.application import Application
    from fsql.console.web.guard import Access

    try:
        listening = listen(port)
    except OSError as error:
        message = f"port {port} of the loopback interface cannot be used: {error.strerror}"
        helps = ("leave out --port: a free one is taken",)
        raise FsqlError([Diagnostic("E671", message, helps=helps)]) from None
    own_port = listening.getsockname()[1]
    access = Access(own_port)
    url = f"http://127.0.0.1:{own_port}/open?token={access.token}"

    def tell() -> None:
        if reporter.json:
            click.echo(json.dumps({"url": url, "port": own_port}))
        else:
            click.echo(f"open {url}\nend with Ctrl-C")

    scripts = Path.cwd()
    with listening:
        application = Application(find_directory(directory), access, scripts).asgi()
        page_server(application, tell).run(sockets=[listening])


@click.command(hidden=True)
@click.option("--charts-of", "job", type=click.Path(path_type=Path), help="Directory of a job.")
def trial(job: Path | None) -> None:
    """Compute a result for the page, which is written nowhere, or draw those of a job."""
    if job is not None:
        from fsql.console.web.job_charts import run_job_charts

        click.get_current_context().exit(run_job_charts(job))
    from fsql.console.web.trial import run_trial

    click.get_current_context().exit(run_trial())
