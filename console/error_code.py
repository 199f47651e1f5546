"""`fsql explain-error`: the meaning of an error code, its cause and its fix."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.near_names import near_name

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes import Code

_WIDTH = 88


class UnknownCodeError(Exception):
    """A code that fsql does not report; the message names a similar code."""


def find_code(text: str) -> Code:
    """Return the code for `FSQL-E203`, `e203` or `203`.

    Raises:
        UnknownCodeError: if there is none.
    """
    wanted = text.strip().upper().removeprefix("FSQL-").removeprefix("FSQL")
    if wanted.isdigit():
        wanted = f"E{wanted}"
    if wanted in CODES:
        return CODES[wanted]
    near = near_name(wanted, CODES)
    hint = "codes are of the form FSQL-E203"
    if near is not None:
        hint = f'a similar code is "{near}": {CODES[near].title}'
    raise UnknownCodeError(f'code "{text}" is not reported by fsql; {hint}')


def code_text(code: Code) -> str:
    """Return the description of a code as text."""
    example = textwrap.indent(code.example, "    ")
    paragraphs = (
        f"FSQL-{code.code}: {code.title}",
        textwrap.fill(code.cause, _WIDTH),
        textwrap.fill(f"What to do: {code.fix}", _WIDTH),
        f"Example:\n\n{example}",
    )
    return "\n\n".join(paragraphs) + "\n"


def code_json(code: Code) -> str:
    """Return the description of a code as JSON."""
    return json.dumps({**asdict(code), "code": f"FSQL-{code.code}"}, ensure_ascii=False) + "\n"
