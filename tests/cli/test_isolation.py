"""Files beside the data are never executed, whatever they are called."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import NUMBERS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EXPECTED = '{"op":"+I","sum":1}\n'

MODULES = ("random", "socket", "numpy", "click", "msgspec", "fsql", "__future__")
"""Modules of Python, of libraries, and of fsql itself."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with data, and files whose names are those of modules."""
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n{"n":2}\n')
    (tmp_path / "job.sql").write_text(NUMBERS + "SELECT SUM(n) AS sum FROM numbers WHERE n < 2;")
    for name in MODULES:
        trap = f"import os\nos.write(2, b'{name} was executed\\n')\nos._exit(99)\n"
        (tmp_path / f"{name}.py").write_text(trap)
    return tmp_path


def ran(directory: Path, *command: str) -> tuple[int, str, str]:
    """Run the script there with a command; return its exit code and what it printed."""
    run = subprocess.run(
        [sys.executable, *command, "run", "job.sql", "-q"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout, run.stderr


def test_processes_of_a_run(directory: Path) -> None:
    """The launcher is started safely here; what it starts, it starts safely by itself."""
    program = (
        "import sys; sys.argv[:] = ['fsql', *sys.argv[1:], '--workers', '2'];"
        " from fsql.__main__ import main; main()"
    )
    assert ran(directory, "-P", "-c", program) == (0, EXPECTED, "")


def test_python_m(directory: Path) -> None:
    """Python itself finds the package here; from then on nothing is looked for among the data."""
    (directory / "fsql.py").unlink()
    assert ran(directory, "-m", "fsql") == (0, EXPECTED, "")


def test_a_run_does_not_import_pandas(directory: Path) -> None:
    """Pyarrow imports it where it can, and every process would take twice as long to start."""
    code, written, imported = ran(directory, "-P", "-X", "importtime", "-m", "fsql")
    assert (code, written) == (0, EXPECTED)
    modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
    assert "pyarrow" in modules
    assert not [name for name in modules if name.startswith("pandas.")]
