"""`fsql connectors` and `fsql explain-error`: reference documentation, offline."""

from __future__ import annotations

import click


@click.command(short_help="List connectors and formats with their options.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def connectors(name: str | None, *, as_json: bool) -> None:
    """List the connectors and formats with their options, or only the one called NAME."""
    from fsql.console.connectors import connectors_json, connectors_text

    click.echo(connectors_json(name) if as_json else connectors_text(name), nl=False)


@click.command("explain-error", short_help="Explain an error code.")
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
