"""Messages on standard error; standard output is for data.

With `--json` each line is an object whose `event` names its kind: `diagnostics`, `progress`, `summary` and
others.  With `--quiet` only `diagnostics` are printed, as text or as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.render import render_json, render_text
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from fsql.compiler.diagnostics import Diagnostic, FsqlError
    from fsql.compiler.text.source import SourceText


@dataclass(frozen=True, slots=True)
class Reporter:
    """Prints messages as the flags require: errors only, as JSON, in colour."""

    quiet: bool = False
    json: bool = False
    coloured: bool = False

    def error(self, error: FsqlError) -> None:
        """Print the diagnostics of an error."""
        self.diagnostics(error.diagnostics, error.source)

    def diagnostics(self, diagnostics: Sequence[Diagnostic], source: SourceText | None) -> None:
        """Print diagnostics, even with `--quiet`."""
        if self.json:
            self.event("diagnostics", {"diagnostics": json.loads(render_json(diagnostics, source))})
        else:
            print_message(render_text(diagnostics, source, coloured=self.coloured))

    def inform(self, event: str, fields: Mapping[str, object], text: str) -> None:
        """Print information as an event or as text, unless `--quiet` is given."""
        if self.quiet:
            return
        if self.json:
            self.event(event, fields)
        else:
            print_message(text)

    def event(self, event: str, fields: Mapping[str, object]) -> None:
        """Print an event as one line of JSON."""
        print_message(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")


def print_message(text: str) -> None:
    """Write to standard error if it is open."""
    if sys.stderr is None:
        return
    with suppress(BrokenPipeError):  # A closed standard error does not stop the command.
        sys.stderr.write(text)
        sys.stderr.flush()


def wants_colours(stream: TextIO | None, *, refused: bool) -> bool:
    """Return whether to print in colour: on a terminal, unless disabled by a flag or NO_COLOR."""
    if refused or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()
