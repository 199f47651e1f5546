"""`fsql connectors`: every connector and format, with its options."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.connectors import Effect
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.connectors.declared import DECLARED

_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")
"""A link in the documentation, of which only the text is printed."""

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.connectors import Connector, Format, Option


def connectors_json(name: str | None) -> str:
    """Return all connectors and formats, or those with the given name, as JSON.

    Raises:
        FsqlError: E212, if there is none.
    """
    connectors, formats = _select(name)
    shown = {
        "connectors": [
            {
                "name": each.name,
                "about": each.about,
                "reads": each.reads,
                "writes": each.writes,
                "formats": [format_.name for format_ in DECLARED.formats_of(each)],
                "options": [_option_json(option) for option in own_options(each)],
            }
            for each in connectors
        ],
        "formats": [
            {
                "name": each.name,
                "about": each.about,
                "options": [_option_json(option) for option in each.options],
            }
            for each in formats
        ],
    }
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def connectors_text(name: str | None) -> str:
    """Return all connectors and formats, or those with the given name, as text.

    Raises:
        FsqlError: E212, if there is none.
    """
    connectors, formats = _select(name)
    lines: list[str] = []
    for connector in connectors:
        lines += (f"connector '{connector.name}' ({uses(connector)}): {_plain(connector.about)}",)
        lines += (*_option_lines(own_options(connector)), "")
    for format_ in formats:
        lines += (f"format '{format_.name}': {format_.about}",)
        lines += (*_option_lines(format_.options), "")
    return "\n".join(lines[:-1]) + "\n"


def own_options(connector: Connector) -> tuple[Option, ...]:
    """Return the options of a connector without those of its format."""
    return DECLARED.with_format(connector, "").options


def uses(connector: Connector) -> str:
    """Return whether the connector is a source, a sink or both."""
    return " and ".join(
        use for use, can in (("reads", connector.reads), ("writes", connector.writes)) if can
    )


def _select(name: str | None) -> tuple[Sequence[Connector], Sequence[Format]]:
    if name is None:
        return DECLARED.connectors, DECLARED.formats
    connectors = [each for each in DECLARED.connectors if each.name == name]
    formats = [each for each in DECLARED.formats if each.name == name]
    if not connectors and not formats:
        names = [*DECLARED.names, *(each.name for each in DECLARED.formats)]
        near = near_name(name, names)
        helps = () if near is None else (f"a similar name exists: '{near}'",)
        note = f"connectors and formats: {', '.join(names)}"
        message = f"'{name}' is neither a connector nor a format"
        raise FsqlError([Diagnostic("E212", message, notes=(note,), helps=helps)])
    return connectors, formats


def _option_json(option: Option) -> dict[str, Any]:
    return {
        "key": option.key,
        "values": list(option.choices) or option.expected_text,
        "required": option.required,
        "default": option.default,
        "about": option.about,
        "can_change": option.effect is not Effect.ROWS,
    }


def _option_lines(options: Sequence[Option]) -> Iterator[str]:
    for option in options:
        default = "" if option.default is None else f", default '{option.default}'"
        required = ", required" if option.required else ""
        yield f"  '{option.key}': {option.expected_text}{required}{default}"
        yield f"      {_plain(option.about)}"
        if option.effect is not Effect.ROWS:
            yield "      can change while a job keeps its state"


def _plain(about: str) -> str:
    """Return a line of documentation without link targets."""
    return _LINK.sub(r"\1", about)
