"""`fsql ui`: its flags."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.console.web.server import PageServer


@click.command(short_help="Show the jobs in the browser.")
@cluster_directory
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="PORT",
    help="Port of the loopback interface. Default: a free one.",
)
@click.option("--of-agent", is_flag=True, hidden=True)
@pass_reporter
def ui(reporter: Reporter, directory: Path | None, port: int, *, of_agent: bool) -> None:
    """Serve a page that shows the jobs of the cluster directory, until Ctrl-C.

    The command prints the address of the page, with a token: whoever has it can do with the jobs what you
    can.  The server listens on the loopback interface only.  To see the page of another machine, forward its
    port: ssh -L 8100:127.0.0.1:8100 MACHINE fsql ui --port 8100

    It needs an extra: pip install 'fsql[ui]'.  With --json, standard output has one object: {"url", "port"}.
    `fsql up` serves such a page as well.
    """
    from fsql.compiler.diagnostics import Diagnostic, FsqlError
    from fsql.deployment.directory import PageAddress, find_directory

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

    cluster = find_directory(directory)

    def tell() -> None:
        if of_agent:
            agent = cluster.agent()
            if agent is not None:
                cluster.set_page_address(PageAddress(agent, os.getpid(), url))
        elif reporter.json:
            click.echo(json.dumps({"url": url, "port": own_port}))
        else:
            click.echo(f"open {url}\nend with Ctrl-C")

    scripts = Path.cwd()
    with listening:
        server = page_server(Application(cluster, access, scripts).asgi(), tell)
        if of_agent:
            Thread(target=_end_with_input, args=[server], daemon=True).start()
        server.run(sockets=[listening])


def _end_with_input(server: PageServer) -> None:
    """End the server when standard input ends: the agent has closed it, or has ended."""
    while os.read(0, 1 << 10):
        pass
    server.should_exit = True


@click.command(hidden=True)
@click.option("--charts-of", "job", type=click.Path(path_type=Path), help="Directory of a job.")
def trial(job: Path | None) -> None:
    """Compute a result for the page, which is written nowhere, or draw those of a job."""
    if job is not None:
        from fsql.console.web.job_charts import run_job_charts

        click.get_current_context().exit(run_job_charts(job))
    from fsql.console.web.trial import run_trial

    click.get_current_context().exit(run_trial())
