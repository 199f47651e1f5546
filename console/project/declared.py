"""The settings: their keys, values and defaults, and the flags whose defaults they are."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = str | int | bool | tuple[str, ...]

PARAMETERS: Final = "parameters"
"""The table of parameters of scripts: its keys are names that the project defines."""


class Kind(enum.Enum):
    """The kinds of values of settings; the member's value is used in messages."""

    PATH = "a path"
    PATHS = "a list of paths"
    COUNT = "a whole number"
    CHOICE = "one of its choices"
    FLAG = "true or false"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; `flags` has, for each command, the name of the flag whose default it is.

    Settings that are `for_users` may also be in the file of the user.
    """

    key: str
    kind: Kind
    about: str
    default: Value | None = None
    choices: tuple[str, ...] = ()
    least: int = 0
    greatest: int = 10**9
    for_users: bool = True
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def expected_text(self) -> str:
        """Return the values that the setting accepts, as text."""
        if self.kind is Kind.CHOICE:
            return " or ".join(f'"{choice}"' for choice in self.choices)
        if self.kind is Kind.COUNT:
            return f"a whole number from {self.least} to {self.greatest}"
        return self.kind.value

    @property
    def variable(self) -> str:
        """Return the environment variable that has the setting.

        >>> Setting("run.workers", Kind.COUNT, "").variable
        'FSQL_RUN_WORKERS'
        """
        return "FSQL_" + self.key.replace(".", "_").upper()

    def value_of(self, given: object) -> Value | None:
        """Return the value of the setting for a value of a settings file; None if it is not accepted."""
        if isinstance(given, list):
            fits = self.kind is Kind.PATHS and all(isinstance(each, str) and each for each in given)
            return tuple(given) if fits else None
        if isinstance(given, bool):
            return given if self.kind is Kind.FLAG else None
        if isinstance(given, int):
            return (
                given if self.kind is Kind.COUNT and self.least <= given <= self.greatest else None
            )
        if not isinstance(given, str):
            return None
        fits = (
            given in self.choices
            if self.kind is Kind.CHOICE
            else self.kind is Kind.PATH and given != ""
        )
        return given if fits else None

    def value_of_text(self, text: str) -> Value | None:
        """Return the value of an environment variable; lists are separated by colons."""
        match self.kind:
            case Kind.PATHS:
                return self.value_of(text.split(":"))
            case Kind.COUNT:
                return self.value_of(int(text)) if text.isascii() and text.isdigit() else None
            case Kind.FLAG:
                return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
            case Kind.PATH | Kind.CHOICE:
                return self.value_of(text)


SETTINGS: Final = (
    Setting(
        "script",
        Kind.PATH,
        "the script that `run`, `explain` and `compile` take if none is named",
        for_users=False,
    ),
    Setting(
        "scripts",
        Kind.PATHS,
        "the scripts, and directories of scripts, that `check` and `fmt` take if none is named",
        default=("queries",),
        for_users=False,
    ),
    Setting(
        "tests",
        Kind.PATHS,
        "the files of tests, and directories of them, that `test` takes if none is named",
        default=("tests",),
        for_users=False,
    ),
    Setting(
        "functions",
        Kind.PATHS,
        "folders with modules of Python functions, the default of `--functions`",
        for_users=False,
    ),
    Setting(
        "run.workers",
        Kind.COUNT,
        "number of workers",
        default=1,
        least=1,
        greatest=64,
        flags={"run": "workers"},
    ),
    Setting(
        "run.policy",
        Kind.CHOICE,
        "how stateful operators handle disorder",
        choices=("speculative", "ordered"),
        flags={"run": "policy"},
    ),
    Setting(
        "run.format",
        Kind.CHOICE,
        "output format of a bare SELECT",
        choices=("table", "json"),
        flags={"run": "form"},
    ),
    Setting(
        "run.overwrite",
        Kind.FLAG,
        "overwrite output files that are not empty",
        default=False,
        for_users=False,
        flags={"run": "overwrite"},
    ),
    Setting(
        "run.state",
        Kind.PATH,
        "state directory of the project's script; a later run resumes from it",
        for_users=False,
    ),
)
"""All settings except the parameters."""

BY_KEY: Final = {each.key: each for each in SETTINGS}


def near_key(key: str) -> str | None:
    """Return the key of which an unknown one is probably a misspelling, also in another table.

    >>> near_key("run.worker"), near_key("workers")
    ('run.workers', 'run.workers')
    """
    last = {each.rpartition(".")[2]: each for each in reversed(BY_KEY)}
    name = near_name(key, (*BY_KEY, PARAMETERS))
    if name is not None:
        return name
    found = near_name(key.rpartition(".")[2], last)
    return None if found is None else last[found]
