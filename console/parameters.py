"""The flag `-D name=value`, for `${name}` in a script."""

from __future__ import annotations

import click


class _NameAndValue(click.ParamType[tuple[str, str]]):
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


define = click.option(
    "--define", "-D", "parameters", multiple=True, type=_NameAndValue(), help="A value for ${name}."
)
