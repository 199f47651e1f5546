"""`--help` of the commands, and that it starts fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fsql import __version__
from fsql.tests.cli.commands import fsql

HELP = """\
Usage: fsql [OPTIONS] COMMAND [ARGS]...

  Streaming SQL with deterministic, exactly-once results.

  Data goes to standard output, everything else to standard error.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
  bench          Measure fsql on this machine.
  check          Check scripts without running them.
  compile        Check a script and write its plan to a file.
  completion     Print a completion script for a shell.
  config         Show the settings.
  connectors     List connectors and formats with their options.
  consume        Store the rows that a job writes with connector tcp.
  datagen        Generate rows with given columns.
  deploy         Run a script as a job of the agent.
  doctor         Check the cluster directory and this machine.
  down           Stop the agent and all jobs.
  drop           Stop a job and remove its state.
  explain        Show a script at one stage of compilation.
  explain-error  Explain an error code.
  fmt            Format scripts.
  init           Create a project that is ready to run.
  keys           Create and show the CURVE keys of this machine.
  list           List the jobs.
  logs           Print the log of a job.
  merge          Merge the shards of a table into one file.
  ps             List the processes of the agent and of all jobs.
  query          Ask a running job for its results.
  rename         Rename a job.
  restart        Start a job again.
  run            Run a script.
  script         Print the script of a job.
  serve          Serve the results of jobs: PostgreSQL, HTTP.
  shell          Run statements from a terminal or standard input.
  sim            Simulate clusters in virtual time, with faults.
  snapshot       Take, list, verify, restore and repair snapshots.
  stats          Show the statistics of a job.
  status         Show the state of a job.
  stop           Stop a job.
  test           Run the tests of scripts.
  tick           Change owners of keys, or the plan, while a job runs.
  top            Watch the jobs.
  ui             Show the jobs in the browser.
  up             Start the agent that keeps deployed jobs running.
  worker         Join a run as a worker.
  zookeeper      Run a ZooKeeper server on this machine.

  Exit codes:

    0    success
    1    error in the script or in a file that it names
    2    error in the command line
    3    a row stopped the job: it is malformed, or an expression failed on it
    130  interrupted by Ctrl-C
    143  terminated by SIGTERM
    70   internal error: please report it
"""


def test_help() -> None:
    assert fsql("--help") == (0, HELP, "")


def test_version() -> None:
    assert fsql("--version") == (0, f"fsql {__version__}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        "bench",
        "check",
        "compile",
        "completion",
        "config",
        "consume",
        "datagen",
        "explain",
        "explain-error",
        "fmt",
        "init",
        "query",
        "run",
        "serve",
        "shell",
        "sim",
        "snapshot",
        "stats",
        "test",
        "tick",
        "worker",
        "zookeeper",
    ],
)
def test_every_command_has_help(command: str) -> None:
    code, out, err = fsql(command, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: fsql {command} [OPTIONS]")


def test_the_help_of_run_explains_relative_paths() -> None:
    words = " ".join(fsql("run", "--help").out.split())
    assert (
        "Relative paths of sources and sinks are relative to the directory of the script; in a script from"
        " standard input or -e, to the working directory."
    ) in words


def test_help_imports_no_slow_module() -> None:
    # The budget is 150 ms.  Times depend on the machine; the imported modules do not.
    program = (
        "import sys\n"
        "from fsql.cli import main\n"
        "try: main(['--help'], prog_name='fsql')\n"
        "except SystemExit: pass\n"
        "slow = {'numpy', 'pyarrow', 'rich', 'lark', 'msgspec', 'xxhash', 'tomllib'}\n"
        "print(*sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{HELP}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "give either a script or -e with its text"),
        (("run", "a.sql", "-e", "SELECT"), "give either a script or -e with its text"),
        (("run", "-e", "SELECT", "-D", "x"), '"x" is not of the form name=value'),
        (("run", "-e", "SELECT", "--workers", "0"), "0 is not in the range 1<=x<=64"),
        (("run", "-e", "SELECT", "--policy", "lazy"), "'lazy' is not one of"),
        (("jump",), "No such command 'jump'"),
        (("jobs",), "No such command 'jobs'. Did you mean 'list'?\n"),
        (("drain", "orders"), "No such command 'drain'. Did you mean 'stop --drain'?\n"),
        (("lits",), "No such command 'lits'. Did you mean 'list'?\n"),
        (("coordinato",), "No such command 'coordinato'.\n"),
        (("check",), "give scripts or directories of scripts"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: tuple[str, ...], message: str) -> None:
    code, out, err = fsql(*arguments)
    assert (code, out) == (2, "")
    assert message in err
