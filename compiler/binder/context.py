"""The context in which a query is bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.limits import MENTIONS_MAX
from fsql.compiler.binder.report import refusal

if TYPE_CHECKING:
    from fsql.compiler.binder.catalog import Catalog
    from fsql.compiler.binder.report import Report
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.connectors import Declarations
    from fsql.compiler.text.source import Span


class Mentions:
    """Numbers the mentions of tables within one INSERT, in the order of the text."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, count: int, span: Span) -> int:
        """Return the first of the next `count` numbers.

        Raises:
            Refusal: E315, if the query mentions too many tables.
        """
        first = self.count
        if first + count > MENTIONS_MAX:
            raise refusal(
                "E315",
                f"query reads {first + count:,} tables, views expanded; the limit is {MENTIONS_MAX:,}",
                span,
                help="write intermediate results to a table",
            )
        self.count += count
        return first


@dataclass(frozen=True, slots=True)
class Context:
    """What binding a query needs beside its text: where diagnostics and spans go, and what names mean.

    `declared` has the connectors and formats that there are.
    """

    report: Report
    catalog: Catalog
    mentions: Mentions
    source_spans: SourceSpans
    declared: Declarations

    def with_catalog(self, catalog: Catalog) -> Context:
        """Return the context in which names mean what `catalog` says."""
        return replace(self, catalog=catalog)

    def with_own_mentions(self) -> Context:
        """Return the context of a query that is put in elsewhere: its mentions count from 0."""
        return replace(self, mentions=Mentions())
