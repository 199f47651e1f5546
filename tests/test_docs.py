"""The documentation is true: examples give what they show, tables say what the code says.

`pytest tests/test_docs.py --rewrite` writes what the examples give now, and `docs/errors.md`; the
difference is then there to be read.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.expressions.forms import FORMS
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.dialects.registry import CALLS
from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.refused import NOT_DETERMINISTIC
from fsql.compiler.functions.table import CALLABLE, FUNCTIONS
from fsql.compiler.parser.keywords import RESERVED
from fsql.compiler.pipeline import compile_script
from fsql.compiler.syntax import TAKE_LAMBDAS
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.tests.cli.commands import fsql
from fsql.tests.docs.cast_table import TITLE, cast_table
from fsql.tests.docs.coming_from_page import COMING_FROM, coming_from_page
from fsql.tests.docs.connectors_page import CONNECTORS_PAGE, connectors_page
from fsql.tests.docs.data_errors import FAILING, script
from fsql.tests.docs.errors_page import ERRORS_PAGE, errors_page
from fsql.tests.docs.function_pages import ENTRIES, FAMILIES, function_pages, names_of
from fsql.tests.docs.pages import (
    PAGES,
    ROOT,
    page_text,
    read_blocks,
    read_examples,
    rewritten,
    section,
    table_rows,
)
from fsql.tests.docs.run_errors import FAILING_RUN, SCRIPT
from fsql.tests.docs.state_errors import FAILING_STATE
from fsql.tests.unit.state.directories import make_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from _pytest.mark import ParameterSet

    from fsql.tests.docs.pages import Block, Example

EXAMPLES = {
    f"{example.page}:{example.line}": example for page in PAGES for example in read_examples(page)
}
LANGUAGE = "docs/language.md"
IN_NO_CASE = {
    "E117": "cases are UTF-8; tests/cli/test_errors.py has it",
    "E522": "a row against the clock; tests/unit/dataflow/test_front.py has it",
    "E533": "no command sets data roots; tests/unit/connectors/test_sources.py has it",
    "E536": "a source that changed while its job was down; tests/unit/connectors/test_replay.py has it",
    "E537": "an output that changed while its job was down; tests/conformance/test_sinks.py has it",
    "E538": "an input that grew while its job was down; tests/unit/drivers/test_split_ends.py has it",
    "E539": "more splits than tests make; tests/unit/connectors/test_limits.py has it",
    "E540": "an output that another job writes; tests/cli/test_existing_outputs.py has it",
    "E541": "an output that is not empty; tests/cli/test_existing_outputs.py has it",
    "E525": "a row that a program inserts; tests/library/test_live_errors.py has it",
    "E545": "a call of the library; tests/library/test_live_errors.py has it",
    "E542": "a table of a program; tests/library/test_session.py has it",
    "E544": "a file that is no shard; tests/unit/connectors/test_shards.py has it",
    "E601": "an address that jobs do not choose; tests/unit/drivers/test_transport.py has it",
    "E602": "a spoilt key; tests/unit/drivers/test_cluster_key.py has it",
    "E603": "a port in use; tests/unit/drivers/test_transport.py has it",
    "E604": "a worker without a run; tests/cli/test_distributed_errors.py has it",
    "E605": "a worker of another version; tests/cli/test_distributed_errors.py has it",
    "E606": "a damaged plan file; tests/cli/test_compile.py makes some",
    "E607": "a plan file of another version; tests/cli/test_compile.py makes some",
    "E631": "a command without an agent; tests/deployment/test_jobs.py has it",
    "E632": "an edited cluster directory; tests/deployment/test_jobs.py has it",
    "E633": "a job that is not there; tests/deployment/test_jobs.py has it",
    "E634": "a name that jobs cannot have; tests/deployment/test_jobs.py has it",
    "E635": "a script that cannot be deployed; tests/deployment/test_jobs.py has it",
    "E636": "a job that cannot be drained; tests/deployment/test_drain.py has it",
    "E637": "a job that is not running; tests/deployment/test_drain.py has it",
    "E638": "a change that loses state; tests/deployment/test_changed_plans.py has it",
    "E639": "a copy of another plan; tests/deployment/test_snapshot_copies.py has it",
    "E640": "a name with two meanings; tests/unit/job/test_refused_additions.py has it",
    "E651": "an owner map of a running job; tests/cluster/test_tick_commands.py has it",
    "E652": "two ticks at once; tests/cluster/test_tick_commands.py has it",
    "E653": "a tick that is not there; tests/cluster/test_tick_commands.py has it",
    "E654": "a file for a tick; tests/cli/test_choices_file.py has it",
    "E508": "a Python function; tests/cli/test_python_functions.py has it",
    "E509": "a Python function; tests/cli/test_python_functions.py has it",
    "E608": "a changed module; tests/cli/test_python_functions.py has it",
    "E506": "2 GiB of text; tests/unit/kernels/test_large_texts.py has a smaller limit",
    "E507": "2 GiB of text; tests/library/test_large_windows.py has a smaller limit",
    "E616": "2 GiB of text; tests/unit/state/test_large_state.py has a smaller limit",
    "E625": "state of another version; tests/unit/cluster/test_state_of_other_plans.py has some",
    "E624": "a machine on which processes end repeatedly; tests/unit/drivers/test_launcher.py makes some",
    "E641": "an address of a server; tests/zookeeper/test_access.py has it",
    "E642": "a server that is down; tests/zookeeper/test_server.py has it",
    "E643": "credentials; tests/zookeeper/test_access.py has it",
    "E644": "a machine without Java; tests/zookeeper/test_server.py has it",
    "E645": "a port in use; tests/zookeeper/test_server.py has it",
    "E646": "a key directory; tests/unit/drivers/test_curve_keys.py makes some",
    "E671": "a port in use; tests/ui/test_command.py has it",
    "E701": "a settings file; tests/cli/test_settings.py has it",
    "E702": "a settings file; tests/cli/test_settings.py has it",
    "E703": "a settings file; tests/cli/test_settings.py has it",
    "E704": "a directory with files; tests/cli/test_init.py has it",
    "E711": "a file of cases; tests/cli/test_cases.py has it",
    "E712": "a file of cases; tests/cli/test_cases.py has it",
    "W207": "the first line of a file; tests/cli/test_inferred_columns.py has it",
    "W501": "fsql check, where a file is not there; tests/cli/test_input_warnings.py has it",
    "W502": "rejects without a path; tests/cli/test_input_warnings.py has it",
    "W503": "a first row of a file; tests/cli/test_input_warnings.py has it",
    "W210": "a file with mixed values; tests/cli/test_inferred_columns.py has it",
    "W504": "a first row of a file; tests/cli/test_input_warnings.py has it",
    "W505": "windows without late_path; tests/cli/test_input_warnings.py has it",
    "W507": "the first rows of a file; tests/cli/test_input_warnings.py has it",
    "W508": "several files; tests/cli/test_evolving_files.py has it",
    "W509": "the rows of a file; tests/cli/test_input_warnings.py has it",
    "W506": "a row of a file; tests/cli/test_input_warnings.py has it",
    "I901": "a bug; tests/cli/test_errors.py makes one",
    "I902": "a bug; tests/unit/dataflow/test_invariants.py makes some",
    "E675": "a position of a client; tests/unit/results/test_log.py has it",
    "E676": "a client over HTTP; tests/serving/test_http.py has it",
    "E672": "a query on a running job; tests/serving/test_answers.py has it",
    "E673": "a query on a running job; tests/serving/test_answers.py has it",
    "E674": "a server; tests/serving/test_serve_command.py has it",
    "E662": "a job without history; tests/spark/test_bootstrapped_jobs.py has it",
    "E663": "a machine without these packages; tests/spark/test_spark_connect.py has it",
    "E661": "a master that is not there; tests/spark/test_spark_run.py has it",
}
"""Codes that no single run of a script is known to lead to."""


def _on_workers() -> Iterator[ParameterSet]:
    """Yield the examples that run on worker processes, of which a start takes seconds.

    Rows are the same on workers by `tests/cluster/test_queries_on_workers.py`; so these are the first
    example with functions, with errors, and with each kind of output.
    """
    met: set[str] = set()
    for place, example in EXAMPLES.items():
        kinds = {_kind_of_output(each) for each in example.shown}
        kinds |= {"functions"} if example.has_functions else set()
        if kinds - met:
            yield pytest.param(
                example, "--workers=2", marks=pytest.mark.slow, id=f"workers-{place}"
            )
        met |= kinds


def _kind_of_output(block: Block) -> str:
    if block.kind == "output" and block.name:
        return block.name if block.name in {"late.jsonl", "rejects.jsonl"} else "file"
    return block.kind


@pytest.mark.parametrize(
    ("example", "flags"),
    [
        *(pytest.param(each, "--workers=1", id=place) for place, each in EXAMPLES.items()),
        *(pytest.param(each, "--engine=model", id=f"model-{p}") for p, each in EXAMPLES.items()),
        *_on_workers(),
    ],
)
def test_an_example_gives_what_it_shows(
    example: Example,
    flags: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = example.run(tmp_path, flags)
    shown = {(block.kind, block.name): block.text for block in example.shown}
    assert shown, "the example shows nothing"
    if request.config.getoption("--rewrite"):
        _rewrite(example, given)
        return
    assert shown == {place: text for place, text in given.items() if text or place in shown}


def _rewrite(example: Example, given: dict[tuple[str, str], str]) -> None:
    """Write what the example gives into its page, where earlier examples may have moved it."""
    text = page_text(example.page)
    ordinal = [each for each in EXAMPLES.values() if each.page == example.page].index(example)
    now = read_examples(example.page)[ordinal]
    results = [(block, given.get((block.kind, block.name), "")) for block in now.shown]
    (ROOT / example.page).write_text(rewritten(text, results))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_known_kind(page: str) -> None:
    kinds = {block.kind for block in read_blocks(page_text(page))}
    assert kinds <= {"sql", "json", "text", "python", "output", "error", "console"}


def test_links_of_the_language_reference_lead_somewhere() -> None:
    text = page_text(LANGUAGE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text)
    assert {path for path, _ in links if path and not (ROOT / "docs" / path).is_file()} == set()
    assert {anchor for path, anchor in links if not path} <= anchors


# --- Tables of the language reference ---


def test_the_page_of_connectors_is_up_to_date(request: pytest.FixtureRequest) -> None:
    path = ROOT / CONNECTORS_PAGE
    if request.config.getoption("--rewrite"):
        path.write_text(connectors_page())
    assert path.read_text() == connectors_page(), "run pytest tests/test_docs.py --rewrite"


@pytest.mark.parametrize("path", function_pages())
def test_the_pages_of_functions_are_up_to_date(path: str, request: pytest.FixtureRequest) -> None:
    made = function_pages()[path]
    if request.config.getoption("--rewrite"):
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(made)
    assert page_text(path) == made, "run pytest tests/test_docs.py --rewrite"


def test_every_function_has_an_entry() -> None:
    forms = {*FORMS, *TAKE_LAMBDAS}
    assert {name for each in ENTRIES for name in names_of(each)} == {*CALLABLE, *forms}
    others = {name for each in ENTRIES if each not in FUNCTIONS for name in names_of(each)}
    assert others == {*forms, "CONCAT_WS"}
    fails = {name: any(s.fallible for s in FUNCTIONS[name].signatures) for name in FUNCTIONS}
    assert {n: bool(e.fails) for n, e in ENTRIES.items() if n in fails} == {
        name: fails[name] for name in ENTRIES if name in fails
    }


def test_the_aggregate_functions_are_listed() -> None:
    text = section(page_text(LANGUAGE), "### Aggregate functions")
    rows = "\n".join(row[0] for row in table_rows(text))
    others = {name for name, form in CALLS.items() if not form.scalar}
    assert set(re.findall(r"`([A-Z_][A-Z0-9_]*)(?=[(`])", rows)) == {*AGGREGATES, *others}


def test_the_table_of_casts_is_that_of_the_compiler() -> None:
    assert cast_table() in section(page_text(LANGUAGE), TITLE), "write what cast_table() gives"


@pytest.mark.parametrize("family", FAMILIES, ids=[family.TITLE for family in FAMILIES])
def test_the_examples_of_functions_are_true(
    family: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [example for entry in family.ENTRIES.values() for example in entry.examples]
    assert all(entry.examples for entry in family.ENTRIES.values())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"k": 1}')
    table = "CREATE TABLE t (k INT) WITH ('connector' = 'file', 'path' = 't.jsonl');"
    items = ", ".join(f"{text} AS x{number}" for number, text in enumerate(written))
    said = fsql("run", "--quiet", "-e", f"{table} SELECT {items} FROM t;")
    assert said.err == ""
    values = json.loads(said.out)
    assert [text for text, value in zip(written, values.values(), strict=True) if not value] == []


def test_the_functions_that_are_refused_are_named() -> None:
    text = page_text(LANGUAGE)
    refused = section(text, "### Functions that are refused")
    assert {name for name in NOT_DETERMINISTIC if f"`{name}`" not in refused} == set()


def test_the_reserved_words_are_listed() -> None:
    (listed,) = re.findall(r"^Reserved: (.*?)\.$", page_text(LANGUAGE), re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"[A-Z_]+", listed)) == RESERVED


LATER_TABLES = (
    "CREATE TABLE t (k STRING, n BIGINT, at TIMESTAMP, WATERMARK FOR at)"
    " WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
    "CREATE TABLE u (k STRING, m BIGINT) WITH ('connector' = 'file', 'path' = 'u.jsonl');\n"
    "CREATE TABLE g (k STRING) WITH ('connector' = 'datagen');\n"
)
LATER_ROWS = table_rows(section(page_text(LANGUAGE), "## Not implemented yet"))


@pytest.mark.parametrize("row", LATER_ROWS, ids=[row[0] for row in LATER_ROWS])
def test_what_is_said_to_be_not_implemented_is_refused_so(row: list[str]) -> None:
    for written in re.findall(r"`([^`]+)`", row[1]):
        text = written if written.startswith(("SELECT", "CREATE", "INSERT")) else None
        text = text or f"SELECT k, {written} AS x FROM t"
        with pytest.raises(FsqlError) as raised:
            compile_script(SourceText("row.sql", f"{LATER_TABLES}{text};"), DECLARED)
        codes = {each.code for each in raised.value.diagnostics}
        assert codes == {"E301"}, f"{text}: {raised.value.diagnostics}"


# --- Other systems ---


def test_the_tables_about_other_systems_are_up_to_date(request: pytest.FixtureRequest) -> None:
    path = ROOT / COMING_FROM
    if request.config.getoption("--rewrite"):
        path.write_text(coming_from_page(path.read_text()))
    assert path.read_text() == coming_from_page(path.read_text()), (
        "run pytest tests/test_docs.py --rewrite"
    )


# --- Error codes ---


def test_the_page_of_error_codes_is_up_to_date(request: pytest.FixtureRequest) -> None:
    path = ROOT / ERRORS_PAGE
    if request.config.getoption("--rewrite"):
        path.write_text(errors_page())
    assert path.read_text() == errors_page(), "run pytest tests/test_docs.py --rewrite"


def _codes_in_cases() -> set[str]:
    """Return the codes that the expected texts of `.test` files have."""
    found: set[str] = set()
    for path in (ROOT / "tests" / "cases").rglob("*.test"):
        text = path.read_text()
        found.update(re.findall(r"\[FSQL-([EWI]\d{3})\]", text))
        found.update(re.findall(r"^(W\d{3}): ", text, re.MULTILINE))
    return found


def test_cases_use_known_codes_only() -> None:
    assert _codes_in_cases() <= set(CODES)


def test_every_code_has_a_case() -> None:
    elsewhere = {*FAILING, *FAILING_STATE, *FAILING_RUN}
    assert set(CODES) - _codes_in_cases() - elsewhere == set(IN_NO_CASE)


@pytest.mark.parametrize("code", FAILING)
def test_data_that_fails_is_reported_with_its_code(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failing = FAILING[code]
    if failing.input is not None:
        (tmp_path / "t.jsonl").write_bytes(failing.input)
    said = fsql("run", "-e", script(failing), "--quiet")
    assert said.code in {1, 3}
    assert re.findall(r"error\[FSQL-(\w+)\]", said.err) == [code]


@pytest.mark.parametrize("code", FAILING_STATE)
def test_state_that_is_damaged_is_reported_with_its_code(code: str, tmp_path: Path) -> None:
    make_state(tmp_path / "state")
    FAILING_STATE[code](tmp_path / "state")
    said = fsql("snapshot", "verify", "--state", tmp_path / "state")
    assert said.code == 1
    assert re.findall(r"error\[FSQL-(\w+)\]", said.err) == [code]


@pytest.mark.parametrize("code", FAILING_RUN)
def test_a_run_that_cannot_begin_is_reported_with_its_code(code: str, tmp_path: Path) -> None:
    with FAILING_RUN[code](tmp_path / "state"):
        said = fsql("run", "--quiet", "--state", tmp_path / "state", "-e", SCRIPT)
    assert said.code == 1
    assert re.findall(r"error\[FSQL-(\w+)\]", said.err) == [code]


def test_the_tests_of_the_security_page_exist() -> None:
    named = re.findall(r"`(tests/\S+)::(\w+)`", page_text("docs/internals/security.md"))
    assert len(named) >= 18
    missing = [
        (path, name) for path, name in named if f"def {name}(" not in (ROOT / path).read_text()
    ]
    assert missing == []
