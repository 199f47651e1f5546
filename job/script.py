"""The script of a job: its text, and what belongs to it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.compiler.text.source import SourceText
    from fsql.job.functions import Registered
    from fsql.job.memory import Memory

PLAN_START: Final = b'{"kind":"fsql-plan",'
"""The first bytes of a compiled plan (`fsql.job.plan_file`) of any version."""


class ScriptError(FsqlError):
    """A script cannot be read; the error is in the command line."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, the values of its `${name}`, and the directory that relative paths start from.

    `path` is its file, None if there is none; `used_stdin` means that it was read from standard input, which
    no table can read then.  `memory` has the tables of the program that runs it.  `plan_digest` is the digest
    that its plan must have, if it is from a compiled plan.
    `ordinals` are those of the tables of the job before the script was changed.
    `functions` are the folders of modules with functions, `modules` the digests that modules must have;
    `registered` are functions of the calling program.
    `columns` are those that were inferred from the input, by table: `(a INT)`, with options that were
    inferred after it, `WITH ('delimiter' = ';')`.
    """

    source: SourceText
    parameters: Mapping[str, str]
    base_directory: Path
    path: Path | None = None
    used_stdin: bool = False
    memory: Memory | None = None
    plan_digest: str | None = None
    ordinals: Mapping[str, int] = field(default_factory=dict)
    functions: tuple[Path, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    registered: Mapping[str, Registered] = field(default_factory=dict)
