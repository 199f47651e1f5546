"""The catalog: the tables and views that a script declares, by name.

Names are case-insensitive unless quoted.  Catalogs can be nested, as for the common tables of a WITH: the
names of the inner one hide those of the outer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.connectors import Connector, Format
    from fsql.compiler.diagnostics import Diagnostic
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan, TimeKind
    from fsql.compiler.schema import Column, Schema
    from fsql.compiler.syntax import CreateTable, CreateView, Identifier
    from fsql.compiler.text.source import Span


@dataclass(frozen=True, slots=True)
class ComputedColumnEntry:
    """A column that every reader of the table computes from the physical ones.

    `index` is its index among all columns of the table, physical and computed.  If it is `hidden`, it is the
    last one, and has no name in queries.
    """

    name: str
    index: int
    expression: Expression
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class MetadataColumnEntry:
    """A column with metadata that the connector has for each row: the value of `key`.

    `index` is its index among all columns of the table, physical, computed and metadata.  If it is `virtual`,
    it is not written.
    """

    column: Column
    index: int
    key: str
    virtual: bool = True


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A declared table: a checked CREATE TABLE.

    `time` is None if neither an option nor a WATERMARK sets it; then it follows from the other tables of the
    job.  With `row_time`, a computed column contains the time of the row.  `option_spans` are the spans of
    the options' values, for messages.  `declaration` is its CREATE TABLE with all elements; None for standard
    output.  With `inferred`, its columns are those of its input.  `partitioned_by` are the columns of
    PARTITIONED BY.  With `hinted`, it is a table with the options of a hint, which lists leave out.
    """

    name: str
    span: Span
    ordinal: int
    columns: Schema
    computed: tuple[ComputedColumnEntry, ...]
    connector: Connector
    format: Format | None
    options: tuple[tuple[str, str], ...]
    option_spans: dict[str, Span]
    primary_key: tuple[int, ...] | None
    time: TimeKind | None
    event_time: Expression | None
    delay_us: int
    grain_us: int
    declaration: CreateTable | None = None
    metadata: tuple[MetadataColumnEntry, ...] = ()
    row_time: bool = False
    inferred: bool = False
    partitioned_by: tuple[str, ...] = ()
    hinted: bool = False

    def option(self, key: str) -> str | None:
        """Return the value of an option, or its default."""
        given = dict(self.options).get(key)
        declared = self.connector.option(key)
        return given if given is not None or declared is None else declared.default


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view or common table: its plan, whose scans are numbered from 0.

    `plan` is None if the declaration of the view or table was refused. The error has been reported, and
    references to it cause no further errors.  `warnings` are shown where it is read.  `declaration` is the
    CREATE VIEW; a common table has none.  `join_names` are the other names of its columns, if any has one.
    With `hidden_time`, its last column is event time that has no name.
    """

    name: str
    span: Span
    plan: Plan | None
    warnings: tuple[Diagnostic, ...] = ()
    declaration: CreateView | None = None
    join_names: tuple[str | None, ...] = ()
    hidden_time: bool = False


Entry = TableEntry | ViewEntry


class Catalog:
    """Names and their entries; other names are looked up in the catalog `outer`."""

    def __init__(self, outer: Catalog | None = None) -> None:
        self._outer = outer
        self._entries: dict[str, Entry] = {}
        self._by_lower_name: dict[str, Entry] = {}
        self._used: set[int] = set()
        self._hidden: dict[str, TableEntry] = {}
        self._results: dict[str, Plan] = {}
        self._read: set[str] = set()

    def add(self, entry: Entry) -> None:
        """Add `entry`; the caller has checked that `find_here` does not have its name."""
        self._entries[entry.name] = entry
        self._by_lower_name.setdefault(entry.name.lower(), entry)

    def find_here(self, name: Identifier) -> Entry | None:
        """Return the entry of that name in this catalog, ignoring `outer`."""
        exact = self._entries.get(name.name)
        if exact is not None or name.quoted:
            return exact
        return self._by_lower_name.get(name.name.lower())

    def find(self, name: Identifier) -> Entry | None:
        """Return the entry of that name."""
        found = self.find_here(name)
        if found is None and self._outer is not None:
            return self._outer.find(name)
        return found

    @property
    def of_script(self) -> Catalog:
        """Return the catalog of what statements declare, without tables of WITH."""
        return self if self._outer is None else self._outer.of_script

    def use(self, entry: TableEntry) -> None:
        """Record that the job reads or writes a table."""
        if self._outer is None:
            self._used.add(entry.ordinal)
        else:
            self._outer.use(entry)

    def drop(self, name: Identifier) -> Entry | None:
        """Remove the entry of that name from the names; a table that is in use stays part of the job."""
        entry = self.find_here(name)
        if entry is None:
            return None
        del self._entries[entry.name]
        if isinstance(entry, ViewEntry):
            self._read.discard(entry.name)
        self._by_lower_name = {}
        for other in self._entries.values():
            self._by_lower_name.setdefault(other.name.lower(), other)
        if isinstance(entry, TableEntry) and entry.ordinal in self._used:
            self.hide(entry)
        return entry

    def change(self, stream: ViewEntry) -> None:
        """Replace the entry of a stream that is a query by one with more rows."""
        self._entries[stream.name] = stream
        lower = stream.name.lower()
        if self._by_lower_name[lower].name == stream.name:
            self._by_lower_name[lower] = stream

    def read_view(self, view: ViewEntry) -> None:
        """Record that a statement reads a view."""
        if self._outer is not None:
            self._outer.read_view(view)
        elif view.declaration is not None:
            self._read.add(view.name)

    def is_read(self, name: str) -> bool:
        """Return whether a statement reads the view of that name, or the rows of CREATE TABLE AS."""
        return name in self._read

    def keep_result(self, name: str, plan: Plan) -> None:
        """Record the rows that CREATE TABLE AS writes to a table: later statements read them."""
        self._results[name] = plan

    def has_result(self, name: str) -> bool:
        """Return whether later statements can read the rows that are written to a table."""
        return name in self._results

    def read_result(self, entry: TableEntry) -> ViewEntry | None:
        """Return the rows that CREATE TABLE AS writes to a table as a view, and record that they are read."""
        if self._outer is not None:
            return self._outer.read_result(entry)
        plan = self._results.get(entry.name)
        if plan is None:
            return None
        self._read.add(entry.name)
        return ViewEntry(entry.name, entry.span, plan)

    def hide(self, entry: TableEntry) -> None:
        """Add a table to the job that its statements cannot name."""
        self._hidden[entry.name.lower()] = entry

    def find_dropped(self, name: Identifier) -> TableEntry | None:
        """Return the table of that name that was dropped and is still part of the job."""
        return self._hidden.get(name.name.lower())

    def table(self, ordinal: int) -> TableEntry:
        """Return the table with that ordinal, which must exist."""
        for entry in self.job_tables():
            if entry.ordinal == ordinal:
                return entry
        assert self._outer is not None
        return self._outer.table(ordinal)

    def entries(self) -> tuple[Entry, ...]:
        """Return the entries of this catalog that a script names, in the order in which they were added."""
        return tuple(entry for entry in self._entries.values() if not _is_hinted(entry))

    def job_tables(self) -> Iterator[TableEntry]:
        """Yield the tables of this catalog, and those without a name that are part of the job."""
        yield from (each for each in self._entries.values() if isinstance(each, TableEntry))
        yield from self._hidden.values()

    def names(self) -> Iterator[str]:
        """Yield the names in view, the nearest first."""
        yield from (name for name, entry in self._entries.items() if not _is_hinted(entry))
        if self._outer is not None:
            yield from self._outer.names()


def _is_hinted(entry: Entry) -> bool:
    return isinstance(entry, TableEntry) and entry.hinted
