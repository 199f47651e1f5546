"""Collects `*.test` files; each case is an item named `file:line`."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from fsql.tests.case_commands import COMMANDS
from fsql.tests.case_files import Case, command_line, read_cases, write_cases

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable


TESTS = Path(__file__).parent
SLOW = (
    "cli/test_bench.py",
    "cli/test_bench_drift.py",
    "cli/test_bench_hot_keys.py",
    "cli/test_bench_sharing.py",
    "cli/test_distributed_errors.py",
    "cli/test_existing_outputs.py",
    "cli/test_live_input.py",
    "cli/test_processes.py",
    "cluster",
    "conformance",
    "deployment",
    "docs",
    "library/test_docs.py",
    "library/test_processes.py",
    "property",
    "simulation",
    "spark",
    "ui",
    "unit/drivers/test_launcher.py",
    "unit/kernels/test_loaded_keys.py",
    "zookeeper",
)
"""Folders and files whose tests are slow, each of them; other slow tests are marked one by one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="write what the cases give now as expected"
    )
    parser.addoption("--all", action="store_true", help="run the slow tests too")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of xdist whether the slow tests are asked for: it is given paths in any case."""
    node.workerinput["all"] = node.config.option.all
    if _is_first(node) and node.workerinput["workercount"] > (os.cpu_count() or 1):
        _TURN.begin()
    elif _TURN.file is not None:
        node.workerinput["turn"] = _TURN.file.name


class _Turn:
    """A lock that the other processes of xdist wait for while the first collects the tests.

    Compiling modules and test modules takes three times as long as loading what was compiled.  Otherwise
    all processes would compile all modules at the same time.
    """

    file: Any = None

    def begin(self) -> None:
        self.file = tempfile.NamedTemporaryFile(prefix="fsql-tests-")  # noqa: SIM115 - until `end`
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def end(self) -> None:
        if self.file is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)


_TURN = _Turn()


def _is_first(node: Any) -> bool:
    return bool(node.gateway.id == "gw0")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    if _is_first(node):
        _TURN.end()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Have nobody wait for a process that ended while it collected."""
    if _is_first(node):
        _TURN.end()


@pytest.fixture
def no_garbage() -> None:
    """Finalise what other tests have left in cycles, such as runs that were not ended.

    During a simulation, a finaliser that reads the clock fails (`runtime/simulation/tripwire.py`).
    """
    gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect the tests, in turn, and keep the garbage collector off what stays until the end.

    It would look at all modules and tests again and again, here and while tests run.
    """
    turn = getattr(session.config, "workerinput", {}).get("turn")
    if turn:
        with Path(turn).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run a whole tier in one process for each core unless a number of processes is given.

    Cases of one file are rewritten by one process: several would write over each other.
    """
    if hasattr(config, "workerinput"):
        return
    if config.option.rewrite:
        if config.getoption("numprocesses", 0):
            message = "--rewrite runs in one process: remove -n"
            raise pytest.UsageError(message)
        return
    if _tests_are_named(config):
        return
    if config.getoption("numprocesses", 0) is None:
        config.option.numprocesses = "auto"
        config.option.dist = "worksteal"


def _tests_are_named(config: pytest.Config) -> bool:
    """Say whether paths, a keyword or a marker select tests: then slow tests are not left out."""
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return named or bool(config.option.keyword or config.option.markexpr)


def pytest_configure(config: pytest.Config) -> None:
    # In continuous integration pytest prints whole differences, which takes hours for large outputs.
    os.environ.pop("CI", None)
    os.environ.pop("BUILD_NUMBER", None)
    if hasattr(config, "workerinput"):
        config.option.all = config.workerinput["all"]
    else:
        config.option.all = config.option.all or _tests_are_named(config)
    # Examples are the same in every run, and none fails since the machine had something else to do.
    settings.register_profile(
        "fsql",
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("fsql")
    # Plans are verified behind each pass of the rules.
    os.environ["FSQL_VERIFY"] = "1"
    os.environ["FSQL_UI"] = "0"  # agents of tests serve no page, except those of its tests
    # The key of TCP consumers is that of the user, whose files tests leave alone.
    os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="fsql-tests-")
    # What is shown depends on the terminal; those of tests are their own.
    for name in ("COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    # A Java that ends after seconds compiles for longer than its faster code makes up for.
    os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # A shell has its background processes ignore Ctrl-C, and `nohup` hang-ups; so would what tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    # Processes that tests start would compile all modules anew, which takes as long as the test.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        compiled = tempfile.mkdtemp(prefix="fsql-tests-")
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        config.add_cleanup(partial(shutil.rmtree, compiled, ignore_errors=True))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders and files of slow tests unless they are asked for: importing them takes time."""
    if not config.option.all and str(collection_path.relative_to(TESTS)) in SLOW:
        return True
    return None


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["XDG_CONFIG_HOME"], ignore_errors=True)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".test":
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterable[CaseItem]:
        tables = ""
        for case in read_cases(self.path.read_text()):
            if case.command == "tables":
                tables += case.input
            else:
                name = f"{self.path.name}:{case.line}"
                yield CaseItem.from_parent(self, name=name, case=case, tables=tables)


class CaseItem(pytest.Item):
    """A case; what it gives is compared as a whole."""

    def __init__(self, *, case: Case, tables: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.tables = tables

    def runtest(self) -> None:
        name, arguments = command_line(self.case.command)
        actual = COMMANDS[name](self.tables + self.case.input, **arguments)
        if self.config.getoption("--rewrite"):
            self.rewrite(actual)
        else:
            assert actual == self.case.expected

    def rewrite(self, actual: str) -> None:
        """Write what the case gives now into its file."""
        cases = read_cases(self.path.read_text())
        before = [case for case in cases if same_place(case, self.case)]
        self.path.write_text(write_cases(cases, {case.line: actual for case in before}))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.line - 1, self.name


def same_place(case: Case, other: Case) -> bool:
    """Say whether two readings of a case are of one case; its line may have moved."""
    return (case.command, case.input, case.comments) == (other.command, other.input, other.comments)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow tests, and leave out slow tests unless they are asked for.

    Tests on Spark come first.  The first process of xdist has them then, and others take tests from the end
    of what it has, so that one Spark session is started for all of them.
    """
    slow_paths: dict[Path, bool] = {}
    for item in items:
        if item.path not in slow_paths:
            path = item.path.relative_to(TESTS)
            slow_paths[item.path] = path.parts[0] in SLOW or str(path) in SLOW
        if slow_paths[item.path]:
            item.add_marker("slow")
    if config.option.all:
        items.sort(key=lambda item: item.path.parent != TESTS / "spark")
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item.get_closest_marker("slow") is None]
