"""EMIT: when a SELECT releases its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class Emission:
    """`EMIT FINAL`, or `EMIT CHANGES`, and its span."""

    final: bool
    span: Span
