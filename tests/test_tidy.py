"""The code about itself: sizes with a ratchet, words that may not stand, the files that must.

Short files and functions may not grow over the limits; the few that are over may only shrink, and the
list says by how much they are.
"""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grimp
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
LONGER_FILES: dict[str, int] = {}
LONGER_FUNCTIONS: dict[str, int] = {}

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
# A participle alone or before a preposition: `kept`, `_waited_for`, `stored_below_any`.
PARTICIPLE = re.compile(
    r"_?(?!feed|embed|seed|speed|exceed|proceed|need)"
    r"([a-z]+ed|kept|left|shown|known|held|found|sent|lost|made|given|taken|written|seen|chosen|met|drawn)"
    r"(_(with|up|off|out|by|for|from|to|at|in|on|below|above|since|downstream|upstream|any|all))*"
)
ORACLE_MAY_IMPORT = (
    "fsql.compiler.row_pattern",
    "fsql.compiler.expression",
    # Functions of users, which the oracle calls itself.
    "fsql.compiler.functions.python_aggregates.registered_aggregate",
    "fsql.compiler.functions.python_functions.loaded",
    "fsql.compiler.logical",
    "fsql.compiler.node",
    "fsql.compiler.schema",
    "fsql.compiler.sqltypes",
    "fsql.runtime.ports",
    "fsql.tests.reference",
)


def sources(pattern: str = "*.py") -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file())


def test_files_are_short() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in sources()}
    over = {
        name: lines
        for name, lines in lengths.items()
        if lines > LONGER_FILES.get(name, FILE_LINES_MAX)
    }
    assert over == {}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those within them; what is within expressions would take ten times as long."""
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, name, []))


class Definitions(NamedTuple):
    """What a file defines: its functions with the lines of each, and its outermost classes."""

    path: Path
    functions: list[tuple[str, int]]
    classes: list[str]
    methods: list[str]


@cache
def definitions() -> list[Definitions]:
    found = []
    for path in sources():
        body = ast.parse(path.read_text()).body
        functions = [
            (node.name, (node.end_lineno or 0) - node.lineno + 1)
            for node in statements(body)
            if isinstance(node, ast.FunctionDef)
        ]
        classes = [node for node in body if isinstance(node, ast.ClassDef)]
        methods = [
            f"{each.name}.{node.name}"
            for each in classes
            for node in each.body
            if isinstance(node, ast.FunctionDef)
            and not any("property" in ast.unparse(d) for d in node.decorator_list)
        ]
        found.append(Definitions(path, functions, [each.name for each in classes], methods))
    return found


def test_functions_are_short() -> None:
    over = {}
    for each in definitions():
        for function, lines in each.functions:
            name = f"{each.path.relative_to(ROOT)}:{function}"
            if lines > LONGER_FUNCTIONS.get(name, FUNCTION_LINES_MAX):
                over[name] = lines
    assert over == {}


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


def test_no_class_name_means_two_things_in_one_package() -> None:
    classes: dict[tuple[str, str], list[str]] = {}
    for each in definitions():
        for name in each.classes:
            classes.setdefault((str(each.path.parent), name), []).append(each.path.name)
    assert {key: names for key, names in classes.items() if len(names) > 1} == {}


def test_methods_are_not_named_by_participles() -> None:
    """Properties may be: they say what an object is. A method is named by what it does or returns."""
    wrong = {
        f"{each.path.relative_to(ROOT)}: {name}"
        for each in definitions()
        if "tests" not in each.path.relative_to(ROOT).parts
        for name in each.methods
        if PARTICIPLE.fullmatch(name.partition(".")[2])
    }
    assert wrong == set()
