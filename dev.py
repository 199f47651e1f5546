#!/usr/bin/env python3
"""The commands of the README: they need Python 3.11 or newer and nothing else.

python3 dev.py demo    make .venv, install fsql, run the inverted index over real text
python3 dev.py test    the same with the tools for tests, then run all checks and tests
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON_MIN = (3, 11)
DEMO = ROOT / "queries" / "inverted_index"


def say(text: str) -> None:
    """Tell the user what happens now."""
    print(f"==> {text}", file=sys.stderr, flush=True)  # noqa: T201 - this is a command


def run(*command: str | Path) -> int:
    """Run a command in the repository; return its exit code."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode  # noqa: S603


def install(*, tools: bool) -> None:
    """Make the environment if there is none, and install fsql into it where it lacks something."""
    python = BIN / "python"
    if not python.exists():
        say(f"making an environment in {VENV.relative_to(ROOT)}")
        venv.create(VENV, with_pip=True)
    stamp = VENV / ("installed-with-tools" if tools else "installed")
    wanted = (ROOT / "pyproject.toml").read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say("installing fsql" + (" and the tools for its tests" if tools else "") + ", about a minute")
    quiet = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    if run(python, *quiet, "--upgrade", "pip>=25.1"):
        sys.exit("could not install pip 25.1 or newer: is a package index reachable?")
    if run(python, *quiet, "--editable", ".", *(("--group", "dev") if tools else ())):
        sys.exit("could not install fsql: see what pip says above")
    stamp.write_text(wanted)


def demo() -> int:
    """Run the inverted index over the text files in `queries/inverted_index/input`."""
    install(tools=False)
    say(f"fsql run --overwrite {(DEMO / 'query.sql').relative_to(ROOT)}")
    code = run(BIN / "fsql", "run", "--overwrite", DEMO / "query.sql")
    if code:
        return code
    result = (DEMO / "changes.jsonl").read_bytes()
    lines = result.decode().splitlines()
    say(f"the first 5 of {len(lines)} change records in queries/inverted_index/changes.jsonl:")
    print("\n".join(lines[:5]), flush=True)  # noqa: T201
    same = result == (DEMO / "expected" / "changes.jsonl").read_bytes()
    say("byte for byte what every run releases" if same else "NOT what every run releases: a bug")
    return 0 if same else 1


def test() -> int:
    """Run the linters, the type checker, the import contracts and the tests."""
    install(tools=True)
    checks: tuple[tuple[str, tuple[str | Path, ...]], ...] = (
        ("format", (BIN / "ruff", "format", "--check", "--quiet", ".")),
        ("lint", (BIN / "ruff", "check", "--quiet", ".")),
        ("types", (BIN / "mypy",)),
        ("imports", (BIN / "lint-imports",)),
        ("tests", (BIN / "pytest", "--all", "--numprocesses", "2", *sys.argv[2:])),
    )
    failed = []
    for name, command in checks:
        say(name)
        if run(*command):
            failed.append(name)
    if failed:
        say("failed: " + ", ".join(failed))
    return 1 if failed else 0


def main() -> int:
    """Carry out the command on the command line."""
    if sys.version_info < PYTHON_MIN:
        sys.exit("fsql needs Python 3.11 or newer; this is " + sys.version.split()[0])
    commands = {"demo": demo, "test": test}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    return commands[sys.argv[1]]()


if __name__ == "__main__":
    sys.exit(main())
