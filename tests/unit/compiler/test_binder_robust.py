"""Whatever is written, binding ends with a legal plan or with an error that says why.

Scripts of the case files are changed a little, at random from a seed: names for other names, literals for
other literals, words left out or doubled.  Catches crashes of the binder and plans that are not legal; does
not look at whether the error is the right one, which is for the case files.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_error
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.case_files import read_cases

CASES = Path(__file__).parents[2] / "cases"
SCRIPTS_PER_SEED = 250
TOKEN = re.compile(r"'(?:[^']|'')*'|\d+\.\d+|\w+|<>|<=|>=|=>|\|\||[^\s\w]")


def scripts() -> list[tuple[str, str]]:
    """Return the tables and the input of every case, in a fixed order."""
    found = []
    for path in sorted([*CASES.glob("bind/*.test"), *CASES.glob("errors/*.test")]):
        tables = ""
        for case in read_cases(path.read_text()):
            if case.command == "tables":
                tables += case.input
            else:
                found.append((tables, case.input))
    return found


def kind(token: str) -> str:
    """Return what a token may be exchanged for: others of its kind."""
    if token[0] == "'":
        return "string"
    if token[0].isdigit():
        return "number"
    if token[0].isalpha():
        return "word" if token.isupper() and len(token) > 1 else "name"
    return "sign"


def changed(script: str, by_kind: dict[str, list[str]], random: Random) -> str:
    """Return the script with one to three changes."""
    tokens = TOKEN.findall(script)
    for _ in range(random.randint(1, 3)):
        values = [i for i, token in enumerate(tokens) if kind(token) not in {"word", "sign"}]
        choice = random.random()
        if values and choice < 0.8:
            place = random.choice(values)
            tokens[place] = random.choice(by_kind[kind(tokens[place])])
        elif tokens:
            place = random.randrange(len(tokens))
            part = tokens[place : place + random.randint(1, 6)]
            tokens[place : place + len(part)] = part * random.choice([0, 2])
    return " ".join(tokens)


@pytest.mark.parametrize("seed", range(3))
def test_changed_scripts(seed: int) -> None:
    random = Random(seed)
    corpus = scripts()
    by_kind: dict[str, list[str]] = defaultdict(list)
    for _, script in corpus:
        for token in TOKEN.findall(script):
            by_kind[kind(token)].append(token)
    bound = 0
    for _ in range(SCRIPTS_PER_SEED):
        tables, script = random.choice(corpus)
        text = tables + changed(script, by_kind, random)
        try:
            verify_logical(compile_script(SourceText("changed.sql", text), DECLARED).logical)
            bound += 1
        except FsqlError as error:
            render_error(error)
    assert bound > 0


def nested(count: int, around: str, core: str) -> str:
    """Return `core` put into the `@` of `around` so many times."""
    for _ in range(count):
        core = around.replace("@", core)
    return core


TABLE = (
    "CREATE TABLE t (a BIGINT, s STRING, p BOOLEAN) WITH ('connector' = 'file', 'path' = 't');\n"
)


@pytest.mark.parametrize(
    "query",
    [
        nested(196, "SELECT a + 1 AS a FROM (@) AS q WHERE a > 1", "SELECT a FROM t"),
        nested(190, "SELECT a FROM (@) AS q", "SELECT INSTR(s, 'a', 2) AS a FROM t"),
        nested(120, "WITH w AS (@) SELECT a, COUNT(*) AS n FROM w GROUP BY a", "SELECT a FROM t"),
        "SELECT a FROM t WHERE " + " AND ".join(f"a <> {i}" for i in range(1500)),
        "SELECT a FROM t WHERE a IN (" + ", ".join(map(str, range(1500))) + ")",
        "SELECT " + " || ".join(["s"] * 1500) + " AS x FROM t",
        "SELECT " + "+ - " * 90 + "a AS x FROM t",
        "SELECT s" + " -> s" * 90 + " AS x FROM t",
        " UNION ALL ".join(["SELECT a FROM t"] * 200),
        "SELECT " + ", ".join(["a"] * 3000) + " FROM t",
    ],
    ids=[
        "subqueries",
        "forms",
        "common tables",
        "AND",
        "IN",
        "||",
        "signs",
        "->",
        "UNION",
        "one name",
    ],
)
def test_long_and_deep_scripts_bind(query: str) -> None:
    verify_logical(compile_script(SourceText("deep.sql", TABLE + query), DECLARED).logical)


def test_the_effort_for_a_long_list_is_linear() -> None:
    """Counted in calls of functions, not in time."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    made = []
    for length in (500, 1_000, 2_000):
        text = f"{TABLE}SELECT a FROM t WHERE a IN ({', '.join(map(str, range(length)))})"
        source = SourceText("long.sql", text)
        before, calls = sys.getprofile(), 0
        sys.setprofile(count)
        try:
            compile_script(source, DECLARED)
        finally:
            sys.setprofile(before)
        made.append(calls)
    first, second, third = made
    assert third - second < 2.2 * (second - first)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "+".join(["a"] * 5000) + " AS x FROM t",
        "SELECT " + nested(60, "((@) BETWEEN p AND p)", "p") + " AS x FROM t",
        "SELECT " + nested(60, "NULLIF(@, a)", "a") + " AS x FROM t",
        "SELECT " + nested(60, "CASE a WHEN 1, 2 THEN @ END", "a") + " AS x FROM t",
        "SELECT " + nested(60, "CAST(@ LIKE ANY ('a', 'b') AS STRING)", "s") + " AS x FROM t",
        "SELECT " + nested(60, "TOPK((SELECT @ FROM t), 3)", "a") + " AS x FROM t",
        "SELECT " + nested(60, "(SELECT MAX(key) FROM jsonb_each(@) AS e)", "s") + " AS x FROM t",
        "".join(
            f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1} UNION ALL SELECT * FROM v{i - 1};\n"
            for i in range(1, 40)
        )
        + "SELECT a FROM v39",
    ],
    ids=["sum", "BETWEEN", "NULLIF", "CASE", "LIKE ANY", "TOPK", "jsonb_each", "views"],
)
def test_what_would_grow_without_bound_is_refused(query: str) -> None:
    with pytest.raises(FsqlError) as caught:
        compile_script(
            SourceText("large.sql", TABLE + "CREATE VIEW v0 AS SELECT * FROM t;\n" + query),
            DECLARED,
        )
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"E315"}


@pytest.mark.parametrize(
    ("body", "count", "code"),
    [
        ("ROW<a p{i}, b p{i}>", 200, "E109"),
        ("ROW<a p{i}>", 200, "E109"),
        (nested(120, "ROW<a @>", "p{i}"), 2, "E108"),
    ],
    ids=["doubled", "chain", "deep"],
)
def test_types_that_name_types_do_not_grow_without_bound(body: str, count: int, code: str) -> None:
    types = ["CREATE TYPE p0 AS ROW<a INT, b INT>"]
    types += [f"CREATE TYPE p{i + 1} AS {body.format(i=i)}" for i in range(count)]
    table = "CREATE TABLE t (p p2) WITH ('connector' = 'blackhole');\n"
    with pytest.raises(FsqlError) as caught:
        compile_script(SourceText("types.sql", ";\n".join([*types, table])), DECLARED)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}
