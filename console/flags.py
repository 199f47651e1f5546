"""Flags of several commands."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

import click

from fsql.compiler.connectors import DELIVERIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.connectors.file.output_files import Existing

    Flag = Callable[[Callable[..., Any]], Callable[..., Any]]

WORKERS_MAX: Final = 64

PictureT = TypeVar("PictureT", Path, TextIO)


class NameAndValue(click.ParamType[tuple[str, str]]):
    """`name=value`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, equals, text = str(value).partition("=")
        if not equals or not name:
            self.fail(f'"{value}" is not of the form name=value', param, ctx)
        return name, text


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between them."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers."""
        parts = str(value).split(",")
        if not all(part.isascii() and part.isdecimal() for part in parts):
            self.fail(f'"{value}" is not of the form 0,1,1', param, ctx)
        return tuple(map(int, parts))


_FUNCTIONS: Final = "fsql.functions"


def _keep_folders(
    ctx: click.Context, _param: click.Parameter, value: tuple[Path, ...]
) -> tuple[Path, ...]:
    ctx.meta[_FUNCTIONS] = value
    return value


def function_folders(ctx: click.Context) -> tuple[Path, ...]:
    """Return the folders of `--functions`; none if the command has no such flag."""
    folders: tuple[Path, ...] = ctx.meta.get(_FUNCTIONS, ())
    return folders


_define = click.option(
    "--define",
    "-D",
    "parameters",
    multiple=True,
    type=NameAndValue(),
    help="Set the parameter ${NAME} of the script.",
)
_functions = click.option(
    "--functions",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    expose_value=False,
    callback=_keep_folders,
    help="Directory with modules of Python functions.",
)


def define(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for parameters and Python functions of scripts."""
    return _define(_functions(command))


execute = click.option(
    "--execute", "-e", "text", metavar="SQL", help="SQL text of the script instead of a file."
)

snapshot_ms = click.option(
    "--snapshot-ms",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Milliseconds between two snapshots.",
)

auto = click.option(
    "--auto",
    is_flag=True,
    help="Choose ticks from statistics while the job runs: owners of keys, policies of operators.",
)

profile = click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Choose the first plan by a profile of the input, made by fsql stats profile.",
)


def check_picture(
    context: click.Context, parameter: click.Parameter, file: PictureT | None
) -> PictureT | None:
    """Check that the file of a picture, which is SVG, does not have the suffix of something else.

    Raises:
        click.UsageError: if it does.
    """
    del context, parameter
    if file is not None and PurePath(file.name).suffix not in {"", ".svg"}:
        raise click.UsageError("--picture writes SVG: it requires a FILE with suffix .svg")
    return file


explain_to = click.option(
    "--explain",
    "explain_to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="After the run, write its logical plan with the rows that each operator has returned, to FILE.html, "
    "FILE.svg or FILE.txt.",
)


def tick_seconds(help_: str, default: float | None) -> Flag:
    """Return the flag for the length of an interval of statistics, with its default."""
    return click.option(
        "--tick",
        "tick_seconds",
        type=click.FloatRange(min=0, max=3600),
        default=default,
        show_default=default is not None,
        metavar="SECONDS",
        help=help_,
    )


_overwrite = click.option(
    "--overwrite",
    is_flag=True,
    help="Overwrite output files that are not empty.",
)
_append = click.option("--append", is_flag=True, help="Append to output files that are not empty.")


def existing_outputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags for output files that are not empty."""
    return _overwrite(_append(command))


def existing_of(*, overwrite: bool, append: bool) -> Existing:
    """Return how output files that are not empty are handled.

    Raises:
        click.UsageError: if both flags are given.
    """
    from fsql.connectors.file.output_files import Existing

    if overwrite and append:
        raise click.UsageError("--overwrite and --append cannot be used together")
    if overwrite:
        return Existing.OVERWRITE
    return Existing.APPEND if append else Existing.REFUSE


def workers(help_: str, default: int | None = 1) -> Flag:
    """Return the flag for the number of workers, with its default."""
    return click.option(
        "--workers",
        "-w",
        type=click.IntRange(1, WORKERS_MAX),
        default=default,
        show_default=default is not None,
        help=help_,
    )


keys = click.option(
    "--keys",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="CURVE keys of this machine, made by fsql keys init; needed for addresses other than the loopback "
    "interface.",
)

coordination = click.option(
    "--coordination",
    metavar="ADDRESS",
    help="ZooKeeper for leases and commits, zookeeper://HOST:PORT/PATH. Default: a file of the job.",
)

coordination_credentials = click.option(
    "--coordination-credentials",
    "credentials",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of mode 600 with USER:PASSWORD for ZooKeeper. Default: FSQL_ZOOKEEPER_CREDENTIALS.",
)


def delivery(help_: str) -> Flag:
    """Return the flag for the delivery guarantee; its default is None."""
    return click.option("--delivery", type=click.Choice(DELIVERIES), help=help_)


def cluster_directory(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag that names the cluster directory."""
    return click.option(
        "--dir",
        "directory",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Cluster directory. Default: FSQL_DIR, or the nearest .fsql.",
    )(command)
