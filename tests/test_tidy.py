"""The code about itself: words that may not stand, the files that must, imports without circles."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
from pathlib import Path

import grimp
import pytest

from fsql.compiler import logical

ROOT = Path(__file__).resolve().parent.parent

BANNED = {
    r"\bpickle\b": "msgspec, Arrow IPC",
    r"(?<![\w.])eval\(": "a table of functions",
    r"(?<![\w.])exec\(": "a table of functions",
    r"shell=True": "a list of arguments",
    r"os\.system": "subprocess with a list of arguments",
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "an issue",
    r"pytest\.skip|mark\.skip|mark\.xfail|pytest\.xfail": "a test that runs",
    r"(?<![\w.])hash\(": "fsql.runtime.hashing",
    r"pyarrow\.json": "msgspec (it crashes on `null`)",
}
ORACLE_MAY_IMPORT = (
    "fsql.compiler.row_pattern",
    "fsql.compiler.expression",
    # Functions of users, which the oracle calls itself.
    "fsql.compiler.functions.python_aggregates.registered_aggregate",
    "fsql.compiler.functions.python_functions.loaded",
    "fsql.compiler.functions.python_programs.registered_program",
    "fsql.compiler.logical",
    "fsql.compiler.node",
    "fsql.compiler.schema",
    "fsql.compiler.sqltypes",
    "fsql.runtime.ports",
    "fsql.tests.reference",
)

OTHER_SYSTEMS = re.compile(
    r"flink|ksql|postgres|risingwave|arroyo|feldera|spark|snowflake|bigquery|clickhouse|duckdb|mysql"
    r"|databricks|trino|redshift|calcite|\bhive\b",
    re.IGNORECASE,
)
NAME_OTHER_SYSTEMS = {
    # What is said to users: messages and pages of the manual.
    "compiler/diagnostics/codes_cluster.py",
    "compiler/diagnostics/codes_data.py",
    "compiler/diagnostics/codes_meaning.py",
    "compiler/diagnostics/codes_names.py",
    "compiler/functions/manual/arrays.py",
    "compiler/functions/manual/encodings.py",
    "compiler/functions/manual/json.py",
    "compiler/functions/manual/texts.py",
    "compiler/functions/manual/times.py",
    # The families of patterns, whose names messages say.
    "compiler/functions/read_patterns.py",
    "compiler/functions/template_patterns.py",
    "compiler/functions/time_pattern_families.py",
    "compiler/functions/time_patterns.py",
}
"""The files of the compiler outside of `dialects` that may name another system; the list may only shrink."""

MAKE_OPERATORS_STILL = {
    "compiler/binder/changelogs/change_source.py",
    "compiler/binder/changelogs/changelog.py",
    "compiler/binder/changelogs/to_changelog.py",
    "compiler/binder/constants.py",
    "compiler/binder/ddl/time_kinds.py",
    "compiler/binder/insert.py",
    "compiler/binder/insert_clauses.py",
    "compiler/binder/joins/asof_contents.py",
    "compiler/binder/joins/join.py",
    "compiler/binder/joins/lookup_join.py",
    "compiler/binder/joins/next_rows.py",
    "compiler/binder/joins/outer_join.py",
    "compiler/binder/joins/snapshot_join.py",
    "compiler/binder/joins/temporal_join.py",
    "compiler/binder/joins/using.py",
    "compiler/binder/joins/versions.py",
    "compiler/binder/joins/window_join.py",
    "compiler/binder/row_patterns/match_recognize.py",
    "compiler/binder/row_patterns/match_timers.py",
    "compiler/binder/subqueries/decorrelation.py",
    "compiler/binder/subqueries/dependent_from.py",
    "compiler/binder/subqueries/lateral.py",
    "compiler/binder/tables.py",
    "compiler/binder/windows/session.py",
    "compiler/binder/windows/window.py",
}


def sources(pattern: str = "*.py") -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file())


@pytest.mark.parametrize("pattern", BANNED)
def test_banned_words(pattern: str) -> None:
    found = []
    for path in sources():
        text = path.read_text()
        if path.name != "test_tidy.py" and re.search(pattern, text):
            found += [
                f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                for number, line in enumerate(text.splitlines(), 1)
                if re.search(pattern, line)
            ]
    assert found == [], f"use {BANNED[pattern]}"


def test_no_file_is_named_for_nothing() -> None:
    names = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py", "core.py", "manager.py"}
    assert [path for path in sources() if path.name in names] == []


def test_the_oracle_shares_nothing_with_what_it_judges() -> None:
    found = []
    for path in (ROOT / "tests" / "reference").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fsql"):
                names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                if not any(str(name).startswith(ORACLE_MAY_IMPORT) for name in names):
                    found.append(f"{path.name}: {node.module}")
    assert found == []


def test_the_binder_makes_no_operators_but_in_files_that_wait() -> None:
    """What the binder resolves, the planner makes operators of; the list may only shrink."""
    operators = {
        name
        for name, value in vars(logical).items()
        if isinstance(value, type) and issubclass(value, logical.Plan)
    }
    make = {
        str(path.relative_to(ROOT))
        for path in sources("compiler/binder/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in operators
    }
    assert make == MAKE_OPERATORS_STILL


def test_other_systems_are_named_at_home_only() -> None:
    named = {
        str(path.relative_to(ROOT))
        for path in sources("compiler/*.py")
        if "dialects" not in path.parts
        and OTHER_SYSTEMS.search(path.read_text().replace("fsql.compiler.dialects", ""))
    }
    assert named == NAME_OTHER_SYSTEMS


def test_every_package_of_the_root_is_in_the_wheel() -> None:
    listed = (ROOT / "pyproject.toml").read_text().split("only-include = [")[1].split("]")[0]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"cli.py", "queries"}
    assert {name for name in packages if f'"{name}"' not in listed} == set()


def test_lists_of_modules_are_complete() -> None:
    """A package whose docstring has a table of its modules names all of them, and nothing else."""
    wrong = {}
    for path in sources("*__init__.py"):
        doc = ast.get_docstring(ast.parse(path.read_text())) or ""
        if "\n| module " not in doc:
            continue
        table = doc[doc.index("\n| module ") :].strip().split("\n\n")[0]
        listed = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()))
        there = {each.stem for each in path.parent.glob("*.py")} - {"__init__"}
        there |= {each.parent.name for each in path.parent.glob("*/__init__.py")}
        if sorted(listed) != sorted(there):
            wrong[str(path.relative_to(ROOT))] = sorted(there ^ set(listed))
    assert wrong == {}


def test_imports_have_no_circles() -> None:
    """Modules import each other in one direction, functions included; types may refer to each other."""
    graph = grimp.build_graph("fsql", exclude_type_checking_imports=True, cache_dir=None)
    assert len(graph.modules) > 500
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    graphlib.TopologicalSorter(imported).prepare()  # CycleError names the circle


def test_closed_rooms_have_no_circles_of_types() -> None:
    """Where each room is closed, not even annotations refer to each other."""
    rooms = ("kernels", "cluster", "hosts", "state", "wire", "coordination", "model")
    prefixes = tuple(f"fsql.runtime.{room}." for room in rooms)
    compiler = ("binder", "bound", "planner", "logical", "rules", "lowering")
    prefixes += tuple(f"fsql.compiler.{room}." for room in compiler)
    graph = grimp.build_graph("fsql", exclude_type_checking_imports=False, cache_dir=None)
    imported = {
        name: {
            other
            for other in graph.find_modules_directly_imported_by(name)
            if other.startswith(prefixes)
        }
        for name in graph.modules
        if name.startswith(prefixes)
    }
    assert len(imported) > 150
    graphlib.TopologicalSorter(imported).prepare()  # CycleError names the circle


def test_no_class_name_means_two_things_in_one_package() -> None:
    classes: dict[tuple[str, str], list[str]] = {}
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault((str(path.parent), node.name), []).append(path.name)
    assert {key: names for key, names in classes.items() if len(names) > 1} == {}
