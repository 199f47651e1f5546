"""The settings of a command: flags, then environment, project, user, defaults.

The flags are parsed by click, whose defaults are the values that this module returns.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.console.project.declared import BY_KEY, SETTINGS, Kind
from fsql.console.project.settings_file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

    from fsql.console.project.declared import Value
    from fsql.console.project.settings_file import SettingsFile

PROJECT_FILE: Final = "fsql.toml"
DEFAULT: Final = "default"
WITH_SETTINGS: Final = frozenset(
    {
        "check",
        "compile",
        "config",
        "deploy",
        "explain",
        "fmt",
        "merge",
        "run",
        "shell",
        "sim",
        "test",
    }
)
"""The commands to which the settings and parameters of a project apply."""
_META: Final = "fsql.settings"


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of settings by key, and the origin of each; without settings that have no value.

    Paths are absolute.  `directory` is that of the project, None outside of one; `parameters` are its values
    of `${name}`.
    """

    values: Mapping[str, Value]
    origins: Mapping[str, str]
    parameters: Mapping[str, str]
    directory: Path | None

    def path(self, key: str) -> str | None:
        """Return the path in a setting, relative to the working directory; None if there is none."""
        value = self.values.get(key)
        assert value is None or isinstance(value, str)
        return None if value is None else shown_path(Path(value))

    def paths(self, key: str) -> tuple[str, ...]:
        """Return the paths in a setting."""
        value = self.values.get(key, ())
        assert isinstance(value, tuple)
        return tuple(shown_path(Path(each)) for each in value)

    def flag_defaults(self) -> dict[str, dict[str, object]]:
        """Return the defaults of flags: by command, by the name of the flag."""
        defaults: dict[str, dict[str, object]] = {}
        for setting in SETTINGS:
            if self.origins.get(setting.key, DEFAULT) != DEFAULT:
                for command, flag in setting.flags.items():
                    defaults.setdefault(command, {})[flag] = self.values[setting.key]
        return defaults


def find_project(start: Path) -> Path | None:
    """Return the nearest directory that has an `fsql.toml`, from `start` upwards."""
    return next((each for each in (start, *start.parents) if (each / PROJECT_FILE).is_file()), None)


def user_file() -> Path:
    """Return the settings file of the user."""
    configured = os.environ.get("XDG_CONFIG_HOME")
    base = Path(configured) if configured else Path.home() / ".config"
    return base / "fsql" / "config.toml"


def read_settings() -> Settings:
    """Return the settings that apply in the working directory.

    Raises:
        FsqlError: E701 to E703, if a file or an environment variable has an invalid setting.
    """
    here = Path.cwd()
    directory = find_project(here)
    values: dict[str, Value] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        # Outside of a project there are no directories of scripts.
        if setting.default is not None and (directory or setting.kind is not Kind.PATHS):
            values[setting.key] = _absolute(setting.kind, setting.default, directory or here)
            origins[setting.key] = DEFAULT
    parameters: Mapping[str, str] = {}
    if (of_user := user_file()).is_file():
        _add_file(read_settings_file(of_user, str(of_user), of_user=True), values, origins)
    if directory is not None:
        path = directory / PROJECT_FILE
        of_project = read_settings_file(path, shown_path(path), of_user=False)
        _add_file(of_project, values, origins)
        parameters = of_project.parameters
    _add_environment(values, origins)
    return Settings(values, origins, parameters, directory)


def _add_file(file: SettingsFile, values: dict[str, Value], origins: dict[str, str]) -> None:
    for key, value in file.values.items():
        values[key] = _absolute(BY_KEY[key].kind, value, file.path.parent)
        origins[key] = shown_path(file.path)


def _add_environment(values: dict[str, Value], origins: dict[str, str]) -> None:
    for setting in SETTINGS:
        text = os.environ.get(setting.variable)
        if text is None:
            continue
        value = setting.value_of_text(text)
        if value is None:
            message = (
                f'environment variable {setting.variable} is "{text}"; '
                f"it must be {setting.expected_text}"
            )
            raise FsqlError([Diagnostic("E703", message)])
        values[setting.key] = _absolute(setting.kind, value, Path.cwd())
        origins[setting.key] = f"environment variable {setting.variable}"


def _absolute(kind: Kind, value: Value, directory: Path) -> Value:
    if kind is Kind.PATH:
        return str(directory / str(value))
    if isinstance(value, tuple):
        return tuple(str(directory / each) for each in value)
    return value


def shown_path(path: Path) -> str:
    """Return a path relative to the working directory, if it is inside or not far above."""
    relative = os.path.relpath(path)
    return str(path) if relative.count("..") > 3 else relative


def attach_settings(ctx: click.Context) -> None:
    """Read the settings for the commands below `ctx`: for the defaults of flags, and for `settings_of`.

    Raises:
        FsqlError: E701 to E703.
    """
    settings = read_settings()
    ctx.meta[_META] = settings
    ctx.default_map = settings.flag_defaults()


def settings_of(ctx: click.Context) -> Settings:
    """Return the settings that apply to a command."""
    settings = ctx.meta.get(_META)
    return settings if isinstance(settings, Settings) else Settings({}, {}, {}, None)
