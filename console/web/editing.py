"""What the editor asks: errors of a text, names to complete, scripts of the directory, and deployment."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import sys
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fsql.compiler.binder.catalog import TableEntry
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_json
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.table import CALLABLE
from fsql.compiler.parser import parse_script
from fsql.compiler.parser.keywords import RESERVED
from fsql.compiler.parser.parse_table import parse_table
from fsql.compiler.text.source import SourceText
from fsql.console.check import check_json, check_script
from fsql.console.web.trial import SCRIPT, declarations_text, results_of
from fsql.console.web.trials import end
from fsql.job.compilation import compile_job
from fsql.job.script import Script

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS_MAX: Final = 200
FILES_MAX: Final = 200
DATA_FORMATS: Final = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}
"""The formats of files with which a script can begin, by the ends of their names."""
SCRIPT_BYTES_MAX: Final = 256 << 10
DEPLOY_SECONDS: Final = 55.0
_SCRIPT_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,80}\.sql")
_JOB_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")

Fields = dict[str, Any]


class Saved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A script to save; `before` is the digest of the file that it replaces, "" for a new one."""

    name: str
    text: str
    before: str = ""


class Deployed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A saved script to deploy as a job; with `dry_run` only what would change is told."""

    script: str
    job: str
    dry_run: bool = True
    rebuild: bool = False


class RefusedEditError(Exception):
    """What the editor asked cannot be done; the text says why."""


def checked(text: str, directory: Path) -> Fields:
    """Return the diagnostics of a text, what `fsql check` says of it, and the names that it declares."""
    script = Script(SourceText(SCRIPT, text), {}, directory, used_stdin=True)
    found: Fields = json.loads(check_json([check_script(script)]))["files"][0]
    results: list[str] = []
    tables: list[Fields] = []
    with suppress(FsqlError):
        results = [name for name, _ in results_of(parse_script(script.source).statements)]
    # A query that is being written is seldom valid; its tables are known before it is.
    for declared in (text, text[: text.rfind(";") + 1]):
        with suppress(FsqlError):
            declarations = declarations_text(SourceText(SCRIPT, declared))
            source = SourceText(SCRIPT, f"{declarations}\nSHOW TABLES;")
            tables = tables or _tables(replace(script, source=source))
    return {**found, "results": results, "tables": tables}


def _tables(script: Script) -> list[Fields]:
    """Return the names of tables and views of a script with their columns.

    Raises:
        FsqlError: if it does not compile.
    """
    tables = []
    for entry in compile_job(script, may_be_empty=True).catalog.entries():
        if isinstance(entry, TableEntry):
            names = [column.name for column in entry.columns]
            names += [column.name for column in entry.computed if not column.hidden]
        elif entry.plan is not None:
            names = [column.name for column in entry.plan.schema]
        else:
            continue
        tables.append({"name": entry.name, "columns": names})
    return tables


@cache
def words() -> Fields:
    """Return the keywords and functions of the language."""
    return {
        "keywords": sorted(parse_table().keywords | RESERVED),
        "reserved": sorted(RESERVED),
        "functions": sorted({*CALLABLE, *AGGREGATES}),
    }


def scripts(directory: Path) -> list[str]:
    """Return the names of the scripts of a directory."""
    found = (path.name for path in directory.glob("*.sql") if path.is_file())
    return sorted(name for name in found if _SCRIPT_NAME.fullmatch(name))[:SCRIPTS_MAX]


def data_files(directory: Path) -> list[Fields]:
    """Return the files of a directory with which a script can begin, and the formats of their names."""
    found = (
        {"name": path.name, "format": DATA_FORMATS[path.suffix]}
        for path in directory.iterdir()
        if path.suffix in DATA_FORMATS and not path.name.startswith(".") and path.is_file()
    )
    return sorted(found, key=lambda file: file["name"])[:FILES_MAX]


def script_text(directory: Path, name: str) -> Fields:
    """Return the text of a script of a directory, and its digest.

    Raises:
        RefusedEditError: if it cannot be read.
    """
    path = _path(directory, name)
    try:
        with path.open("rb") as file:
            content = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        raise RefusedEditError(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > SCRIPT_BYTES_MAX:
        raise RefusedEditError(f"{name} has more than {SCRIPT_BYTES_MAX >> 10} KiB")
    return {"name": name, "text": content.decode(errors="replace"), "digest": _digest(content)}


def save(directory: Path, saved: Saved) -> Fields:
    """Write a script; a file that has changed since it was opened is not replaced.

    Raises:
        RefusedEditError: if it is not written.
    """
    path = _path(directory, saved.name)
    content = saved.text.encode()
    if path.is_symlink():
        raise RefusedEditError(f"{saved.name} is a link to another file")
    try:
        now = _digest(path.read_bytes()) if path.exists() else ""
        if now not in {saved.before, _digest(content)}:
            raise RefusedEditError(f"{saved.name} has changed since it was opened: open it again")
        part = path.with_name(f".{saved.name}.{secrets.token_hex(4)}.part")
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise RefusedEditError(f"{saved.name} cannot be written: {error.strerror}") from None
    return {"name": saved.name, "digest": _digest(content)}


def _path(directory: Path, name: str) -> Path:
    if not _SCRIPT_NAME.fullmatch(name):
        raise RefusedEditError("a script has a name such as totals.sql, without folders")
    return directory / name


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def deploy(directory: Path, cluster: Path, deployed: Deployed) -> Fields:
    """Deploy a saved script by `fsql deploy`, and return what it says.

    Raises:
        RefusedEditError: if it refuses, with its diagnostics.
    """
    path = _path(directory, deployed.script)
    if not _JOB_NAME.fullmatch(deployed.job):
        raise RefusedEditError("a job has a name of letters, digits and _ . -")
    flags = ["--dry-run"] * deployed.dry_run + ["--rebuild"] * deployed.rebuild
    command = [sys.executable, "-m", "fsql", "deploy", str(path), "--name", deployed.job]
    process = await asyncio.create_subprocess_exec(
        *(*command, "--dir", str(cluster), "--json", *flags),
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    try:
        async with asyncio.timeout(DEPLOY_SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        raise RefusedEditError(f"it took more than {DEPLOY_SECONDS:.0f} s") from None
    finally:
        await end(process)
    said = [_fields(line) for line in err.decode(errors="replace").splitlines()]
    change = _fields(out.decode(errors="replace"))
    if process.returncode != 0:
        raise RefusedEditError(_reason(said) or "it was refused")
    return {
        "job": deployed.job,
        "change": change,
        "new": change is None,
        "done": not deployed.dry_run,
    }


def _fields(text: str) -> Fields | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _reason(said: list[Fields | None]) -> str:
    """Return the errors of a command, with what it says to do."""
    lines = []
    for message in said:
        for diagnostic in (message or {}).get("diagnostics", ()):
            if diagnostic["severity"] == "error":
                lines.append(f"{diagnostic['code']}: {diagnostic['message']}")
                lines += diagnostic["helps"]
    return "\n".join(lines)


def error_fields(error: FsqlError) -> Fields:
    """Return an error as the page takes it."""
    diagnostics = json.loads(render_json(error.diagnostics, error.source))
    return {"error": error.diagnostics[0].message, "diagnostics": diagnostics}
