"""`fsql init`: creates a project that is ready to run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fsql.console.commands import pass_reporter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.console.reporter import Reporter

_TEMPLATE: Final = Path(__file__).parent / "template"
_NAMES: Final = {"gitignore": ".gitignore"}
"""Files whose names differ in a project."""
_MAY_BE_THERE: Final = frozenset({".git"})


@click.command(short_help="Create a project that is ready to run.")
@click.argument("directory", default=".", metavar="[DIR]")
@pass_reporter
def init(reporter: Reporter, directory: str) -> None:
    """Create a project in DIR, by default in the working directory: settings, a script, data and tests.

    DIR must be new or empty; a directory .git may be in it.
    """
    target = Path(directory)
    _check_empty(target)
    files = create_project(target)
    commands = [*_go_there(target), "fsql run", "fsql test", "fsql check"]
    fields = {"directory": str(target), "files": files, "commands": commands}
    tree = "".join(f"  {line}\n" for line in _tree(files))
    steps = "".join(f"  {command}\n" for command in commands)
    text = f"created a project in {directory}\n\n{tree}\nnext:\n\n{steps}"
    reporter.inform("created", fields, text)


def create_project(target: Path) -> list[str]:
    """Write the files of a new project; return their paths inside it.

    Raises:
        FsqlError: E704, if one cannot be written.
    """
    created = []
    try:
        for source in _template_files():
            relative = source.relative_to(_TEMPLATE)
            written = relative.with_name(_NAMES.get(relative.name, relative.name))
            (target / written).parent.mkdir(parents=True, exist_ok=True)
            (target / written).write_bytes(source.read_bytes())
            created.append(str(written))
    except OSError as error:
        raise _refusal(f'"{target}" cannot be written: {error.strerror}') from None
    return created


def _template_files() -> Iterator[Path]:
    """Yield the files of the template: the files of a directory after its directories, sorted."""
    pending = [_TEMPLATE]
    for directory in pending:
        pending += sorted(each for each in directory.iterdir() if each.is_dir())
        yield from sorted(each for each in directory.iterdir() if each.is_file())


def _check_empty(target: Path) -> None:
    """Check that nothing would be overwritten.

    Raises:
        FsqlError: E704, if the directory is not empty, or is a file.
    """
    if target.exists() and not target.is_dir():
        raise _refusal(f'"{target}" is a file')
    try:
        there = sorted(each.name for each in target.iterdir()) if target.exists() else []
    except OSError as error:
        raise _refusal(f'"{target}" cannot be read: {error.strerror}') from None
    others = [name for name in there if name not in _MAY_BE_THERE]
    if others:
        shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        raise _refusal(f'directory "{target}" is not empty: it has {shown}')


def _refusal(message: str) -> Exception:
    from fsql.compiler.diagnostics import Diagnostic, FsqlError

    helps = ("name a new directory: fsql init NAME",)
    return FsqlError([Diagnostic("E704", message, helps=helps)])


def _go_there(target: Path) -> list[str]:
    return [] if target.resolve() == Path.cwd() else [f"cd {shlex.quote(str(target))}"]


def _tree(files: list[str]) -> list[str]:
    """Return the lines of a tree: first the files at the top, then directories with their files."""
    lines: list[str] = []
    shown = ""
    for name in files:
        directory, slash, file = name.rpartition("/")
        if directory != shown:
            lines.append(f"{directory}/")
            shown = directory
        lines.append(f"  {file}" if slash else name)
    return lines
