"""The shell: reads statements from a terminal or a stream and executes each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler import syntax
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.text.source import SourceText
from fsql.console import exit_codes
from fsql.console.inspections import listing_json, listing_text
from fsql.console.reporter import print_message
from fsql.console.shell.queries import run_query
from fsql.console.shell.session import locate_error, own_warnings
from fsql.console.shell.statements import (
    COMMANDS,
    as_statement,
    split_statements,
    without_comments,
)
from fsql.console.standard_output import shows_tables

if TYPE_CHECKING:
    from fsql.connectors.file.output_files import Existing
    from fsql.console.reporter import Reporter
    from fsql.console.shell.session import ShellSession

_HELP: Final = """\
Statements end with ; and may take several lines.

  CREATE TABLE, CREATE VIEW, DROP   kept in the session
  SELECT                            runs and shows its result; Ctrl-C ends it, Ctrl-S and Ctrl-Q pause it
  INSERT INTO                       runs until its input ends, or Ctrl-C
  SHOW TABLES, SHOW VIEWS, DESCRIBE name, SHOW CREATE TABLE name, EXPLAIN query
  help, quit                        without ; so are \\dt, \\dv and \\d name, which list tables and columns
"""
_GREETING: Final = "fsql {version}: statements end with ; help lists the statements, quit ends\n"


class Prompt(Protocol):
    """Asks for text."""

    def ask(self) -> str | None:
        """Return a complete text, None at the end of the input.

        Raises:
            KeyboardInterrupt: if the text was abandoned.
        """

    def on_declared(self) -> None:
        """Record that tables and views have changed."""


class _EndedError(Exception):
    """The shell ends with an exit code."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


@dataclass(slots=True)
class Shell:
    """Executes statements in a session."""

    session: ShellSession
    reporter: Reporter
    form: str | None
    preview: int | None
    existing: Existing

    def run_text(self, text: str) -> int:
        """Execute all statements of a text until one fails.  Return the exit code.

        Raises:
            FsqlError: of the statement that failed.
        """
        statements, rest = split_statements(text)
        if without_comments(rest).strip():
            statements.append(rest.strip())
        try:
            for statement in statements:
                self._carry_out(statement)
        except _EndedError as ended:
            return ended.code
        return exit_codes.OK

    def run_prompt(self, prompt: Prompt, version: str) -> int:
        """Ask for statements until the input ends; failures are reported.  Return the exit code."""
        if not self.reporter.quiet:
            print_message(_GREETING.format(version=version))
        while True:
            try:
                text = prompt.ask()
            except KeyboardInterrupt:
                continue
            if text is None:
                return exit_codes.OK
            before = len(self.session.declarations)
            try:
                code = self.run_text(text)
            except FsqlError as error:
                self.reporter.error(error)
                continue
            except KeyboardInterrupt:
                print_message("interrupted\n")
                continue
            if text.strip().lower() in COMMANDS and COMMANDS[text.strip().lower()] == "quit":
                return exit_codes.OK
            if code != exit_codes.OK:
                return code
            if len(self.session.declarations) != before:
                prompt.on_declared()

    def _carry_out(self, text: str) -> None:
        """Run one statement or command.

        Raises:
            _EndedError: if the shell is to end.
            FsqlError: an error in the statement, or one that ended it.
        """
        command = COMMANDS.get(text.strip().lower())
        if command == "quit":
            raise _EndedError(exit_codes.OK)
        if command == "help":
            print_message(_HELP)
            return
        text = as_statement(text)
        statement = self.session.statement(text)
        if isinstance(statement, syntax.Insert | syntax.SelectStatement | syntax.StatementSet):
            compiled = self.session.compile_statement(text)
            try:
                code = run_query(compiled, self.reporter, self.form, self.preview, self.existing)
            except FsqlError as error:
                raise locate_error(error, compiled) from None
            if code is not None:
                raise _EndedError(code)
        elif isinstance(statement, syntax.Inspection):
            _, found = self.session.lists(text)
            as_text = listing_text if shows_tables(self.form, self.reporter) else listing_json
            sys.stdout.write("".join(map(as_text, found)))
            sys.stdout.flush()
        else:
            warnings = own_warnings(self.session.declare(text))
            if warnings and not self.reporter.quiet:
                self.reporter.diagnostics(warnings, SourceText("<shell>", text))
