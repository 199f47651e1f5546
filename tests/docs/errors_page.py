"""`docs/errors.md`, made from the table of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.codes import CODES

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes import Code

ERRORS_PAGE: Final = "docs/errors.md"

_HEAD: Final = """\
<!-- Made from compiler/diagnostics/codes*.py by `pytest tests/test_docs.py --rewrite`; edit those. -->

# Error codes

Each error and warning has a code, and each code has one meaning.  `fsql explain-error E203` prints one of
these entries.  Codes begin with `E` for errors, `W` for warnings, and `I` for internal errors (bugs of fsql).
"""

_CHAPTERS: Final = (
    ("E1", "Syntax"),
    ("E2", "Names and types"),
    ("E3", "Meaning"),
    ("E4", "Functions and determinism"),
    ("E5", "Data: a row that fails or is malformed, a file that cannot be used"),
    ("E6", "The cluster"),
    ("E7", "Projects: settings and tests"),
    ("W", "Warnings"),
    ("I", "Bugs of fsql"),
)


def errors_page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for prefix, title in _CHAPTERS:
        codes = sorted(code for code in CODES if code.startswith(prefix))
        if codes:
            parts.append(f"\n## {title}\n")
            parts.extend(_entry(CODES[code]) for code in codes)
    return "".join(parts)


def _entry(code: Code) -> str:
    example = "".join(f"    {line}\n" for line in code.example.splitlines())
    return (
        f"\n### FSQL-{code.code}: {code.title}\n\n{code.cause}\n\n"
        f"**What to do:** {code.fix}\n\n{example}"
    )
