"""Settings files (TOML): their values and parameters, and their errors with spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText, Span
from fsql.console.project.declared import BY_KEY, PARAMETERS, near_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fsql.console.project.declared import Setting, Value

_AT: Final = re.compile(r"\(at line (\d+), column (\d+)\)$")
_TABLE: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_.-]+|\"[^\"]*\"|'[^']*')\s*=\s*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of a settings file: values of settings by key, and parameters of scripts."""

    path: Path
    values: Mapping[str, Value]
    parameters: Mapping[str, str]


def read_settings_file(path: Path, shown: str, *, of_user: bool) -> SettingsFile:
    """Return the content of a settings file, which errors call `shown`.

    Raises:
        FsqlError: E701, if it is not TOML; E702 and E703, for each invalid key and value.
    """
    import tomllib

    try:
        text = path.read_bytes().decode()
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(SourceText(shown, text), str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f'settings file "{shown}" cannot be read: {reason}'
        raise FsqlError([Diagnostic("E701", message)]) from None
    source = SourceText(shown, text)
    reader = _Reader(source, of_user=of_user)
    values, parameters = reader.read(tables)
    if reader.wrong:
        raise FsqlError(reader.wrong, source)
    return SettingsFile(path, values, parameters)


def _not_toml(source: SourceText, message: str) -> FsqlError:
    at = _AT.search(message)
    label = None
    if at is not None:
        line = source.line_spans[min(int(at[1]), len(source.line_spans)) - 1]
        start = min(line.start + int(at[2]) - 1, line.end)
        label = Label(Span(start, start))
        message = message[: at.start()].rstrip()
    message = f"{message[:1].lower()}{message[1:]}"
    return FsqlError([Diagnostic("E701", f"the file is not TOML: {message}", label)], source)


class _Reader:
    """Reads the tables of a file; `wrong` collects their errors."""

    def __init__(self, source: SourceText, *, of_user: bool) -> None:
        self.wrong: list[Diagnostic] = []
        self._key_spans = dict(_key_spans(source))
        self._of_user = of_user

    def read(self, tables: Mapping[str, object]) -> tuple[dict[str, Value], dict[str, str]]:
        """Return the values of settings, and the parameters."""
        values: dict[str, Value] = {}
        parameters: dict[str, str] = {}
        for key, given in _flat(tables):
            table, _, name = key.partition(".")
            if table == PARAMETERS and not self._of_user:
                self._read_parameter(key, name, given, parameters)
            elif (setting := BY_KEY.get(key)) is None:
                self._unknown(key)
            elif self._of_user and not setting.for_users:
                self._not_here(key)
            else:
                self._read_value(setting, given, values)
        return values, parameters

    def _read_value(self, setting: Setting, given: object, values: dict[str, Value]) -> None:
        value = setting.value_of(given)
        if value is None:
            message = f'setting "{setting.key}" must be {setting.expected_text}'
            self._add("E703", message, setting.key, at_value=True)
        else:
            values[setting.key] = value

    def _read_parameter(
        self, key: str, name: str, given: object, parameters: dict[str, str]
    ) -> None:
        if not _NAME.fullmatch(name):
            message = f'"{name or key}" is not a name of a parameter'
            help_ = 'write [parameters] and below it lines such as: minutes = "5"'
            self._add("E702", message, key, helps=(help_,))
        elif isinstance(given, str):
            parameters[name] = given
        elif isinstance(given, int | float) and not isinstance(given, bool):
            parameters[name] = str(given)
        else:
            message = f'parameter "{name}" must be text or a number'
            self._add("E703", message, key, at_value=True)

    def _unknown(self, key: str) -> None:
        near = near_key(key)
        helps = (f"a setting with a similar name exists: {near}",) if near else ()
        helps = (*helps, "fsql config show lists all settings")
        self._add("E702", f'setting "{key}" does not exist', key, helps=helps)

    def _not_here(self, key: str) -> None:
        helps = ("move it to the fsql.toml of a project",)
        self._add("E702", f'setting "{key}" belongs to a project', key, helps=helps)

    def _add(
        self,
        code: str,
        message: str,
        key: str,
        *,
        helps: tuple[str, ...] = (),
        at_value: bool = False,
    ) -> None:
        spans = self._key_spans.get(key)
        label = None if spans is None else Label(spans[int(at_value)])
        self.wrong.append(Diagnostic(code, message, label, helps=helps))


def _flat(tables: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield each key with the names of its tables, and its value; a table without keys if it is unknown."""
    known = (*BY_KEY, f"{PARAMETERS}.")
    for name, value in tables.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and (value or any(each.startswith(f"{key}.") for each in known)):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _key_spans(source: SourceText) -> Iterator[tuple[str, tuple[Span, Span]]]:
    """Yield the keys with the spans of key and value, for lines that have one."""
    table = ""
    for line in source.line_spans:
        text = source.slice(line)
        if head := _TABLE.fullmatch(text):
            table = f"{head[1]}."
            span = Span(line.start + head.start(1), line.start + head.end(1))
            yield head[1], (span, span)
        elif key := _KEY.match(text):
            span = Span(line.start + key.start(1), line.start + key.end(1))
            end = line.start + len(text[: _value_end(text, key.end())].rstrip())
            yield (
                f"{table}{key[1].strip(chr(34) + chr(39))}",
                (
                    span,
                    Span(min(line.start + key.end(), end), end),
                ),
            )


def _value_end(text: str, start: int) -> int:
    """Return the end of the value that begins at `start`: before a comment that is not in quotes."""
    quote = ""
    for index in range(start, len(text)):
        if quote:
            quote = "" if text[index] == quote else quote
        elif text[index] in "'\"":
            quote = text[index]
        elif text[index] == "#":
            return index
    return len(text)
