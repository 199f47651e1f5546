"""`fsql shell`: statements from a pipe, from a prompt and from a terminal."""

from __future__ import annotations

import io
import os
import pty
import select
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from fsql.compiler.analysis.result_order import ResultKey
from fsql.compiler.logical import Changes
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, DOUBLE, STRING, TIMESTAMP
from fsql.connectors.file.output_files import Existing
from fsql.console.reporter import Reporter
from fsql.console.shell.live_table import LiveTable
from fsql.console.shell.prompt import SqlCompleter, TerminalPrompt
from fsql.console.shell.session import ShellSession
from fsql.console.shell.shell import Shell
from fsql.console.shell.statements import is_complete, split_statements
from fsql.tests.cli.commands import COMMAND, fsql
from fsql.tests.unit.connectors.tables import sink

TABLE = "CREATE TABLE t (k STRING, n INT) WITH ('connector' = 'file', 'path' = 't.jsonl');\n"
VIEW = "CREATE VIEW sums AS SELECT k, SUM(n) AS s FROM t GROUP BY k;\n"
ROWS = '{"k":"a","n":1}\n{"k":"b","n":2}\n{"k":"a","n":3}\n'
CHANGES = """\
{"op":"+I","k":"a","s":1}
{"op":"+I","k":"b","s":2}
{"op":"-U","k":"a","s":1}
{"op":"+U","k":"a","s":4}
"""


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the file of a table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    (tmp_path / "t.jsonl").write_text(ROWS)
    return tmp_path


def test_statements_from_a_pipe(rows: Path) -> None:
    said = fsql(
        "shell",
        "-q",
        text=f"{TABLE}{VIEW}SHOW TABLES; -- a; b\nSELECT * FROM sums;\nSELECT n FROM t",
    )
    assert said == (
        0,
        f'{{"table name":"t"}}\n{{"table name":"sums"}}\n{CHANGES}{{"n":1}}\n{{"n":2}}\n{{"n":3}}\n',
        "",
    )
    (rows / "tables.sql").write_text(TABLE + VIEW)
    out = (
        "CREATE TABLE o (n INT) WITH ('connector' = 'file', 'path' = 'o.jsonl');"
        "INSERT INTO o SELECT n FROM t WHERE k = 'a'; DROP VIEW sums; SHOW VIEWS; DESCRIBE o;"
    )
    code, out, err = fsql("shell", "--format", "table", "tables.sql", text=out)
    assert (code, out) == (
        0,
        ("view name\n\nname  type  null  key  extras  watermark  comment\nn     INT   TRUE\n\n"),
    )
    assert err.startswith("2 rows, in ")
    assert (rows / "o.jsonl").read_text() == '{"n":1}\n{"n":3}\n'


def test_the_first_that_fails_ends_a_pipe() -> None:
    assert fsql(
        "shell", "-q", text=f"{TABLE}SELECT n FROM t; SELECT m FROM t; SELECT k FROM t;"
    ) == (
        1,
        '{"n":1}\n{"n":2}\n{"n":3}\n',
        (
            'error[FSQL-E203]: column "m" does not exist\n'
            " --> <shell>:1:8\n"
            "  |\n"
            "1 | SELECT m FROM t\n"
            "  |        ^ not a column of t\n"
            "  = note: t has k, n\n"
        ),
    )
    view = "CREATE VIEW q AS SELECT 1 / (n - 2) AS d FROM t;"
    code, out, err = fsql("shell", "-q", text=f"{TABLE}{view}SELECT d FROM q;")
    assert (code, out) == (3, '{"d":-1}\n') or (code, out) == (1, '{"d":-1}\n')
    assert "SELECT 1 / (n - 2) AS d FROM t" in err


def test_a_preview_ends_a_query() -> None:
    said = fsql(
        "shell", "--preview", "3", text=f"{TABLE}{VIEW}SELECT * FROM sums; SELECT k FROM t;"
    )
    first = "".join(CHANGES.splitlines(keepends=True)[:3])
    assert said.out == f'{first}{{"k":"a"}}\n{{"k":"b"}}\n{{"k":"a"}}\n'
    assert said.err.count("; the preview ends here\n") == 2
    endless = "CREATE TABLE w (line STRING) WITH ('connector' = 'words'); SELECT line FROM w;"
    assert len(fsql("shell", "-q", "--preview", "2", text=endless).out.splitlines()) == 2


def test_a_result_that_is_complete_ends_a_query() -> None:
    endless = "CREATE TABLE w (n BIGINT) WITH ('connector' = 'datagen', 'rate' = '100');"
    queries = (
        "SELECT n FROM w LIMIT 2 OFFSET 1; SELECT COUNT(*) AS n FROM w LIMIT 0; SELECT 1 AS one;"
    )
    code, out, err = fsql("shell", text=f"{endless}{queries}")
    assert (code, len(out.splitlines())) == (0, 3)
    assert [line.split(",")[0] for line in err.splitlines()] == ["2 rows", "0 rows", "1 row"]


