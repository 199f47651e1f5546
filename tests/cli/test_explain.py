"""`fsql explain` and `fsql explain-error`.  What each stage looks like is tested with the compiler."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fsql import compile as compile_script
from fsql.compiler.diagnostics.codes import CODES
from fsql.job.explain_stage import PRINTERS
from fsql.tests.cli.commands import NUMBERS, fsql
from fsql.tests.queries.examples import QUERIES

if TYPE_CHECKING:
    from pathlib import Path

BANK = QUERIES / "bank_transfers" / "query.sql"
SCRIPT = f"{NUMBERS}SELECT n + 1 AS m FROM numbers WHERE 1 = 1 AND n > 2"


def test_the_logical_plan_is_what_is_shown_first() -> None:
    code, out, err = fsql("explain", "-e", SCRIPT)
    assert (code, err) == (0, "")
    assert out == (
        "Insert into stdout\n"
        "│  columns: m BIGINT\n"
        "│  changes: append\n"
        "└─ Project n + 1 AS m\n"
        "   │  columns: m BIGINT\n"
        "   │  changes: append; state: none\n"
        "   └─ Filter n > 2\n"
        "      │  changes: append; state: none\n"
        "      └─ Scan numbers; line 2\n"
        "            columns: n BIGINT\n"
        "            time: offset\n"
    )


def test_the_trace_of_rules_comes_before_the_plan() -> None:
    code, out, _ = fsql("explain", "--trace", "-e", SCRIPT)
    trace, plan = out.split("\n\n", 1)
    assert code == 0
    assert "fold-constants" in trace
    assert plan == fsql("explain", "-e", SCRIPT).out


@pytest.mark.slow
def test_the_deepest_plan_is_shown() -> None:
    """It is compiled once, which takes seconds, and shown in two forms."""
    views = [
        f"CREATE VIEW v{i} AS SELECT COUNT(*) OVER (PARTITION BY n ROWS UNBOUNDED PRECEDING) AS n"
        f" FROM {f'v{i - 1}' if i else 'numbers'};\n"
        for i in range(245)
    ]
    plan = compile_script(f"{NUMBERS}{''.join(views)}SELECT n FROM v244")
    assert len(json.loads(plan.explain(form="json"))["operators"]) == 1 + 2 * 245
    assert len(plan.explain().split("─ ")) == 2 + 2 * 245


@pytest.mark.parametrize(("stage", "form"), PRINTERS)
def test_every_stage_in_every_format(stage: str, form: str) -> None:
    code, out, err = fsql("explain", BANK, "--stage", stage, "--format", form)
    assert (code, err) == (0, "")
    assert out.endswith("\n")
    if form == "json":
        json.loads(out)
        assert out == fsql("explain", BANK, "--stage", stage, "--json").out


def test_a_format_that_a_stage_does_not_have() -> None:
    code, _, err = fsql("explain", BANK, "--stage", "tick", "--format", "svg")
    assert code == 2
    assert err.endswith("Error: stage tick is available as text and json, not as svg\n")
    code, _, err = fsql("explain", BANK, "--trace", "--json")
    assert code == 2
    assert err.endswith("Error: --trace is available with text only, not with json\n")


def test_the_name_of_the_output_says_the_format(tmp_path: Path) -> None:
    for name, form in (("a.svg", "svg"), ("a.mmd", "mermaid"), ("a.json", "json")):
        assert fsql("explain", BANK, "--stage", "graph", "-o", tmp_path / name) == (0, "", "")
        shown = fsql("explain", BANK, "--stage", "graph", "--format", form).out
        assert (tmp_path / name).read_text() == shown


def test_text_has_a_suffix_of_its_own_or_none(tmp_path: Path) -> None:
    for name in ("a.txt", "a"):
        assert fsql("explain", BANK, "-o", tmp_path / name) == (0, "", "")
        assert (tmp_path / name).read_text() == fsql("explain", BANK).out


def test_a_suffix_that_no_format_has_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "plan.png"
    code, out, err = fsql("explain", BANK, "-o", output)
    assert (code, out) == (2, "")
    assert err.endswith(
        f'Error: no format has the suffix .png of "{output}":'
        " use .txt, .json, .mmd, .svg, .html, or --format\n"
    )
    assert not output.exists()
    assert fsql("explain", BANK, "--format", "json", "-o", output) == (0, "", "")
    assert output.read_text() == fsql("explain", BANK, "--format", "json").out


def test_pictures_are_svg(tmp_path: Path) -> None:
    for command in (("tick", "list", "--state", tmp_path), ("bench", "recovery")):
        code, out, err = fsql(*command, "--picture", tmp_path / "picture.png")
        assert (code, out) == (2, "")
        assert err.endswith("Error: --picture writes SVG: it requires a FILE with suffix .svg\n")


def test_a_page_of_the_logical_plan_goes_by_the_suffix(tmp_path: Path) -> None:
    for name, form in (("a.svg", "svg"), ("a.html", "html")):
        assert fsql("explain", BANK, "-o", tmp_path / name) == (0, "", "")
        assert (tmp_path / name).read_text() == fsql("explain", BANK, "--format", form).out


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    code, out, err = fsql("explain", BANK, "-o", tmp_path / "missing" / "a.txt")
    assert (code, out) == (1, "")
    assert err.startswith("Error: Could not open file ")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("query.sql", "it is the script itself"),
        ("link.sql", "it is the script itself"),
        ("numbers.jsonl", 'table "numbers" reads it'),
        ("copied.jsonl", 'table "copied" writes it'),
    ],
)
def test_an_output_that_is_part_of_the_job(tmp_path: Path, output: str, reason: str) -> None:
    script = (
        f"{NUMBERS}CREATE TABLE copied (n BIGINT)"
        " WITH ('connector' = 'file', 'path' = 'copied.jsonl');\n"
        "INSERT INTO copied SELECT n FROM numbers;\n"
    )
    (tmp_path / "query.sql").write_text(script)
    (tmp_path / "link.sql").hardlink_to(tmp_path / "query.sql")
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n')
    (tmp_path / "copied.jsonl").write_text('{"n":2}\n')
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    said = fsql("explain", tmp_path / "query.sql", "-o", tmp_path / output)
    path = (tmp_path / output).resolve()
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f'error[FSQL-E532]: path "{path}" cannot be written: {reason}\n'
        "  = help: choose another path\n"
    )
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_tick_plan_follows_workers_policy_and_splits(tmp_path: Path) -> None:
    of_two_splits = fsql("explain", BANK, "--stage", "tick").out
    assert "ordered, rows of 2 fronts interleave" in of_two_splits
    assert "worker 2: " in fsql("explain", BANK, "--stage", "tick", "-w", "3").out
    assert (
        "speculative, as requested"
        in fsql("explain", BANK, "--stage", "tick", "--policy", "speculative").out
    )
    # Where the data is not, a plan can be had all the same.
    (tmp_path / "query.sql").write_text(BANK.read_text())
    assert "rows of one front" in fsql("explain", tmp_path / "query.sql", "--stage", "tick").out


OF_TWO_TABLES = """
CREATE TABLE bids (auction BIGINT, price BIGINT, at TIMESTAMP(3) NOT NULL, WATERMARK FOR at AS at)
WITH ('connector' = 'file', 'path' = 'bids.jsonl');
CREATE TABLE auctions (id BIGINT, category STRING) WITH ('connector' = 'file', 'path' = 'auctions.jsonl');
CREATE TABLE sums (auction BIGINT, price BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE pairs (price BIGINT, category STRING) WITH ('connector' = 'blackhole');
INSERT INTO sums SELECT auction, SUM(price) FROM TUMBLE(bids, at, INTERVAL '1' DAY)
GROUP BY auction, window_start, window_end;
INSERT INTO pairs SELECT price, category FROM bids JOIN auctions ON auction = id
WHERE category LIKE 'a%' AND id > 10;
"""


@pytest.mark.parametrize("given", ["nothing", "a profile that cannot be read"])
def test_each_choice_that_depends_on_measurements_has_no_estimate(
    given: str, tmp_path: Path
) -> None:
    script = tmp_path / "query.sql"
    script.write_text(OF_TWO_TABLES)
    for name in ("bids.jsonl", "auctions.jsonl"):
        (tmp_path / name).touch()
    missing = tmp_path / "no.profile"
    flags = () if given == "nothing" else ("--profile", missing)
    said = fsql("explain", script, "--stage", "tick", "-w", "2", *flags)
    sums, pairs = re.findall(r"operator: (\S+)", said.out)
    filters = re.findall(r"  (filter-\w+): ", said.out)
    ignored = f'  profile "{missing}" is ignored: No such file or directory\n' if flags else ""
    assert said.out[said.out.index("reasons:") :] == (
        "reasons:\n"
        "  stage 1: speculative, rows of one front come in order: nothing to wait for\n"
        "  stage 3: ordered, rows of 2 fronts interleave: waiting costs less than repairs\n"
        "  hash bins: ranges of equal size for 2, no estimate of their load\n"
        f"{ignored}"
        f"  hot keys of {sums}: stay; no estimate of its rows\n"
        f"  hot keys of {pairs}: stay; no estimate of its rows\n"
        f"  {filters[0]}: stay; no estimate of {filters[0]}#0, {filters[0]}#1\n"
        f"  {sums}: stays speculative; no estimate of repairs\n"
        f"  {pairs}: stays ordered; no estimate of repairs, 0 of 2 intervals since the last tick are"
        " measured\n"
        "  rows of bids: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  rows of auctions: stay; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  linger of bids: none, stays; no estimate, 0 of 2 intervals since the last tick are measured\n"
        "  linger of auctions: none, stays; no estimate, 0 of 2 intervals since the last tick are"
        " measured\n"
    )


def test_explain_error() -> None:
    code, out, err = fsql("explain-error", "FSQL-E501")
    assert (code, err) == (0, "")
    assert out == (
        "FSQL-E501: division by zero\n"
        "\n"
        "The divisor of an integer division or of MOD is zero.\n"
        "\n"
        "What to do: Use `a / NULLIF(b, 0)`, or cast to DOUBLE, where the result is Infinity or\n"
        "NaN.\n"
        "\n"
        "Example:\n"
        "\n"
        "    SELECT 1 / a FROM t;  -- a row with a = 0\n"
    )


@pytest.mark.parametrize("spelled", ["e501", "501", "fsql-e501", "FSQLE501"])
def test_a_code_may_be_spelled_in_other_ways(spelled: str) -> None:
    assert fsql("explain-error", spelled) == fsql("explain-error", "E501")


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    shown = json.loads(fsql("explain-error", "--json", code).out)
    assert shown["code"] == f"FSQL-{code}"
    assert set(shown) == {"code", "title", "cause", "fix", "example"}


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("E550", 'a similar code is "E505": aggregate out of range'),
        ("I911", 'a similar code is "I901": internal error'),
        ("oops", "codes are of the form FSQL-E203"),
    ],
)
def test_a_code_that_is_not_reported(code: str, hint: str) -> None:
    returned, _, err = fsql("explain-error", code)
    assert returned == 2
    assert err.endswith(f'Error: code "{code}" is not reported by fsql; {hint}\n')
