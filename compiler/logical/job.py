"""A job: all the INSERTs of a script."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fsql.compiler.logical.positions import tables
from fsql.compiler.node import Node
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.logical.declared import SinkTable, Table
    from fsql.compiler.logical.plan import Plan


@dataclass(frozen=True, eq=False)
class Insert(Node):
    """`INSERT INTO sink query`; the query's columns have the sink's types, in the sink's order."""

    sink: SinkTable
    query: Plan


@dataclass(frozen=True, eq=False)
class Job(Node):
    """All the INSERTs of a script: one job, in which each table is read once."""

    inserts: tuple[Insert, ...]

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that the job reads, by ordinal."""
        found = {table.ordinal: table for insert in self.inserts for table in tables(insert.query)}
        return tuple(found[ordinal] for ordinal in sorted(found))
