"""`fsql datagen`: generated rows, printed or written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import click

from fsql.console.commands import pass_reporter
from fsql.console.flags import existing_of, existing_outputs

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter

_COPY: Final = " AS SELECT * FROM generated;\n"
_FORMATS: Final = ("json", "csv")


class _Flags(TypedDict):
    rows: int
    rate: int | None
    seed: int
    options: tuple[str, ...]
    form: str
    output: str
    overwrite: bool
    append: bool


@click.command(short_help="Generate rows with given columns.")
@click.argument("columns")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Number of rows; 0 for an unlimited number.",
)
@click.option(
    "--rate",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Rows per second. Default: as fast as possible.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the generator.",
)
@click.option(
    "--option",
    "-O",
    "options",
    multiple=True,
    metavar="COLUMN.OPTION=VALUE",
    help="Option of a column: price.max=9.99, item.values=tea,rum, at.jitter='5 s', n.null_rate=0.1.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="json",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--output", "-o", metavar="FILE", default="-", help="Output file. Default: standard output."
)
@existing_outputs
@pass_reporter
def datagen(reporter: Reporter, columns: str, **flags: Unpack[_Flags]) -> None:
    """Generate rows with COLUMNS, which are written as in CREATE TABLE.

    For example: fsql datagen "id BIGINT, item STRING, price DECIMAL(6, 2), at TIMESTAMP" -O id.kind=sequence

    The rows are those of a table with connector datagen; fsql connectors datagen lists its options.  The same
    columns, options and seed give the same rows.
    """
    from fsql.console.run import run_script
    from fsql.job.planning import RunOptions
    from fsql.job.script_file import script_of_text

    if not columns.strip():
        raise click.UsageError('give columns, such as "id BIGINT, item STRING"')
    source = {"connector": "datagen", "seed": str(flags["seed"])}
    if flags["rows"]:
        source["count"] = str(flags["rows"])
    if flags["rate"] is not None:
        source["rate"] = str(flags["rate"])
    for option in flags["options"]:
        key, equals, value = option.partition("=")
        if not equals or "." not in key:
            raise click.UsageError(f'"{option}" is not of the form COLUMN.OPTION=VALUE')
        source[f"fields.{key}"] = value
    sink = {"connector": "stdout", "format": flags["form"]}
    if flags["output"] != "-":
        sink |= {"connector": "file", "path": str(Path(flags["output"]).absolute())}
    text = (
        f"CREATE TABLE generated ({columns}) WITH ({_options_text(source)});\n"
        f'CREATE TABLE "rows" WITH ({_options_text(sink)}){_COPY}'
    )
    existing = existing_of(overwrite=flags["overwrite"], append=flags["append"])
    code = run_script(script_of_text(text, {}), RunOptions(existing=existing), reporter)
    click.get_current_context().exit(code)


def _options_text(options: dict[str, str]) -> str:
    """Return options in the form of a script."""
    return ", ".join(f"{_quote(key)} = {_quote(value)}" for key, value in options.items())


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
