#!/usr/bin/env python3
"""The commands of the README: they need Python 3.11 or newer and nothing else.

python3 dev.py demo    make .venv, install fsql, run a live inverted index and kill one of its workers
python3 dev.py test    the same with the tools for tests, then run all checks and tests
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON_MIN = (3, 11)
PROCESSES = ("--numprocesses", "6", "--dist", "worksteal")
"""Of the tests.  Many wait for processes that they start, so there are more than cores."""
DEMO = ROOT / "queries" / "inverted_index"
DEMO_SCRIPT = DEMO / "live.sql"
DEMO_RESULT = DEMO / "live_changes.jsonl"
DEMO_SECONDS = 25
DEMO_PASSES = 50
"""How many times the documents of `input` are sent."""


def say(text: str) -> None:
    """Report to the user what happens now."""
    print(f"==> {text}", file=sys.stderr, flush=True)  # noqa: T201 - this is a command


def run(*command: str | Path) -> int:
    """Run a command in the repository; return its exit code."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode  # noqa: S603


def run_captured(*command: str | Path) -> tuple[int, str]:
    """Run a command in the repository; return its exit code and all that it prints."""
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


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
    # pip compiles a wheel, not a checkout; where PYTHONDONTWRITEBYTECODE is set, nothing else ever would.
    run(python, "-m", "compileall", "-q", "-j", "0", "-x", r"[/\\](\.venv|tests)[/\\]", ".")
    stamp.write_text(wanted)


def demo() -> int:
    """Run the inverted index over a live stream, kill a worker half-way, and check the result."""
    install(tools=False)
    documents = read_documents() * DEMO_PASSES
    script = DEMO_SCRIPT.relative_to(ROOT)
    say(f"fsql run --overwrite --workers 2 {script}")
    say(f"{len(documents)} documents come by standard input, in about {DEMO_SECONDS} seconds;")
    say("half-way one of the two worker processes is killed (kill -9)")
    DEMO_RESULT.unlink(missing_ok=True)
    command = [str(BIN / "fsql"), "run", "--overwrite", "--workers", "2", str(script)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as job:  # noqa: S603
        sender = Sender(job, documents)
        sender.start()
        try:
            code = job.wait()
        except KeyboardInterrupt:  # the run gets the signal as well, and ends with its summary
            return job.wait() or 130
        sender.join()
    if code:
        return code
    if sender.killed is None:
        say("no worker was killed: its process was not found")
    else:
        say(f"killed: worker process {sender.killed}")
    say("the same documents again, in one process that nothing disturbs")
    undisturbed = run_undisturbed(documents)
    result = DEMO_RESULT.read_bytes()
    if result != undisturbed:
        say("the two results DIFFER: this is a bug, please report it")
        return 1
    lines = result.decode().splitlines()
    say(f"the results are equal, byte for byte: {len(lines):,} change records. The last 3:")
    print("\n".join(lines[-3:]), flush=True)  # noqa: T201
    say(f"results       {DEMO_RESULT.relative_to(ROOT)}")
    say(f"the query     {script}")
    say(f"try next      .venv/bin/fsql explain --stage tick {script}")
    say("              .venv/bin/fsql run --overwrite queries/bank_transfers/query.sql")
    say("              docs/tutorial.md: a query over what you type")
    return 0


def read_documents() -> list[bytes]:
    """Return the lines of the text files in `queries/inverted_index/input`."""
    files = sorted((DEMO / "input").glob("*.txt"))
    return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def run_undisturbed(documents: list[bytes]) -> bytes:
    """Return what one process releases for these documents."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(shutil.copy(DEMO_SCRIPT, folder))
        subprocess.run(  # noqa: S603 - our own command
            [str(BIN / "fsql"), "run", "--quiet", str(script)],
            input=b"".join(documents),
            check=False,
        )
        result = script.with_name(DEMO_RESULT.name)
        return result.read_bytes() if result.exists() else b""


class Sender(threading.Thread):
    """Sends documents to a run at a steady pace, and kills one of its workers half-way."""

    def __init__(self, job: subprocess.Popen[bytes], documents: list[bytes]) -> None:
        super().__init__(name="sender", daemon=True)
        self._job = job
        self._documents = documents
        self.killed: int | None = None

    def run(self) -> None:
        """Send all documents, or as many as the run takes."""
        assert self._job.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._job.stdin as stream:
            for number, document in enumerate(self._documents):
                stream.write(document)
                stream.flush()
                if number == 0:
                    self._wait_for_results()
                if number == len(self._documents) // 2:
                    self._kill_worker()
                time.sleep(DEMO_SECONDS / len(self._documents))

    def _wait_for_results(self) -> None:
        """Wait until the processes of the run have started: the first document is in the output."""
        while self._job.poll() is None and not (
            DEMO_RESULT.exists() and DEMO_RESULT.stat().st_size
        ):
            time.sleep(0.1)

    def _kill_worker(self) -> None:
        listed = processes()
        forks = {pid for pid, parent, _ in listed if parent == self._job.pid}
        workers = [pid for pid, parent, line in listed if parent in forks and " worker " in line]
        if workers:
            self.killed = min(workers)
            os.kill(self.killed, signal.SIGKILL)


def processes() -> list[tuple[int, int, str]]:
    """Return the number, the parent and the command line of each process of this machine."""
    found = []
    try:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,args="],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for line in listed.splitlines():
            pid, parent, command = line.split(None, 2)
            found.append((int(pid), int(parent), command))
    except (OSError, ValueError, subprocess.SubprocessError):  # a container without ps, say
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                command = (folder / "cmdline").read_text().replace("\0", " ")
                found.append((int(folder.name), int(parent), command))
    return found


def test() -> int:
    """Run the tests and, at the same time, the linters, the type checker and the import contracts.

    The summary of pytest is the last output, unless another check failed.
    """
    install(tools=True)
    checks: dict[str, tuple[str | Path, ...]] = {
        "format": (BIN / "ruff", "format", "--check", "--quiet", "."),
        "lint": (BIN / "ruff", "check", "--quiet", "."),
        "types": (BIN / "mypy",),
        "imports": (BIN / "lint-imports",),
    }
    outputs = dict.fromkeys(checks, "it did not run")

    def check() -> None:
        for name, command in checks.items():
            code, output = run_captured(*command)
            if code:
                outputs[name] = output
            else:
                del outputs[name]

    beside = threading.Thread(target=check, name="checks")
    say(f"tests, and at the same time: {', '.join(checks)}")
    beside.start()
    code = run(BIN / "pytest", "--all", *PROCESSES, *sys.argv[2:])
    beside.join()
    for output in outputs.values():
        print(output, file=sys.stderr)  # noqa: T201
    failed = [*outputs, *(["tests"] if code else [])]
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
