"""`fsql serve`: serves the results of running jobs."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import cluster_directory
from fsql.console.state_of_job import any_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.console.reporter import Reporter
    from fsql.serving.server import Server


@click.command(short_help="Serve the results of jobs: PostgreSQL, HTTP.")
@any_state
@cluster_directory
@click.option(
    "--name", metavar="NAME", default="job", show_default=True, help="Name of the job of --state."
)
@click.option(
    "--host", metavar="HOST", default="127.0.0.1", show_default=True, help="Where to listen."
)
@click.option(
    "--postgres-port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=5433,
    show_default=True,
    help="Port for the protocol of PostgreSQL; 0: any that is free.",
)
@click.option(
    "--http-port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=8433,
    show_default=True,
    help="Port for HTTP; 0: any that is free.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of the password of clients. Default: serve.token in DIR, which is made if needed.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Certificate, in PEM. Required beyond this machine.",
)
@click.option(
    "--tls-key", metavar="FILE", type=click.Path(path_type=Path), help="Key of the certificate."
)
@click.option("--until-end-of-input", is_flag=True, hidden=True)
@pass_reporter
def serve(reporter: Reporter, state: Path | None, directory: Path | None, **flags: Any) -> None:  # noqa: ANN401
    """Serve the results of all jobs of a cluster directory, or of the run with --state, until interrupted.

    Clients of PostgreSQL ask for a job as their database: psql, drivers, and tools for dashboards.  Over
    HTTP there are queries, streams of changes, figures for Prometheus, and /health; /openapi.json describes
    the requests.  Clients have to know the token: as password, or in a header "Authorization: Bearer TOKEN".

    Nothing is written to jobs, and jobs do not wait for clients.  The logs of results are made shorter here.
    """
    from fsql.serving.parts import check_packages

    check_packages()
    from fsql.serving.server import Listening, Server

    if (flags["tls_cert"] is None) != (flags["tls_key"] is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    find, figures, home = _jobs_of(state, directory, flags["name"])
    from fsql.serving.jobs import ServedJobs

    path = flags["token_file"] or home / "serve.token"
    listening = Listening(
        flags["host"],
        flags["http_port"],
        flags["postgres_port"],
        flags["tls_cert"],
        flags["tls_key"],
    )

    def log(line: str) -> None:
        click.echo(line, err=True)

    def on_ready(server: Server) -> None:
        if not reporter.quiet:
            click.echo(_ready_text(server, listening, path))

    jobs = ServedJobs(find, log)
    server = Server(jobs, listening, token_of(path), on_ready=on_ready, log=log, figures=figures)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    if flags["until_end_of_input"]:
        threading.Thread(target=_stop_at_end, args=(server,), daemon=True).start()
    server.run()


def _stop_at_end(server: Server) -> None:
    sys.stdin.buffer.read()
    server.stop()


def _jobs_of(
    state: Path | None, directory: Path | None, name: str
) -> tuple[Callable[[], Mapping[str, Path]], Callable[[], Mapping[str, Any]], Path]:
    """Return how the jobs and their figures are found, and the directory of the token."""
    if state is not None:
        if directory is not None:
            raise click.UsageError("--state and --dir exclude each other")
        here = state.absolute()
        if not here.is_dir():
            raise click.UsageError(f'the state directory "{state}" does not exist')
        return (lambda: {name: here}), dict, here
    from fsql.deployment.directory import find_directory
    from fsql.serving.deployed import figures_of, states_of

    cluster = find_directory(directory)
    cluster.create()
    return (lambda: states_of(cluster)), (lambda: figures_of(cluster)), cluster.path


def token_of(path: Path) -> str:
    """Return the token in a file, which is made with a new one if it does not exist.

    Raises:
        FsqlError: E674, if it cannot be read, or others may read it.
    """
    from fsql.compiler.diagnostics import Diagnostic, FsqlError

    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        message = f'the token file "{path}" cannot be written: {error.strerror}'
        raise FsqlError([Diagnostic("E674", message)]) from None
    else:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(24) + "\n")
    try:
        mode, text = path.stat().st_mode, path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f'the token file "{path}" cannot be read: {error}'
        raise FsqlError([Diagnostic("E674", message)]) from None
    if mode & 0o077:
        message = f'others may read the token file "{path}"'
        raise FsqlError([Diagnostic("E674", message, helps=(f"chmod 600 {path}",))])
    if len(text) < 16 or not text.isascii():
        message = f'the token in "{path}" is not 16 or more characters of ASCII'
        helps = ("remove the file: a new token is made",)
        raise FsqlError([Diagnostic("E674", message, helps=helps)])
    return text


def _ready_text(server: Server, listening: Any, path: Path) -> str:  # noqa: ANN401
    host = listening.host
    scheme = "http" if listening.certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    return "\n".join(
        [
            f"HTTP        {scheme}://{shown}:{server.http_port}",
            f"PostgreSQL  psql -h {host} -p {server.postgres_port} -U fsql -d JOB",
            f"password    in {path}",
        ]
    )
