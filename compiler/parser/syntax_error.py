"""Syntax errors, in terms of the tokens that a user has written.

The automaton stops at the first token that the grammar does not allow.  The mistake is often known
more exactly: each explanation below tries one common mistake and, by running the automaton
over the text without the mistake, checks that the text can then continue.  The first that
fits is reported; if none does, the tokens that were expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.parser.dialects import (
    AFTER_WORD,
    BEFORE_TEXT,
    CLAUSES,
    CREATED,
    KSQL_WINDOWS,
    NO_RECURSION,
    READ_AS_NAMES,
    STATEMENTS,
    item_help,
    sign_help,
)
from fsql.compiler.parser.expectations import expectation
from fsql.compiler.parser.keywords import RESERVED, kind_at
from fsql.compiler.parser.lookahead import Lookahead
from fsql.compiler.parser.parse_table import END, parse_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.diagnostics import FsqlError
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.parameters import ExpandedText
    from fsql.compiler.text.source import Span

_SHOWN_MAX: Final = 40
_COMPARISONS: Final = frozenset(
    {"EQUAL", "NOT_EQUAL", "BANG_EQUAL", "LESS", "LESS_EQUAL", "MORE", "MORE_EQUAL"}
)
_CLAUSES: Final = frozenset(
    {
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "WINDOW",
        "QUALIFY",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "FETCH",
        "EMIT",
    }
)

_CLAUSE_ORDER: Final = (
    "SELECT, FROM, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, EMIT, ORDER BY, LIMIT, OFFSET"
)


def syntax_error(text: ExpandedText, found: list[Token], index: int) -> FsqlError:
    """Return the error of the token at `index`, the first that the grammar does not allow."""
    place = _place(text, found, index)
    diagnostics = (explain(place) for explain in _EXPLANATIONS)
    return text.error(next(diagnostic for diagnostic in diagnostics if diagnostic is not None))


@dataclass(frozen=True, slots=True)
class _Place:
    """The token that the grammar does not allow, and the automaton before it.

    Attributes:
        bad: the token.
        following: the two tokens after it, fewer at the end.
        here: the automaton before it.
        accepts: the kinds of tokens that are allowed there.
        before: the tokens before it.
        last_kind: how that was read, "" at the beginning.
        before_last: the automaton before that.
    """

    text: ExpandedText
    bad: Token
    following: Sequence[Token]
    here: Lookahead
    accepts: frozenset[str]
    before: Sequence[Token]
    last_kind: str
    before_last: Lookahead

    @property
    def last(self) -> Token | None:
        """Return the token before it, None at the beginning."""
        return self.before[-1] if self.before else None

    @property
    def keyword(self) -> str:
        """Return the bad token as a keyword would be written, "" if it is a sign or in quotes."""
        return self.bad.text.upper() if self.bad.kind == "WORD" else ""

    @property
    def next_keyword(self) -> str:
        """Return the token after the bad one as a keyword would be written, "" at the end."""
        return self.following[0].text.upper() if self.following else ""

    def span(self, token: Token) -> Span:
        """Return where `token` is in the source."""
        return self.text.span(token.start, token.end)

    def shown(self, token: Token) -> str:
        """Return `token` in quotes as it is written, the beginning of it if it is long."""
        written = self.text.text[token.start : token.end]
        written = written if len(written) <= _SHOWN_MAX else f"{written[:_SHOWN_MAX]}…"
        return written if written.startswith(("'", '"', "`")) else f'"{written}"'

    @property
    def glued(self) -> bool:
        """Return whether the token follows the one before it with nothing between."""
        return self.last is not None and self.last.end == self.bad.start

    @property
    def title(self) -> str:
        """Return the message if there is no better one."""
        if self.last is None or self.last_kind == "SEMICOLON":
            return f"unknown statement {self.shown(self.bad)}"
        return f"syntax error at {self.shown(self.bad)}"


def _place(text: ExpandedText, found: list[Token], index: int) -> _Place:
    table = parse_table()
    here = before_last = Lookahead(table, [table.start])
    last_kind = ""
    for position in range(index):
        if position == index - 1:
            before_last = here.copy()
        last_kind = kind_at(found[position], found[position + 1], here)
        here.take(last_kind)
    return _Place(
        text=text,
        bad=found[index],
        following=found[index + 1 : index + 3],
        here=here,
        accepts=here.accepts(),
        before=found[:index],
        last_kind=last_kind,
        before_last=before_last,
    )


def _other_dialect(place: _Place) -> Diagnostic | None:
    """Explain statements, clauses and operators that other dialects have."""
    help_ = _dialect_help(place)
    if help_ is None:
        return None
    return Diagnostic("E101", place.title, Label(place.span(place.bad)), helps=(help_,))


def _dialect_help(place: _Place) -> str | None:
    if place.last is None or place.last_kind == "SEMICOLON":
        return STATEMENTS.get(place.keyword)
    before = place.last.text.upper() if place.last.kind == "WORD" else ""
    if before == "CREATE":
        return CREATED.get(place.keyword)
    match place.last_kind, place.bad.kind:
        case _, "LPAR":
            help_ = KSQL_WINDOWS.get(before)
        case "STAR", _ if place.keyword in {"EXCLUDE", "EXCEPT", "REPLACE", "RENAME"}:
            help_ = "list the columns"
        case "BY", _ if place.keyword == "ALL":
            help_ = "list the columns to group by"
        case "NAME", _ if before == "RECURSIVE":
            help_ = NO_RECURSION
        case _, "QUESTION" | "LBRACE" | "VBAR" | "LSQB":
            help_ = sign_help(place.text.text, place.bad.start)
        case "LESS_EQUAL" | "SLASH", "MORE" | "SLASH" if place.glued:
            help_ = sign_help(place.text.text, place.last.start)
        case _:
            help_ = (
                BEFORE_TEXT.get((place.keyword, place.next_keyword))
                or (READ_AS_NAMES.get(before) if place.last_kind == "NAME" else None)
                or AFTER_WORD.get((before, place.keyword))
                or item_help(place.before, place.bad)
                or CLAUSES.get(place.keyword)
                or _option_help(place)
            )
    return help_


def _option_help(place: _Place) -> str | None:
    """Return what to write for `WITH (connector = file)` and `SET a = b`."""
    if "STRING" not in place.accepts or "NAME" in place.accepts:
        return None
    if place.last_kind == "SET":
        return "write key and value in single quotes: SET 'key' = 'value'"
    shown = place.bad.text.replace("'", "''")
    if place.bad.kind == "WORD" and place.last_kind in {"LPAR", "COMMA"}:
        return f"write the option's name in single quotes: '{shown}'"
    if place.bad.kind in {"WORD", "NUMBER"} and place.last_kind == "EQUAL":
        return f"write the option's value in single quotes: '{shown}'"
    return None


def _leads(place: Lookahead, kinds: Sequence[str], tokens: Sequence[Token]) -> bool:
    """Return whether from `place` on, tokens of `kinds` and then `tokens` can come."""
    ahead = place.copy()
    return all(map(ahead.take, kinds)) and all(
        ahead.take(kind_at(token, after, ahead))
        for token, after in zip(tokens, [*tokens[1:], None], strict=True)
    )


def _misspelt_before(place: _Place) -> Diagnostic | None:
    """Explain `SELECT a FORM t`: the token before, which was read as a name, is a misspelt keyword."""
    last = place.last
    if last is None or place.last_kind != "NAME":
        return None
    tokens = parse_table().keywords
    keywords = sorted(
        kind
        for kind in place.before_last.accepts() & tokens
        if _leads(place.before_last, [kind], [place.bad])
    )
    near = near_name(last.text, keywords)
    return None if near is None else _misspelt(place, last, near)


def _misspelt_here(place: _Place) -> Diagnostic | None:
    """Explain `SELCT a`: the token is a keyword misspelt."""
    if place.keyword in RESERVED | {""}:
        return None
    keywords = sorted(place.accepts & parse_table().keywords)
    leading = [kind for kind in keywords if _leads(place.here, [kind], place.following[:1])]
    near = near_name(place.bad.text, leading) or near_name(place.bad.text, keywords)
    return None if near is None else _misspelt(place, place.bad, near)


def _misspelt(place: _Place, token: Token, keyword: str) -> Diagnostic:
    label = Label(place.span(token), f"expected {keyword}")
    help_ = f"a keyword with a similar name exists: {keyword}"
    return Diagnostic("E101", f"syntax error at {place.shown(token)}", label, helps=(help_,))


def _trailing_comma(place: _Place) -> Diagnostic | None:
    """Explain `SELECT a, FROM t`: without the comma the text is valid."""
    last = place.last
    if last is None or place.last_kind != "COMMA" or place.bad.kind == END:
        return None
    if not _leads(place.before_last, [], [place.bad]):
        return None
    label = Label(place.span(last), "no item follows")
    next_ = Label(place.span(place.bad), "the list ends here")
    return Diagnostic("E114", "trailing comma", label, (next_,), helps=("remove the comma",))


def _unfinished(place: _Place) -> Diagnostic | None:
    """Explain the end of the text or of a statement where it must continue."""
    if place.bad.kind not in {"SEMICOLON", END} or place.last is None:
        return None
    end = place.last.end
    label = Label(place.text.span(end, end), expectation(place.accepts))
    return Diagnostic("E105", "the statement is incomplete", label)


def _comparison_chain(place: _Place) -> Diagnostic | None:
    """Explain `a < b < c`, and `a == b`."""
    if place.bad.kind not in _COMPARISONS:
        return None
    span = place.span(place.bad)
    if place.bad.kind == place.last_kind == "EQUAL":
        return Diagnostic(
            "E101", place.title, Label(span), helps=('equality is written with one "="',)
        )
    if "AND" not in place.accepts:
        return None
    label = Label(span, "compares a BOOLEAN")
    return Diagnostic(
        "E115",
        "comparison of a comparison",
        label,
        helps=("write a < b AND b < c instead of a < b < c",),
    )


def _wrong_quotes(place: _Place) -> Diagnostic | None:
    """Explain a string in double quotes, and a name in single ones."""
    bad, accepts = place.bad, place.accepts
    if bad.kind == "QUOTED_NAME" and "STRING" in accepts:
        escaped = bad.text.replace("'", "''")
        help_ = f"a string is written in single quotes: '{escaped}'"
    elif bad.kind == "STRING" and "QUOTED_NAME" in accepts:
        escaped = bad.text.replace('"', '""')
        help_ = f'a name is written in double quotes: "{escaped}"'
    else:
        return None
    label = Label(place.span(bad), expectation(accepts))
    return Diagnostic("E101", place.title, label, helps=(help_,))


def _reserved_name(place: _Place) -> Diagnostic | None:
    """Explain `SELECT order FROM t`: with quotes the text can continue, with an inserted name it cannot."""
    if place.keyword not in RESERVED or "NAME" not in place.accepts:
        return None
    if _leads(place.here, ["NAME"], [place.bad, *place.following[:1]]):
        return None
    if not _leads(place.here, ["NAME"], place.following[:1]):
        return None
    label = Label(place.span(place.bad), "a keyword")
    message = f"the reserved word {place.shown(place.bad)} is used as a name"
    return Diagnostic("E106", message, label, helps=(f'quote it: "{place.bad.text}"',))


def _missing_keyword(place: _Place) -> Diagnostic | None:
    """Explain `CREATE VIEW v SELECT 1`: with exactly one inserted keyword the text can continue."""
    if place.last is None or place.last_kind == "SEMICOLON":
        return None
    ahead = [place.bad, *place.following[:1]]
    keywords = sorted(place.accepts & parse_table().keywords)
    leading = [keyword for keyword in keywords if _leads(place.here, [keyword], ahead)]
    if len(leading) != 1:
        return None
    label = Label(place.span(place.bad), expectation(place.accepts))
    help_ = f"write {leading[0]} before {place.shown(place.bad)}"
    return Diagnostic("E101", place.title, label, helps=(help_,))


def _insert_after_with(place: _Place) -> Diagnostic | None:
    """Explain `WITH v AS (…) INSERT INTO t SELECT …`, as some dialects have it."""
    if place.keyword != "INSERT" or not {"COMMA", "SELECT"} <= place.accepts:
        return None
    label = Label(place.span(place.bad), expectation(place.accepts))
    help_ = "WITH belongs to the query: INSERT INTO t WITH v AS (…) SELECT …"
    return Diagnostic("E101", place.title, label, helps=(help_,))


def _missing_semicolon(place: _Place) -> Diagnostic | None:
    """Explain a statement that begins where another has not been ended."""
    if "SEMICOLON" not in place.accepts or not _leads(place.here, ["SEMICOLON"], [place.bad]):
        return None
    label = Label(place.span(place.bad), "another statement begins here")
    help_ = 'add ";" before it'
    return Diagnostic("E101", place.title, label, helps=(help_,))


def _missing_comma(place: _Place) -> Diagnostic | None:
    """Explain two items of a list with nothing between them."""
    if place.glued or not _leads(place.here, ["COMMA"], [place.bad, *place.following[:1]]):
        return None
    label = Label(place.span(place.bad), expectation(place.accepts))
    return Diagnostic("E101", place.title, label, helps=('separate the items of a list with ","',))


def _unexpected(place: _Place) -> Diagnostic:
    """Return the error that states which tokens are expected."""
    label = Label(place.span(place.bad), expectation(place.accepts))
    notes: tuple[str, ...] = ()
    if place.keyword in _CLAUSES and END in place.accepts:
        notes = (f"the clauses of a query come in this order: {_CLAUSE_ORDER}",)
    return Diagnostic("E101", place.title, label, notes=notes)


_EXPLANATIONS: Final = (
    _trailing_comma,
    _other_dialect,
    _misspelt_before,
    _misspelt_here,
    _unfinished,
    _comparison_chain,
    _wrong_quotes,
    _reserved_name,
    _insert_after_with,
    _missing_comma,
    _missing_keyword,
    _missing_semicolon,
    _unexpected,
)
