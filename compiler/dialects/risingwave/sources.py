"""Clauses of CREATE SOURCE: `FORMAT … ENCODE …` and `INCLUDE …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span

_INCLUDED_TYPES: Final = {
    "key": "BYTES",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP_LTZ",
    "headers": "MAP",
}
"""The types of columns that INCLUDE adds."""


def encoding_clause(
    _span: Span,
    form: syntax.Identifier,
    encoded: syntax.Identifier,
    options: tuple[syntax.TableOption, ...] | None,
) -> tuple[syntax.TableOption, ...]:
    """Return the options that `FORMAT UPSERT ENCODE JSON (…)` means.

    A form that does not exist becomes the value of option `format`, which is refused as such.
    """
    kind, name = form.name.upper(), encoded.name.lower()
    format_ = name if kind in {"PLAIN", "UPSERT"} else f"{kind.lower()}-{name}"
    made = [_option(encoded.span, "format", format_)]
    if kind == "UPSERT":
        made.append(_option(form.span, "changes", "upsert"))
    for each in options or ():
        if each.key.value.lower() == "without_header":
            header = "false" if each.value.value.lower() == "true" else "true"
            made.append(_option(each.span, "header", header))
        else:
            made.append(each)
    return tuple(made)


def _option(span: Span, key: str, value: str) -> syntax.TableOption:
    return syntax.TableOption(
        span, syntax.StringLiteral(span, key), syntax.StringLiteral(span, value)
    )


def included_column(
    span: Span,
    key: syntax.Identifier,
    part: syntax.StringLiteral | None,
    alias: syntax.Identifier | None,
) -> syntax.MetadataColumn:
    """Return `INCLUDE offset AS o` of RisingWave, which is `o BIGINT METADATA FROM 'offset' VIRTUAL`.

    Raises:
        FsqlError: E101, for one header.
    """
    word = key.name.lower()
    if part is not None:
        message = "INCLUDE has no column for one header"
        help_ = f"write INCLUDE header AS h, and h['{part.value}'] in queries"
        raise FsqlError([Diagnostic("E101", message, Label(part.span), helps=(help_,))])
    name = alias or syntax.Identifier(key.span, f"_rw_kafka_{word}", quoted=True)
    word = "headers" if word == "header" else word
    type_ = _INCLUDED_TYPES.get(word, "STRING")
    arguments = (syntax.TypeName(key.span, "STRING"), syntax.TypeName(key.span, "BYTES"))
    return syntax.MetadataColumn(
        span,
        name,
        syntax.TypeName(key.span, type_, arguments=arguments if type_ == "MAP" else ()),
        not_null=False,
        key=syntax.StringLiteral(key.span, word),
        virtual=True,
    )
