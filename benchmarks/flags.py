"""Flags of several benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fsql.compiler.connectors import SHARDS_MAX
from fsql.console.flags import check_picture

if TYPE_CHECKING:
    from collections.abc import Callable

    Flag = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers from 1 with commas between them."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers."""
        parts = str(value).split(",")
        if not all(part.isdecimal() and int(part) for part in parts):
            self.fail(f'"{value}" is not of the form 50,500,1000', param, ctx)
        return tuple(map(int, parts))


def number(name: str, help_: str, default: int | None = None, *, least: int = 1) -> Flag:
    """Return a flag for a whole number."""
    return _flag(name, click.IntRange(min=least), help_, default)


def shards(help_: str) -> Flag:
    """Return the flag for the number of shards of a result."""
    return _flag("--shards", click.IntRange(1, SHARDS_MAX), help_, None)


def numbers(name: str, help_: str, default: str) -> Flag:
    """Return a flag for whole numbers from 1, with commas between them."""
    return _flag(name, _Numbers(), help_, default)


def seconds(name: str, help_: str, default: float, *, least: float = 1) -> Flag:
    """Return a flag for a time in seconds."""
    return _flag(name, click.FloatRange(min=least), help_, default)


def choice(name: str, values: tuple[str, ...], help_: str) -> Flag:
    """Return a flag for one of some values; the first is the default."""
    return _flag(name, click.Choice(values), help_, values[0])


def state_mib(help_: str) -> Flag:
    """Return the flag for the size of the state."""
    return number("--state-mib", help_, 100, least=0)


def picture(what: str = "the latency over time") -> Flag:
    """Return the flag for a file with a picture."""
    kind = click.File("w", encoding="utf-8", lazy=True)
    help_ = f"File for an SVG picture of {what}."
    return click.option("--picture", type=kind, callback=check_picture, metavar="FILE", help=help_)


exponents = click.option(
    "--exponent",
    "exponents",
    type=click.FloatRange(0, 5),
    multiple=True,
    default=(0.8, 1.1, 1.4),
    show_default=True,
    help="Exponent of Zipf's law for the frequencies of keys; may be repeated.",
)


def _flag(name: str, kind: click.ParamType[Any], help_: str, default: object) -> Flag:
    shown = default is not None
    return click.option(name, type=kind, default=default, show_default=shown, help=help_)
