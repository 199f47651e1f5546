"""The prompt of the shell on a terminal: several lines, history, completion."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from fsql.compiler.functions.aggregates import AGGREGATES
from fsql.compiler.functions.table import CALLABLE
from fsql.compiler.parser.keywords import RESERVED
from fsql.compiler.parser.parse_table import parse_table
from fsql.console.shell.statements import is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from fsql.console.shell.session import ShellSession

_WORD: Final = re.compile(r"\w*\Z")
_PROMPT: Final = "fsql> "
_CONTINUED: Final = "   -> "


class SqlCompleter(Completer):
    """Completes names of tables and columns, functions and keywords, in this order."""

    def __init__(self, session: ShellSession) -> None:
        self._session = session
        words = sorted(parse_table().keywords | RESERVED)
        self._keywords = [(word, "keyword") for word in words]
        self._functions = [(f"{name}(", "function") for name in sorted({*CALLABLE, *AGGREGATES})]
        self._names: Mapping[str, list[str]] = {}

    def refresh(self) -> None:
        """Read the tables of the session again."""
        self._names = self._session.names()

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - of the interface
    ) -> Iterable[Completion]:
        """Yield the possible completions of the word before the cursor."""
        text = document.text_before_cursor
        word = _WORD.search(text)[0]  # type: ignore[index]  # it matches every text
        before = text[: len(text) - len(word)]
        if not word and not before.endswith("."):
            return
        for name, meaning in self._candidates(word, before):
            yield Completion(name, start_position=-len(word), display_meta=meaning)

    def _candidates(self, word: str, before: str) -> Iterable[tuple[str, str]]:
        if before.endswith("."):
            table = (
                before[:-1].rsplit(maxsplit=1)[-1].strip('(,"').lower()
                if before[:-1].split()
                else ""
            )
            found = [(each, name) for name, columns in self._names.items() for each in columns]
            own = [(each, name) for each, name in found if name.lower() == table]
            candidates = own or found
        else:
            tables = [(name, "table") for name in self._names]
            columns = {column: "column" for each in self._names.values() for column in each}
            candidates = [*tables, *columns.items(), *self._functions, *self._keywords]
        start = word.lower()
        return [each for each in candidates if each[0].lower().startswith(start)]


class TerminalPrompt:
    """Asks for statements on a terminal."""

    def __init__(self, session: ShellSession, terminal: tuple[Input, Output] | None = None) -> None:
        """`terminal` replaces the terminal of the process."""
        self._completer = SqlCompleter(session)
        source, target = terminal or (None, None)
        self._prompt: PromptSession[str] = PromptSession(
            _PROMPT,
            # Always, since a search, such as with Ctrl-R, must end with the layout with which it began.
            multiline=True,
            key_bindings=self._keys(),
            prompt_continuation=_CONTINUED,
            completer=self._completer,
            complete_while_typing=False,
            history=_history(),
            search_ignore_case=True,
            input=source,
            output=target,
        )

    def ask(self) -> str | None:
        """Return a complete text, None at Ctrl-D.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
        """
        try:
            return self._prompt.prompt()
        except EOFError:
            return None

    def on_declared(self) -> None:
        """Complete the names that are currently declared."""
        self._completer.refresh()

    def _keys(self) -> KeyBindings:
        """Let Enter end a text that is complete, instead of beginning a line."""
        keys = KeyBindings()
        complete = Condition(lambda: is_complete(self._prompt.default_buffer.text))

        @keys.add("enter", filter=has_focus(DEFAULT_BUFFER) & complete)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        return keys


def _history() -> History:
    """Return the history of earlier sessions, or only of this one if its file cannot be used."""
    configured = os.environ.get("XDG_STATE_HOME")
    directory = (Path(configured) if configured else Path.home() / ".local" / "state") / "fsql"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = directory / "history"
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(file)
