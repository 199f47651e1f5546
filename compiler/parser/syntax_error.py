"""Syntax errors, in terms of the tokens that the user has written.

The automaton stops at the first token that the grammar does not allow.  The mistake can often be determined
more exactly: each explanation below tries one common mistake and checks that the text can continue without
it, by running the automaton over the corrected text. The first explanation that fits is reported; if none
does, the expected tokens are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.dialects.advice.syntax import (
    AFTER_WORD,
    BEFORE_TEXT,
    CLAUSES,
    CREATED,
    NO_RECURSION,
    OF_JAVA,
    OF_KINDS,
    READ_AS_NAMES,
    SIGNS,
    STATEMENTS,
    item_help,
    pivot_help,
    short_form_help,
    sign_help,
)
from fsql.compiler.parser.expectations import expectation
from fsql.compiler.parser.keywords import RESERVED, kind_at
from fsql.compiler.parser.lookahead import Lookahead
from fsql.compiler.parser.parse_table import END, parse_table
from fsql.compiler.records import dataclass

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
        *("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY"),
        *("ORDER", "LIMIT", "OFFSET", "FETCH", "EMIT"),
    }
)

_CLAUSE_ORDER: Final = (
    "SELECT, FROM, WHERE, GROUP BY, HAVING, WINDOW, QUALIFY, EMIT, ORDER BY, LIMIT, OFFSET"
)


def syntax_error(text: ExpandedText, found: list[Token], index: int) -> FsqlError:
    """Return the error of the token at `index`, the first that the grammar does not allow."""
    if found[index].kind == "HINT":
        return text.error(_misplaced_hint(text, found[index]))
    state = _error_state(text, found, index)
    diagnostics = (explain(state) for explain in _EXPLANATIONS)
    return text.error(next(diagnostic for diagnostic in diagnostics if diagnostic is not None))


def _misplaced_hint(text: ExpandedText, hint: Token) -> Diagnostic:
    label = Label(text.span(hint.start, hint.end))
    helps = (
        "write it after SELECT, or OPTIONS after the name of a table",
        "or write /* … */ for a comment",
    )
    return Diagnostic("E118", "a hint is not allowed here", label, helps=helps)


@dataclass(frozen=True, slots=True)
class _ErrorState:
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
        """Return the bad token in the form of a keyword, "" if it is a sign or in quotes."""
        return self.bad.text.upper() if self.bad.kind == "WORD" else ""

    @property
    def next_keyword(self) -> str:
        """Return the token after the bad one in the form of a keyword, "" at the end."""
        return self.following[0].text.upper() if self.following else ""

    def span(self, token: Token) -> Span:
        """Return the span of `token` in the source."""
        return self.text.span(token.start, token.end)

    def quote(self, token: Token) -> str:
        """Return the text of `token` in quotes, only its beginning if it is long."""
        written = self.text.text[token.start : token.end]
        written = written if len(written) <= _SHOWN_MAX else f"{written[:_SHOWN_MAX]}…"
        return written if written.startswith(("'", '"', "`")) else f'"{written}"'

    @property
    def is_adjacent(self) -> bool:
        """Return whether the token directly follows the one before it."""
        return self.last is not None and self.last.end == self.bad.start

    @property
    def title(self) -> str:
        """Return the message if there is no better one."""
        if self.last is None or self.last_kind == "SEMICOLON":
            return f"unknown statement {self.quote(self.bad)}"
        return f"syntax error at {self.quote(self.bad)}"


def _error_state(text: ExpandedText, found: list[Token], index: int) -> _ErrorState:
    table = parse_table()
    here = before_last = Lookahead(table, [table.start])
    last_kind = ""
    for position in range(index):
        if position == index - 1:
            before_last = here.copy()
        last_kind = kind_at(found[position], found[position + 1], here)
        here.take(last_kind)
    return _ErrorState(
        text=text,
        bad=found[index],
        following=found[index + 1 : index + 3],
        here=here,
        accepts=here.accepts(),
        before=found[:index],
        last_kind=last_kind,
        before_last=before_last,
    )


def _other_dialect(state: _ErrorState) -> Diagnostic | None:
    """Explain statements, clauses and operators of other dialects."""
    help_ = _dialect_help(state)
    if help_ is None:
        return None
    return Diagnostic("E101", state.title, Label(state.span(state.bad)), helps=(help_,))


def _dialect_help(state: _ErrorState) -> str | None:
    if state.last is None or state.last_kind == "SEMICOLON":
        return STATEMENTS.get(state.keyword) or (SIGNS["#"] if state.bad.kind == "HASH" else None)
    before = state.last.text.upper() if state.last.kind == "WORD" else ""
    if before == "CREATE":
        return CREATED.get(state.keyword)
    match state.last_kind, state.bad.kind:
        case _, "LPAR":
            help_ = pivot_help(state.before) or READ_AS_NAMES.get(before)
        case _, "STREAM_WINDOW" | "SINK_WITH":
            help_ = OF_KINDS[state.bad.kind]
        case "STAR", _ if state.keyword == "RENAME":
            help_ = "write * EXCLUDE (a), a AS b"
        case "NAME", _ if before == "RECURSIVE":
            help_ = NO_RECURSION
        case (
            "LESS_EQUAL" | "SLASH" | "AMPERSAND" | "HASH",
            "MORE" | "SHIFT_RIGHT" | "SLASH" | "AMPERSAND",
        ) if state.is_adjacent:
            help_ = sign_help(state.text.text, state.last.start)
        case _, (
            "QUESTION" | "LBRACE" | "VBAR" | "CONCAT" | "HASH" | "LSQB" | "COLON_EQUAL" | "TILDE"
        ):
            help_ = sign_help(state.text.text, state.bad.start)
        case _:
            help_ = (
                BEFORE_TEXT.get((state.keyword, state.next_keyword))
                or (READ_AS_NAMES.get(before) if state.last_kind == "NAME" else None)
                or AFTER_WORD.get((before, state.keyword))
                or item_help(state.before, state.bad)
                or pivot_help(state.before)
                or CLAUSES.get(state.keyword)
                or _option_help(state)
                or short_form_help(state.before, state.bad)
            )
    return help_


def _option_help(state: _ErrorState) -> str | None:
    """Return the help for `WITH (connector = file)` and `SET a = b`."""
    if "STRING" not in state.accepts or "NAME" in state.accepts:
        return None
    if state.last_kind == "SET":
        return "write key and value in single quotes: SET 'key' = 'value'"
    shown = state.bad.text.replace("'", "''")
    if state.bad.kind == "WORD" and state.last_kind in {"LPAR", "COMMA"}:
        return f"write the option's name in single quotes: '{shown}'"
    if state.bad.kind in {"WORD", "NUMBER"} and state.last_kind == "EQUAL":
        return f"write the option's value in single quotes: '{shown}'"
    return None


def _leads(state: Lookahead, kinds: Sequence[str], tokens: Sequence[Token]) -> bool:
    """Return whether tokens of `kinds`, and then `tokens`, can follow in `state`."""
    ahead = state.copy()
    return all(map(ahead.take, kinds)) and all(
        ahead.take(kind_at(token, after, ahead))
        for token, after in zip(tokens, [*tokens[1:], None], strict=True)
    )


def _misspelling_before(state: _ErrorState) -> Diagnostic | None:
    """Explain `SELECT a FORM t`: the preceding token, which was read as a name, is a misspelt keyword."""
    last = state.last
    if last is None or state.last_kind != "NAME":
        return None
    tokens = parse_table().keywords
    keywords = sorted(
        kind
        for kind in state.before_last.accepts() & tokens
        if _leads(state.before_last, [kind], [state.bad])
    )
    near = near_name(last.text, keywords)
    return None if near is None else _misspelling(state, last, near)


def _misspelling_here(state: _ErrorState) -> Diagnostic | None:
    """Explain `SELCT a`: the token is a misspelt keyword."""
    if state.keyword in RESERVED | {""}:
        return None
    keywords = sorted(state.accepts & parse_table().keywords)
    leading = [kind for kind in keywords if _leads(state.here, [kind], state.following[:1])]
    near = near_name(state.bad.text, leading) or near_name(state.bad.text, keywords)
    return None if near is None else _misspelling(state, state.bad, near)


def _misspelling(state: _ErrorState, token: Token, keyword: str) -> Diagnostic:
    label = Label(state.span(token), f"expected {keyword}")
    help_ = f"a keyword with a similar name exists: {keyword}"
    return Diagnostic("E101", f"syntax error at {state.quote(token)}", label, helps=(help_,))


def _trailing_comma(state: _ErrorState) -> Diagnostic | None:
    """Explain `SELECT a, FROM t`: without the comma the text is valid."""
    last = state.last
    if last is None or state.last_kind != "COMMA" or state.bad.kind in {END, "LSQB"}:
        return None
    if not _leads(state.before_last, [], [state.bad]):
        return None
    label = Label(state.span(last), "no item follows")
    next_ = Label(state.span(state.bad), "the list ends here")
    return Diagnostic("E114", "trailing comma", label, (next_,), helps=("remove the comma",))


def _unfinished_text(state: _ErrorState) -> Diagnostic | None:
    """Explain the end of the text or of a statement that is incomplete."""
    if state.bad.kind not in {"SEMICOLON", END} or state.last is None:
        return None
    end = state.last.end
    label = Label(state.text.span(end, end), expectation(state.accepts))
    of_java = state.last_kind == "STRING" and "LANGUAGE" in state.accepts
    helps = (OF_JAVA,) if of_java else ()
    return Diagnostic("E105", "the statement is incomplete", label, helps=helps)


def _comparison_chain(state: _ErrorState) -> Diagnostic | None:
    """Explain `a < b < c`, and `a == b`."""
    if state.bad.kind not in _COMPARISONS:
        return None
    span = state.span(state.bad)
    if state.bad.kind == state.last_kind == "EQUAL":
        return Diagnostic(
            "E101", state.title, Label(span), helps=('equality is written with one "="',)
        )
    if "AND" not in state.accepts:
        return None
    label = Label(span, "compares a BOOLEAN")
    helps = ("write a < b AND b < c instead of a < b < c",)
    return Diagnostic("E115", "comparison of a comparison", label, helps=helps)


def _wrong_quotes(state: _ErrorState) -> Diagnostic | None:
    """Explain a string in double quotes, and a name in single quotes."""
    bad, accepts = state.bad, state.accepts
    if bad.kind == "QUOTED_NAME" and "STRING" in accepts:
        escaped = bad.text.replace("'", "''")
        help_ = f"a string is written in single quotes: '{escaped}'"
    elif bad.kind == "STRING" and "QUOTED_NAME" in accepts:
        escaped = bad.text.replace('"', '""')
        help_ = f'a name is written in double quotes: "{escaped}"'
    else:
        return None
    label = Label(state.span(bad), expectation(accepts))
    return Diagnostic("E101", state.title, label, helps=(help_,))


def _reserved_name(state: _ErrorState) -> Diagnostic | None:
    """Explain `SELECT order FROM t`: with quotes the text can continue, with an inserted name it cannot."""
    if state.keyword not in RESERVED or "NAME" not in state.accepts:
        return None
    if _leads(state.here, ["NAME"], [state.bad, *state.following[:1]]):
        return None
    if not _leads(state.here, ["NAME"], state.following[:1]):
        return None
    label = Label(state.span(state.bad), "a keyword")
    message = f"the reserved word {state.quote(state.bad)} is used as a name"
    return Diagnostic("E106", message, label, helps=(f'quote it: "{state.bad.text}"',))


def _missing_keyword(state: _ErrorState) -> Diagnostic | None:
    """Explain `CREATE VIEW v SELECT 1`: with exactly one inserted keyword the text can continue."""
    if state.last is None or state.last_kind == "SEMICOLON":
        return None
    ahead = [state.bad, *state.following[:1]]
    keywords = sorted(state.accepts & parse_table().keywords)
    leading = [keyword for keyword in keywords if _leads(state.here, [keyword], ahead)]
    if len(leading) != 1:
        return None
    label = Label(state.span(state.bad), expectation(state.accepts))
    helps: tuple[str, ...] = (f"write {leading[0]} before {state.quote(state.bad)}",)
    if _begins_statement(state):
        helps += ('or add ";", if another statement begins here',)
    return Diagnostic("E101", state.title, label, helps=helps)


def _insert_after_with(state: _ErrorState) -> Diagnostic | None:
    """Explain `WITH v AS (…) INSERT INTO t SELECT …`, which some dialects support."""
    if state.keyword != "INSERT" or not {"COMMA", "SELECT"} <= state.accepts:
        return None
    label = Label(state.span(state.bad), expectation(state.accepts))
    helps = ("WITH belongs to the query: INSERT INTO t WITH v AS (…) SELECT …",)
    return Diagnostic("E101", state.title, label, helps=helps)


def _begins_statement(state: _ErrorState) -> bool:
    """Return whether the token can begin a statement, and the one before it can end."""
    return "SEMICOLON" in state.accepts and _leads(state.here, ["SEMICOLON"], [state.bad])


def _missing_semicolon(state: _ErrorState) -> Diagnostic | None:
    """Explain a statement that begins before the preceding one has ended."""
    if not _begins_statement(state):
        return None
    label = Label(state.span(state.bad), "another statement begins here")
    return Diagnostic("E101", state.title, label, helps=('add ";" before it',))


def _missing_comma(state: _ErrorState) -> Diagnostic | None:
    """Explain two items of a list with nothing between them."""
    if state.is_adjacent or not _leads(state.here, ["COMMA"], [state.bad, *state.following[:1]]):
        return None
    label = Label(state.span(state.bad), expectation(state.accepts))
    return Diagnostic("E101", state.title, label, helps=('separate the items of a list with ","',))


def _unexpected_token(state: _ErrorState) -> Diagnostic:
    """Return the error that states which tokens are expected."""
    label = Label(state.span(state.bad), expectation(state.accepts))
    notes: tuple[str, ...] = ()
    if state.keyword in _CLAUSES and END in state.accepts:
        notes = (f"the clauses of a query must be in this order: {_CLAUSE_ORDER}",)
    return Diagnostic("E101", state.title, label, notes=notes)


_EXPLANATIONS: Final = (
    _trailing_comma,
    _other_dialect,
    _misspelling_before,
    _misspelling_here,
    _unfinished_text,
    _comparison_chain,
    _wrong_quotes,
    _reserved_name,
    _insert_after_with,
    _missing_comma,
    _missing_keyword,
    _missing_semicolon,
    _unexpected_token,
)
