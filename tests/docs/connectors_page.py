"""`docs/connectors.md`, made from the declarations of connectors and formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.connectors import Effect, OptionKind
from fsql.connectors.declared import DECLARED
from fsql.console.connectors import own_options, uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.connectors import Option

CONNECTORS_PAGE: Final = "docs/connectors.md"

_HEAD: Final = """\
<!-- Made from the modules `options` of connectors/ and formats/ by `pytest tests/test_docs.py --rewrite`. -->

# Connectors and formats

The option `connector` of a table names where its rows come from or go to, the option `format` how they are
written there.  `fsql connectors` prints what this page has, `fsql connectors NAME` one entry of it.

A job that [keeps state](operations.md#keep-state) continues with the options with which it began.  Those with
the mark ↻ can have other values: they do not change which rows there are.  For `rate` of connector `datagen`
this requires that each TIMESTAMP column has a `step`; `source.monitor-interval` cannot be added or removed;
`max_record_bytes` can change if a malformed row stops the job.

| connector | reads | writes | formats | |
|---|---|---|---|---|
"""


def connectors_page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for each in DECLARED.connectors:
        formats = ", ".join(f"`{format_.name}`" for format_ in DECLARED.formats_of(each))
        reads, writes = ("yes" if can else "" for can in (each.reads, each.writes))
        parts.append(f"| `{each.name}` | {reads} | {writes} | {formats} | {each.about} |\n")
    for each in DECLARED.connectors:
        parts.append(f"\n## Connector `{each.name}`\n\nIt {uses(each)}: {each.about}.\n\n")
        parts.append(_table(own_options(each)))
        parts.append(f"\n{each.notes}" if each.notes else "")
    for own in DECLARED.formats:
        parts.append(f"\n## Format `{own.name}`\n\n{own.about[0].upper()}{own.about[1:]}.\n\n")
        parts.append(_table(own.options))
        parts.append(f"\n{own.notes}" if own.notes else "")
    return "".join(parts)


def _table(options: Sequence[Option]) -> str:
    rows = "".join(
        f"| {_key(option)} | {_values(option)} | {_default(option)} | {option.about} |\n"
        for option in options
    )
    return f"| option | values | default | |\n|---|---|---|---|\n{rows}"


def _key(option: Option) -> str:
    return f"`{option.key}`" if option.effect is Effect.ROWS else f"`{option.key}` ↻"


def _values(option: Option) -> str:
    if option.kind is not OptionKind.CHOICE:
        return option.expected_text
    return ", ".join(f"`{choice}`" for choice in option.choices)


def _default(option: Option) -> str:
    if option.required:
        return "required"
    return "" if option.default is None else f"`{option.default}`"