def test_an_updated_row_stays_in_its_place() -> None:
    shown = io.StringIO()
    columns = (Column("k", STRING), Column("s", BIGINT))
    console = Console(file=shown, width=40, no_color=True)
    table = LiveTable(sink(columns, Changes.RETRACT), console)
    more = (
        '{"op":"+I","k":"c","s":7}\n{"op":"+I","k":"d","s":8}\n{"op":"-U","k":"c","s":7}\n'
        '{"op":"+U","k":"c","s":9}\n{"op":"-D","k":"b","s":2}\n{"op":"+I","k":"e","s":1}\n'
    )
    for data in (CHANGES, more):
        table.write(memoryview(data.encode()))
    assert table.close() == 4
    assert shown.getvalue() == "k  s\na  4\nc  9\nd  8\ne  1"


def test_all_rows_are_shown_at_the_end_and_texts_are_cut() -> None:
    """The terminal has 8 lines, and 24 columns, of which a text of 200 characters would take all."""
    shown = io.StringIO()
    columns = (Column("k", STRING), Column("at", TIMESTAMP), Column("n", BIGINT))
    console = Console(file=shown, width=40, height=8, no_color=True)
    table = LiveTable(sink(columns, Changes.RETRACT), console)
    for number in range(10):
        row = f'"k":"{number}{"x" * 200}","at":"2026-01-01T12:00:00.12{number}Z","n":1{number}3'
        table.write(memoryview(f'{{"op":"+I",{row}}}\n'.encode()))
    assert table.close() == 10
    head = "k          at                          n\n"
    rows = (f"{n}xxxxxxx…  2026-01-01T12:00:00.12{n}Z  1{n}3" for n in range(10))
    assert shown.getvalue() == head + "\n".join(rows)


def test_rows_are_in_the_order_of_the_query() -> None:
    shown = io.StringIO()
    columns = (Column("k", STRING), Column("x", DOUBLE), Column("at", TIMESTAMP))
    console = Console(file=shown, width=60, no_color=True)
    order = (
        ResultKey(1, descending=True, nulls_first=True),
        ResultKey(2, descending=False, nulls_first=False),
    )
    table = LiveTable(sink(columns, Changes.RETRACT), console, order)
    for k, x, at in (
        ("a", "9", "10:00:00Z"),
        ("b", "10.5", "10:00:00.5Z"),
        ("c", "null", "10:00:00Z"),
        ("d", '"NaN"', "10:00:00Z"),
        ("e", "10.5", "10:00:00Z"),
        ("f", "10.5", "10:00:00Z"),
    ):
        table.write(memoryview(f'{{"op":"+I","k":"{k}","x":{x},"at":"{at}"}}\n'.encode()))
    assert table.close() == 6
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert lines == [
        ["k", "x", "at"],
        ["c", "NULL", "10:00:00Z"],
        ["d", "NaN", "10:00:00Z"],
        ["e", "10.5", "10:00:00Z"],
        ["f", "10.5", "10:00:00Z"],
        ["b", "10.5", "10:00:00.5Z"],
        ["a", "9", "10:00:00Z"],
    ]


def test_what_a_shell_refuses() -> None:
    text = f"{TABLE}CREATE TABLE c WITH ('connector' = 'blackhole') AS SELECT n FROM t;"
    code, out, err = fsql("shell", text=text)
    assert (code, out) == (1, "")
    assert "error[FSQL-E314]: CREATE TABLE AS is not allowed in the shell" in err
    text = "CREATE TABLE i (n INT) WITH ('connector' = 'stdin'); SELECT n FROM i;"
    assert "standard input cannot be read" in fsql("shell", text=text).err


