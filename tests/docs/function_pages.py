"""`docs/functions.md` and `docs/functions/`, made from the table of functions and its manual."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual import (
    arrays,
    conditions,
    encodings,
    json,
    maps,
    numbers,
    texts,
    times,
)
from fsql.compiler.functions.signature import Nullability
from fsql.compiler.functions.table import CALLABLE, FUNCTIONS

if TYPE_CHECKING:
    from types import ModuleType

    from fsql.compiler.functions.manual.entry import ManualEntry

FUNCTIONS_PAGE: Final = "docs/functions.md"
FAMILIES: Final = (texts, encodings, numbers, times, json, arrays, maps, conditions)
ENTRIES: Final[dict[str, ManualEntry]] = {
    name: entry for family in FAMILIES for name, entry in family.ENTRIES.items()
}

_MADE: Final = (
    "<!-- Made from compiler/functions/manual by `pytest tests/test_docs.py --rewrite`. -->"
)
_NULLS: Final = {
    Nullability.ANY_ARGUMENT: "NULL if an argument is NULL.",
    Nullability.ALL_ARGUMENTS: "NULL if every argument is NULL.",
    Nullability.ALWAYS: "Also NULL if an argument is NULL.",
    Nullability.NEVER: "Never NULL.",
}


def names_of(name: str) -> list[str]:
    """Return the names by which SQL calls a function, the one of its entry first."""
    if name not in FUNCTIONS:
        return [name, *ENTRIES[name].also]
    function = FUNCTIONS[name]
    spellings = [each for each in function.spellings if CALLABLE.get(each) is function]
    return [each for each in spellings if each not in ENTRIES]


def function_pages() -> dict[str, str]:
    """Return the pages by their paths."""
    pages = {f"docs/functions/{_file(family)}": _page(family) for family in FAMILIES}
    return {FUNCTIONS_PAGE: _index(), **pages}


def _file(family: ModuleType) -> str:
    return f"{family.__name__.rpartition('.')[2]}.md"


def _index() -> str:
    names = [name for each in ENTRIES for name in names_of(each)]
    head = (
        f"There are {len(ENTRIES)} functions, with {len(names)} names. Each has an entry with its"
        " signatures, its result for NULL,\nwhich rows it fails, and examples, which are"
        " conditions that are TRUE. Aggregate functions are in\n"
        "[language.md](language.md#aggregate-functions).\n"
    )
    parts = [f"{_MADE}\n\n# Scalar functions\n\n", head]
    for family in FAMILIES:
        listed = sorted((n, names_of(each)[0]) for each in family.ENTRIES for n in names_of(each))
        links = (f"[{n}](functions/{_file(family)}#{first.lower()})" for n, first in listed)
        parts.append(f"\n## {family.TITLE}\n\n{', '.join(links)}\n")
    return "".join(parts)


def _page(family: ModuleType) -> str:
    parts = [f"{_MADE}\n\n# {family.TITLE}\n\n{family.INTRODUCTION}"]
    for name, entry in family.ENTRIES.items():
        first, *others = names_of(name)
        also = f" Also called {', '.join(f'`{other}`' for other in others)}." if others else ""
        fails = f" Fails a row: {entry.fails}." if entry.fails else ""
        parts.append(
            f"\n## {first}\n\n{_signatures(name, first, entry)}\n{entry.meaning}{also}"
            f"{_nulls(name)}{fails}\n\n"
        )
        parts += [f"    {example}\n" for example in entry.examples]
    return "".join(parts)


def _signatures(name: str, first: str, entry: ManualEntry) -> str:
    forms = entry.signatures or [str(each) for each in FUNCTIONS[name].signatures]
    return "".join(f"    {first}{form}\n" for form in forms)


def _nulls(name: str) -> str:
    """Return the sentence on NULL: none where the entry describes it, or without arguments."""
    if name not in FUNCTIONS:
        return ""
    function = FUNCTIONS[name]
    if all(str(each).startswith("()") for each in function.signatures):
        return ""
    if function.strict or function.nullability is not Nullability.ALWAYS:
        return f" {_NULLS[function.nullability]}"
    return ""


def written_names(text: str) -> set[str]:
    """Return the functions that have an entry in a page."""
    return set(re.findall(r"^## ([A-Z_0-9]+)$", text, re.MULTILINE))
