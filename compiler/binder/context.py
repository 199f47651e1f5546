"""The context in which a query is bound."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.joins.broadcast import Broadcasts
from fsql.compiler.binder.joins.skew import Skews
from fsql.compiler.binder.limits import SCANS_MAX
from fsql.compiler.binder.report import refusal
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.binder.catalog import Catalog, TableEntry
    from fsql.compiler.binder.ddl.declared_functions import Functions
    from fsql.compiler.binder.ddl.time_to_live import TimeToLive
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.connectors import Declarations
    from fsql.compiler.diagnostics.report import Report
    from fsql.compiler.planner.select import PlannedSelect
    from fsql.compiler.surroundings import Infer
    from fsql.compiler.text.source import Span


class ScanNumbers:
    """Numbers the scans within one INSERT, in the order of the text."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, count: int, span: Span) -> int:
        """Return the first of the next `count` numbers.

        Raises:
            Refusal: E315, if the query reads too many tables.
        """
        first = self.count
        if first + count > SCANS_MAX:
            raise refusal(
                "E315",
                f"query reads {first + count:,} tables, views expanded; the limit is {SCANS_MAX:,}",
                span,
                help="write intermediate results to a table",
            )
        self.count += count
        return first


@dataclass(frozen=True, slots=True)
class Context:
    """The context of binding a query: the report, the source spans and the catalog.

    `declared` are the available connectors and formats.  `one_row` returns the table that queries without
    FROM read; the first call adds it to the job.  `functions` are the declared functions in Python, `zone` is
    the time zone of the script.  `infer` reads the columns of tables that declare none.  `time_to_live` is
    that of the state of the query, `idle` the default of that option of live tables.  `skews` and
    `broadcasts` are the hints of the SELECT about its joins.  `join_names` are the other names of the columns
    of SELECTs, by their span.  `hidden_times` are the SELECTs of views, by their span, with whether their
    last column is event time that has no name.  `looked_up` gets the ordinals of the tables that lookup joins
    need at rest, `planned` the SELECTs, as they are bound and planned.
    """

    report: Report
    catalog: Catalog
    scan_numbers: ScanNumbers
    source_spans: SourceSpans
    declared: Declarations
    one_row: Callable[[], TableEntry]
    functions: Functions
    zone: str
    infer: Infer
    time_to_live: TimeToLive
    idle: str | None = None
    skews: Skews = field(default_factory=Skews)
    broadcasts: Broadcasts = field(default_factory=Broadcasts)
    join_names: dict[Span, tuple[str | None, ...]] = field(default_factory=dict)
    hidden_times: dict[Span, bool] = field(default_factory=dict)
    looked_up: set[int] = field(default_factory=set)
    planned: dict[Span, PlannedSelect] = field(default_factory=dict)

    def with_catalog(self, catalog: Catalog) -> Context:
        """Return the context with another catalog."""
        return replace(self, catalog=catalog)

    def with_own_scan_numbers(self) -> Context:
        """Return the context of a query that is inlined elsewhere: its scans are numbered from 0."""
        return replace(self, scan_numbers=ScanNumbers())
