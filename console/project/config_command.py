"""`fsql config`: the effective settings, and their origins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fsql.console.project.declared import PARAMETERS, SETTINGS, Kind
from fsql.console.project.settings import PROJECT_FILE, settings_of, shown_path

if TYPE_CHECKING:
    from fsql.console.project.declared import Setting, Value
    from fsql.console.project.settings import Settings


@click.group(short_help="Show the settings.")
def config() -> None:
    """Show the settings of the project, of the user, and of the environment.

    A flag overrides an environment variable (FSQL_RUN_WORKERS for run.workers), this one overrides fsql.toml,
    which is looked for in the working directory and its parents, and this one ~/.config/fsql/config.toml.
    """


@config.command(short_help="List all settings.")
@click.option("--origin", is_flag=True, help="Also show where each value comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def show(ctx: click.Context, *, origin: bool, as_json: bool) -> None:
    """List all settings as TOML; those without a value are comments."""
    settings = settings_of(ctx)
    if as_json:
        click.echo(json.dumps(_facts(settings), ensure_ascii=False))
    else:
        click.echo(_toml(settings, origin=origin), nl=False)


def _parameter_origin(settings: Settings) -> str:
    assert settings.directory is not None
    return shown_path(settings.directory / PROJECT_FILE)


def _facts(settings: Settings) -> dict[str, dict[str, object]]:
    facts: dict[str, dict[str, object]] = {
        each.key: {
            "value": _display_value(each, settings),
            "origin": settings.origins.get(each.key),
        }
        for each in SETTINGS
    }
    for name, value in settings.parameters.items():
        facts[f"{PARAMETERS}.{name}"] = {"value": value, "origin": _parameter_origin(settings)}
    return facts


def _display_value(setting: Setting, settings: Settings) -> Value | None:
    """Return the value of a setting; paths are relative to the working directory."""
    if setting.kind is Kind.PATH:
        return settings.path(setting.key)
    if setting.kind is Kind.PATHS:
        return settings.paths(setting.key) or None
    return settings.values.get(setting.key)


def _toml(settings: Settings, *, origin: bool) -> str:
    """Return the settings as a TOML file that has the same effect."""
    rows: list[tuple[str, str, str, str]] = []  # table, line, origin, meaning
    for setting in SETTINGS:
        table, _, name = setting.key.rpartition(".")
        value = _display_value(setting, settings)
        text = f"# {name} =" if value is None else f"{name} = {_literal(value)}"
        rows.append((table, text, settings.origins.get(setting.key, "not set"), setting.about))
    for name, value in settings.parameters.items():
        rows.append((PARAMETERS, f"{name} = {_literal(value)}", _parameter_origin(settings), ""))
    width = max(len(text) for _, text, _, _ in rows)
    lines: list[str] = []
    table = ""
    for of_table, text, where, about in rows:
        if of_table != table:
            lines += ["", f"[{of_table}]"]
            table = of_table
        comment = where if origin else about
        lines.append(f"{text:<{width}}  # {comment}" if comment else text)
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    # Texts, numbers, booleans and lists of texts are the same in JSON and in TOML.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
