"""`docs/coming_from.md`: its tables are made from the manuals of the dialects and the table of forms."""

from __future__ import annotations

import re
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from fsql.compiler.dialects.registry import CALLS, GRAMMAR, ITEMS, RELATIONS, WINDOWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COMING_FROM: Final = "docs/coming_from.md"
_TABLE: Final = re.compile(
    r"(<!-- made from compiler/dialects/([a-z_/]+)\.py: ([A-Z]+) -->\n)(?:\|[^\n]*\n)*"
)


def coming_from_page(text: str) -> str:
    """Return the page with the tables that are made now."""

    def made(found: re.Match[str]) -> str:
        module = import_module(f"fsql.compiler.dialects.{found[2].replace('/', '.')}")
        rows = _forms() if found[3] == "FORMS" else getattr(module, found[3])
        return found[1] + "".join(f"{line}\n" for line in _lines(rows))

    return _TABLE.sub(made, text)


def _forms() -> Iterator[tuple[str, ...]]:
    """Yield the forms of the registry, by system."""
    yield "system", "form", "stands for"
    grammar = dict.fromkeys(rule.form for rule in GRAMMAR.values())
    rows = [
        *((form.system, form.written, form.standard) for form in CALLS.values()),
        *((f.system, f"FROM {f.written}", f"FROM {f.standard}") for f in RELATIONS.values()),
        *((f.system, f"SELECT {f.written} FROM t", f"FROM t {f.standard}") for f in ITEMS.values()),
        (WINDOWS.system, WINDOWS.written, WINDOWS.standard),
        *((form.system, form.written, form.standard) for form in grammar),
    ]
    for system, *forms in sorted(rows, key=itemgetter(0)):
        yield system, *(f"`{form}`" for form in forms)


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"| {' | '.join(row)} |".replace("|  |", "| |")
        if not number:
            yield f"|{'---|' * len(row)}"