def test_statements_at_a_prompt(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    session = ShellSession(Path.cwd(), {})
    with create_pipe_input() as source:
        prompt = TerminalPrompt(session, (source, DummyOutput()))
        keys = f"{TABLE.strip()}\rSELECT m FROM t;\rSELECT n\rFROM t\r;\r"
        keys += "SELECT given up\x03SHOW TABLES;\rhelp\rquit\r"
        source.send_text(keys)
        code = Shell(session, Reporter(), "json", None, Existing.REFUSE).run_prompt(prompt, "0")
    out, err = capsysbinary.readouterr()
    assert (code, out) == (0, b'{"n":1}\n{"n":2}\n{"n":3}\n{"table name":"t"}\n')
    assert err.startswith(b"fsql 0: statements end with ;")
    assert b'error[FSQL-E203]: column "m" does not exist' in err
    assert b"kept in the session" in err
    history = (Path.cwd() / "home" / "fsql" / "history").read_text()
    assert "+SELECT n\n+FROM t\n+;\n" in history


def test_commands_of_psql_need_no_semicolon(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    session = ShellSession(Path.cwd(), {})
    with create_pipe_input() as source:
        prompt = TerminalPrompt(session, (source, DummyOutput()))
        source.send_text(f"{TABLE.strip()}{VIEW.strip()}\r\\dt\r\\dv\r\\d t\r\\x\r\\q\r")
        code = Shell(session, Reporter(), "json", None, Existing.REFUSE).run_prompt(prompt, "0")
    out, err = capsysbinary.readouterr()
    plain = '"null":"TRUE","key":null,"extras":null,"watermark":null,"comment":null'
    assert (code, out.decode().splitlines()) == (
        0,
        [
            '{"table name":"t"}',
            '{"table name":"sums"}',
            '{"view name":"sums"}',
            f'{{"name":"k","type":"STRING",{plain}}}',
            f'{{"name":"n","type":"INT",{plain}}}',
        ],
    )
    assert err.endswith(
        b"""\
error[FSQL-E102]: unknown character "\\"
 --> <shell>:1:1
  |
1 | \\x
  | ^ not valid in SQL
  = help: write SHOW TABLES or DESCRIBE t
"""
    )


@pytest.mark.parametrize("typed", ["", "SELECT "])
@pytest.mark.parametrize("ended", ["\x03\x03", "\x07\x03", "\r\x03"])
def test_a_search_in_the_history_can_be_ended(typed: str, ended: str) -> None:
    session = ShellSession(Path.cwd(), {})
    with create_pipe_input() as source:
        prompt = TerminalPrompt(session, (source, DummyOutput()))
        source.send_text(f"{TABLE.strip()}\r")
        assert prompt.ask() == TABLE.strip()
        source.send_text(f"{typed}\x12TABLE{ended}")
        with pytest.raises(KeyboardInterrupt):
            prompt.ask()
        source.send_text("\x12stri\r\r")
        assert prompt.ask() == TABLE.strip()


def test_the_end_of_the_input_ends_the_shell(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    session = ShellSession(Path.cwd(), {})
    with create_pipe_input() as source:
        source.send_text("\x04")
        prompt = TerminalPrompt(session, (source, DummyOutput()))
        assert (
            Shell(session, Reporter(quiet=True), None, None, Existing.REFUSE).run_prompt(
                prompt, "0"
            )
            == 0
        )
    assert capsysbinary.readouterr() == (b"", b"")


def completed(session: ShellSession, text: str) -> list[str]:
    completer = SqlCompleter(session)
    completer.refresh()
    return [each.text for each in completer.get_completions(Document(text), CompleteEvent())]


def test_completion() -> None:
    session = ShellSession(Path.cwd(), {})
    assert completed(session, "SHO") == ["SHOW"]
    session.declare(TABLE.strip().rstrip(";"))
    session.declare("CREATE TABLE tallies (nose INT) WITH ('connector' = 'blackhole')")
    assert completed(session, "SELECT * FROM tal") == ["tallies"]
    assert completed(session, "SELECT no")[0] == "nose"
    assert completed(session, "SELECT UPP") == ["UPPER("]
    assert completed(session, "SELECT tallies.") == ["nose"]
    assert completed(session, "SELECT t.") == ["k", "n"]
    assert completed(session, "") == []


def test_where_statements_end() -> None:
    text = """SELECT ';' FROM "a;b" /* ; */; -- ;\nBEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; SELECT"""
    assert split_statements(text) == (
        [
            """SELECT ';' FROM "a;b" /* ; */""",
            "-- ;\nBEGIN STATEMENT SET; INSERT INTO a SELECT 1; END",
        ],
        " SELECT",
    )
    assert [
        is_complete(each) for each in ("", "quit", "SELECT", "SELECT 1;", "SELECT 1; -- a")
    ] == [
        True,
        True,
        False,
        True,
        True,
    ]


@pytest.mark.slow
def test_a_terminal(rows: Path) -> None:
    # A query that has no end is ended by Ctrl-C, and the shell goes on.
    assert rows.is_dir()
    process, descriptor = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
        os.execv(COMMAND[0], [*COMMAND, "shell", "--no-color"])
    seen = Terminal(descriptor)
    seen.wait_for("quit ends")
    seen.type("CREATE TABLE w (line STRING) WITH ('connector' = 'words', 'rate' = '1000');\r")
    seen.type("SELECT COUNT(*) AS many FROM w;\r")
    seen.wait_for("many\r\n")
    seen.type("\x03")
    seen.wait_for("ended by a signal")
    seen.wait_for("fsql>")
    seen.type("SELECT many FROM w;\r")
    seen.wait_for("FSQL-E203")
    seen.wait_for("fsql>")
    seen.type("quit\r")
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    os.close(descriptor)


class Terminal:
    """The other end of a terminal; answers what the shell asks of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text has come; what comes before it is forgotten."""
        while text not in self._seen:
            select.select([self._descriptor], [], [])
            new = os.read(self._descriptor, 65536).decode(errors="replace")
            for _ in range(new.count("\x1b[6n")):
                self.type("\x1b[1;1R")
            self._seen += new
        self._seen = self._seen.partition(text)[2]
