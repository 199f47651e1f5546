"""Options of CREATE SINK, as RisingWave names them: `WITH (type = 'upsert', primary_key = 'k')`.

The type says what is written, changes by a key or rows only; the key is that of the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.diagnostics.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHANGES: Final = "changes"
_KEY: Final = "primary_key"
_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "append-only": (_CHANGES, "append"),
    "upsert": (_CHANGES, "upsert"),
    "debezium": ("format", "debezium-json"),
}
"""Values of the option `type`, and the option and value that each means."""


def with_sink_options(
    sink: syntax.CreateTable, _base: str | None, _warn: object
) -> syntax.CreateTable:
    """Return a sink with the options and the key of a table.

    Raises:
        Refusal: E213, E214, E217.
    """
    made: dict[str, syntax.TableOption] = {}
    others: list[syntax.TableOption] = []
    keys: list[syntax.PrimaryKey] = []
    for each in sink.options:
        key = each.key.value.lower()
        if key == "type":
            name, value = _meaning(each)
            made[name] = each.renamed(name, value)
        elif key == _KEY:
            keys.append(_primary_key(each))
        elif key in {_CHANGES, "format"}:
            made[key] = each
        else:
            others.append(each)
    upserts = made.get(_CHANGES)
    if upserts is not None and upserts.value.value.lower() == "upsert" and not keys:
        raise refusal(
            "E217",
            f'sink "{sink.name.parts[-1].name}" has no primary_key',
            upserts.value.span,
            "written are the changes of each key",
            help="add primary_key = 'k' to WITH",
        )
    return replace(sink, options=(*others, *made.values()), primary_keys=tuple(keys))


def _meaning(written: syntax.TableOption) -> tuple[str, str]:
    """Return the option and the value that the type of a sink means.

    Raises:
        Refusal: E214.
    """
    found = _TYPES.get(written.value.value.lower())
    if found is None:
        raise refusal(
            "E214",
            f"invalid value '{written.value.value}' of option 'type'",
            written.value.span,
            "expected " + " or ".join(f"'{each}'" for each in _TYPES),
        )
    return found


def _primary_key(written: syntax.TableOption) -> syntax.PrimaryKey:
    span = written.value.span
    names = [each.strip() for each in written.value.value.split(",")]
    return syntax.PrimaryKey(
        span, tuple(syntax.Identifier(span, each) for each in names), enforced=False
    )
