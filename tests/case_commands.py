"""The commands of case files: text in, text out.

A command is a function of the case's input, with the tables of its file in front, and of the command's
arguments by name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_error, render_text
from fsql.compiler.explain.plan import logical_text
from fsql.compiler.explain.syntax import syntax_json, syntax_text
from fsql.compiler.parser import parse_script
from fsql.compiler.pipeline import compile_script
from fsql.compiler.text.parameters import unused_parameters
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.plan_commands import explain, optimize, plan, rule, trace
from fsql.tests.protocol_nodes import protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def parse(text: str, *, format: str = "text", **parameters: str) -> str:
    """Return the syntax of a script; other arguments are the values of its `${name}`."""
    script = parse_script(SourceText("case.sql", text), parameters)
    return {"text": syntax_text, "json": syntax_json}[format](script)


def bind(text: str) -> str:
    """Return the logical plan of a script, as bound, and the warnings about it."""
    source = SourceText("case.sql", text)
    compiled = compile_script(source, DECLARED)
    verify_logical(compiled.logical)
    plan = logical_text(compiled.logical, details=False)
    return plan + "".join(f"{each.code}: {each.message}\n" for each in compiled.warnings)


def errors(text: str, *, repeat: str = "1", escapes: str = "no", **parameters: str) -> str:
    r"""Return what is said of a script that cannot be compiled.

    With `repeat=n`, what stands in double braces is repeated n times; with `escapes=yes`, `\u202e` is that
    character.  Other arguments are the values of the script's `${name}`.
    """
    text = re.sub(r"\{\{(.*?)\}\}", lambda match: match[1] * int(repeat), text)
    if escapes == "yes":
        text = text.encode("latin-1", "backslashreplace").decode("unicode-escape")
    try:
        compile_script(SourceText("case.sql", text), DECLARED, parameters)
    except FsqlError as error:
        return render_error(error)
    return "no errors\n"


def warnings(text: str, **parameters: str) -> str:
    """Return the warnings about a script; other arguments are the values of its `${name}`."""
    source = SourceText("case.sql", text)
    unused = unused_parameters([source], parameters)
    return render_text([*unused, *compile_script(source, DECLARED, parameters).warnings], source)


COMMANDS: Mapping[str, Callable[..., str]] = {
    "parse": parse,
    "bind": bind,
    "plan": plan,
    "rule": rule,
    "optimize": optimize,
    "trace": trace,
    "explain": explain,
    "errors": errors,
    "warnings": warnings,
    "protocol": protocol,
}
