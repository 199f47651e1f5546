"""Compiled plans as files: a checked script with everything that it needs, as data.

The file is one line of JSON and, in a second line, the SHA-256 of the first.  It has the text of the script,
its parameters, the directory that relative paths start from, the canonical form of the plan with its digest,
and the ids of the operators.  A reader compiles the text again and compares the digests: only a plan that
this version of fsql compiles from the text is executed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql import __version__
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.serialize import canonical_bytes, digest
from fsql.compiler.text.source import SourceText
from fsql.job.functions import modules_of
from fsql.job.script import PLAN_START, Script, ScriptError
from fsql.job.state_operators import state_operators

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.job.compilation import Compiled

PLAN_VERSION: Final = 1
"""The version of the format."""

_KIND: Final = "fsql-plan"
_AGAIN: Final = "compile the script again: fsql compile SCRIPT -o FILE"


class PlanFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a plan file; `plan` is the canonical form of the logical plan.

    `functions` are the folders of functions in Python, `modules` the digests of the modules used.
    `columns` are those that were inferred from the input, by table.
    """

    kind: str
    version: int
    fsql: str
    script_name: str
    script_text: str
    script_path: str | None
    parameters: dict[str, str]
    base_directory: str
    digest: str
    operators: tuple[str, ...]
    plan: msgspec.Raw
    functions: tuple[str, ...] = ()
    modules: dict[str, str] = {}
    columns: dict[str, str] = {}


class _Header(msgspec.Struct):
    """The fields common to plan files of all versions."""

    kind: str
    version: int
    fsql: str


def plan_file_of(compiled: Compiled) -> PlanFile:
    """Return the plan file of a compiled script."""
    script = compiled.script
    return PlanFile(
        _KIND,
        PLAN_VERSION,
        __version__,
        script.source.name,
        script.source.text,
        None if script.path is None else str(script.path),
        dict(script.parameters),
        str(script.base_directory),
        digest(compiled.job),
        tuple(state_operators(compiled.job)),
        msgspec.Raw(canonical_bytes(compiled.job)),
        tuple(map(str, script.functions)),
        modules_of(compiled.job),
        dict(script.columns),
    )


def plan_file_bytes(plan: PlanFile) -> bytes:
    """Return a plan file as bytes, which end with their hash."""
    body = msgspec.json.encode(plan)
    assert body.startswith(PLAN_START)
    return body + b"\n" + _hash(body) + b"\n"


def write_plan_file(path: Path, data: bytes) -> None:
    """Write a plan file atomically.

    Raises:
        ScriptError: E535, if it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f'cannot write "{path}": {(error.strerror or str(error)).lower()}'
        raise ScriptError([Diagnostic("E535", message)]) from None


def script_of_plan(name: str, data: bytes, parameters: Mapping[str, str]) -> Script:
    """Return the script of the plan file `name`; its digest is checked when it is compiled.

    Raises:
        ScriptError: E606, if there are parameters: those of a plan are fixed.
        FsqlError: E606, if the file is damaged; E607, if it is of another version.
    """
    plan = parse_plan_file(name, data)
    if parameters:
        message = f'the parameters of the compiled plan "{name}" are fixed'
        helps = (
            "compile the script again with other parameters: fsql compile SCRIPT -D NAME=VALUE",
        )
        raise ScriptError([Diagnostic("E606", message, helps=helps)])
    return Script(
        SourceText(plan.script_name, plan.script_text),
        plan.parameters,
        Path(plan.base_directory),
        None if plan.script_path is None else Path(plan.script_path),
        plan_digest=plan.digest,
        functions=tuple(map(Path, plan.functions)),
        modules=plan.modules,
        columns=plan.columns,
    )


def parse_plan_file(name: str, data: bytes) -> PlanFile:
    """Return the content of the plan file `name`.

    Raises:
        FsqlError: E606, if it is damaged; E607, if it is of another version of fsql.
    """
    body, newline, end = data.partition(b"\n")
    if not newline or end != _hash(body) + b"\n":
        raise _damage_error(name, "its hash does not match")
    try:
        header = msgspec.json.decode(body, type=_Header)
        if header.version != PLAN_VERSION or header.fsql != __version__:
            raise _other_version(name, header)
        plan = msgspec.json.decode(body, type=PlanFile)
    except msgspec.MsgspecError as error:
        raise _damage_error(name, str(error)) from None
    if hashlib.sha256(plan.plan).hexdigest() != plan.digest:
        raise _damage_error(name, "the plan does not match its digest")
    return plan


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _damage_error(name: str, reason: str) -> FsqlError:
    message = f'the compiled plan "{name}" is damaged: {reason}'
    return FsqlError([Diagnostic("E606", message, helps=(_AGAIN,))])


def _other_version(name: str, header: _Header) -> FsqlError:
    message = (
        f'the compiled plan "{name}" is of fsql {header.fsql}, format {header.version};'
        f" this is fsql {__version__}, format {PLAN_VERSION}"
    )
    return FsqlError([Diagnostic("E607", message, helps=(_AGAIN,))])
