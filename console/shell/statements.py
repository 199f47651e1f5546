"""Divides text into statements while it is typed: at `;` outside of quotes, comments and sets."""

from __future__ import annotations

import re
from typing import Final

_REGION: Final = re.compile(
    r"""(?s: --[^\r\n]*+ | /\*.*?(?:\*/|\Z) | '(?:[^']|'')*+(?:'|\Z) | "[^"]*+(?:"|\Z) | `[^`]*+(?:`|\Z)
      | [^-/'"`;]++ | . )""",
    re.VERBOSE,
)
_COMMENT: Final = re.compile(r"--[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SET_BEGINS: Final = re.compile(
    r"\s*(EXECUTE\s+STATEMENT\s+SET|BEGIN\s+STATEMENT\s+SET)\b", re.IGNORECASE
)
_SET_ENDS: Final = re.compile(r"\s*END\s*", re.IGNORECASE)
_DESCRIBE: Final = re.compile(r"\\d[tv]?\+?\s+(?P<name>\S+)")
_OF_PSQL: Final = {
    "\\d": "SHOW TABLES",
    "\\d+": "SHOW TABLES",
    "\\dt": "SHOW TABLES",
    "\\dt+": "SHOW TABLES",
    "\\dv": "SHOW VIEWS",
    "\\dv+": "SHOW VIEWS",
}


def split_statements(text: str) -> tuple[list[str], str]:
    """Return the statements that a `;` ends, without it, and the text after the last of them.

    >>> split_statements("SELECT ';' FROM t; -- a; b")
    (["SELECT ';' FROM t"], ' -- a; b')
    """
    statements: list[str] = []
    begun = done = 0
    for region in _REGION.finditer(text):
        if region[0] != ";":
            continue
        part, whole = text[done : region.start()], text[begun : region.start()]
        done = region.end()
        if _SET_BEGINS.match(without_comments(whole)) and not _SET_ENDS.fullmatch(
            without_comments(part)
        ):
            continue
        if without_comments(whole).strip():
            statements.append(whole.strip())
        begun = done
    return statements, text[begun:]


def without_comments(text: str) -> str:
    """Return a text with a space for each comment; it may be incorrect inside quotes."""
    return _COMMENT.sub(" ", text)


def is_complete(text: str) -> bool:
    """Return whether all statements are complete, or there is only a command of the shell."""
    _, rest = split_statements(text)
    only = text.strip()
    return not without_comments(rest).strip() or only.lower() in COMMANDS or only.startswith("\\")


def as_statement(text: str) -> str:
    r"""Return the statement for a command of psql, and other text as it is.

    >>> as_statement(r"\dt"), as_statement(r"\d t")
    ('SHOW TABLES', 'DESCRIBE t')
    """
    described = _DESCRIBE.fullmatch(text.strip())
    if described is not None:
        return f"DESCRIBE {described['name']}"
    return _OF_PSQL.get(text.strip(), text)


COMMANDS: Final = {
    "help": "help",
    "\\h": "help",
    "\\?": "help",
    "quit": "quit",
    "exit": "quit",
    "\\q": "quit",
}
"""The commands that are not SQL, with their meanings; they need no `;`."""
