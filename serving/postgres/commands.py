"""What a statement of a client is: a query over results, one of the catalog, a setting, a transaction."""

from __future__ import annotations

import enum
import re
from typing import Final, NamedTuple

from fsql.job.results.answers import WRITING_WORDS


class Command(enum.Enum):
    """The kinds of statements."""

    EMPTY = "empty"
    QUERY = "query"
    CATALOG = "catalog"
    SHOW = "show"
    SET = "set"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    IGNORED = "ignored"
    WRITE = "write"
    UNSUPPORTED = "unsupported"


_FIRST: Final = {
    "select": Command.QUERY,
    "with": Command.QUERY,
    "values": Command.QUERY,
    "table": Command.QUERY,
    "show": Command.SHOW,
    "set": Command.SET,
    "reset": Command.SET,
    "begin": Command.BEGIN,
    "start": Command.BEGIN,
    "commit": Command.COMMIT,
    "end": Command.COMMIT,
    "rollback": Command.ROLLBACK,
    "abort": Command.ROLLBACK,
    "discard": Command.IGNORED,
    "deallocate": Command.IGNORED,
    "close": Command.IGNORED,
    "unlisten": Command.IGNORED,
    "savepoint": Command.IGNORED,
    "release": Command.IGNORED,
    **dict.fromkeys(WRITING_WORDS, Command.WRITE),
}
_COMMENT: Final = re.compile(r"\s+|--[^\n]*(?:\n|$)|/\*.*?\*/", re.DOTALL)
_PIECE: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|;|[^'\"$;/-]+|.",
    re.DOTALL,
)
_CATALOG: Final = re.compile(
    r"\b(?:pg_\w+|information_schema|current_(?:schemas?|database|catalog|setting|user|role)|session_user|"
    r"has_\w+_privilege|set_config|to_reg(?:type|class)|format_type|obj_description)\b|\bversion\s*\(",
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(r"\$(\d{1,3})")


class Setting(NamedTuple):
    """A setting that a client asks for or changes; `value` is None if it is reset."""

    name: str
    value: str | None


def statements(text: str) -> list[str]:
    """Return the statements of a text, without those that are empty."""
    found: list[str] = []
    current: list[str] = []
    for match in _PIECE.finditer(text):
        if match[0] == ";":
            found.append("".join(current))
            current = []
        else:
            current.append(match[0])
    found.append("".join(current))
    return [each.strip() for each in found if _without_comments(each)]


def _without_comments(text: str) -> str:
    at = 0
    while (match := _COMMENT.match(text, at)) is not None:
        at = match.end()
    return text[at:].strip()


def command_of(statement: str) -> Command:
    """Return what a statement is."""
    text = _without_comments(statement)
    match = re.match(r"\(*\s*([A-Za-z]+)", text)
    if match is None:
        return Command.EMPTY if not text else Command.UNSUPPORTED
    command = _FIRST.get(match[1].lower(), Command.UNSUPPORTED)
    if command is Command.QUERY and _CATALOG.search(_without_literals(text)):
        return Command.CATALOG
    return command


def _without_literals(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", text) if "::reg" not in text else text


def setting_of(statement: str) -> Setting | None:
    """Return the setting of a SET, RESET or SHOW; None if it is another form, which has no effect."""
    text = _without_comments(statement).rstrip(";").strip()
    match = re.fullmatch(r"(?:show|reset)\s+(.+)", text, re.IGNORECASE | re.DOTALL)
    if match is not None:
        name = match[1].strip().strip('"').lower()
        return Setting(
            {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}.get(
                name, name
            ),
            None,
        )
    match = re.fullmatch(
        r"set\s+(?:session\s+|local\s+)?(?:time\s+zone\s+|([\w.\"]+)\s*(?:=|to)\s*)(.+)",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    if match is None:
        return None
    value = match[2].strip()
    if value.lower() == "default":
        return Setting((match[1] or "timezone").strip('"').lower(), None)
    if value[:1] == "'" and value[-1:] == "'":
        value = value[1:-1].replace("''", "'")
    return Setting((match[1] or "timezone").strip('"').lower(), value)


def parameter_count(statement: str) -> int:
    """Return how many parameters a statement has."""
    return max(
        (int(match[1]) for match in _PARAMETER.finditer(_without_literals_kept(statement))),
        default=0,
    )


def _without_literals_kept(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", text)


def with_parameters(statement: str, literals: list[str]) -> str:
    """Return a statement in which literals stand for the parameters."""
    parts = re.split(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", statement)
    for at in range(0, len(parts), 2):
        parts[at] = _PARAMETER.sub(
            lambda match: (
                literals[int(match[1]) - 1] if 0 < int(match[1]) <= len(literals) else match[0]
            ),
            parts[at],
        )
    return "".join(parts)


def compared_names(statement: str) -> dict[int, str]:
    """Return the name of the column that each parameter is compared with, where there is one."""
    found = {}
    for match in re.finditer(
        r"\"?(\w+)\"?\s*(?:=|<>|!=|<=|>=|<|>)\s*\$(\d{1,3})", _without_texts(statement)
    ):
        found[int(match[2])] = match[1]
    for match in re.finditer(
        r"\$(\d{1,3})\s*(?:=|<>|!=|<=|>=|<|>)\s*\"?(\w+)\"?", _without_texts(statement)
    ):
        found.setdefault(int(match[1]), match[2])
    return found


def _without_texts(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", text)
