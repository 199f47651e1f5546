"""An entry of the manual."""

from __future__ import annotations

from fsql.compiler.records import dataclass


@dataclass(frozen=True)
class ManualEntry:
    """What a function means: `examples` are conditions that are TRUE, `fails` states which rows fail."""

    meaning: str
    examples: tuple[str, ...]
    fails: str = ""
    signatures: tuple[str, ...] = ()
    """The forms of a function that has no row in the table; `table.py` has those of the others."""
    also: tuple[str, ...] = ()
    """The other names of a function that has no row in the table."""


def entry(meaning: str, *examples: str, fails: str = "") -> ManualEntry:
    """Return the entry of a function of the table."""
    return ManualEntry(meaning, examples, fails)


def form(
    signatures: str, meaning: str, *examples: str, fails: str = "", also: tuple[str, ...] = ()
) -> ManualEntry:
    """Return the entry of an expression that is written like a function; `;` separates its forms."""
    return ManualEntry(meaning, examples, fails, tuple(signatures.split("; ")), also)


RANGE = "FSQL-E502 if the result is out of range"
YEARS = "FSQL-E504 outside of the years 1 to 9999"
UNREADABLE = "FSQL-E503 if the text cannot be read"
