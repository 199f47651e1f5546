"""What the statements of a script mean, for a comparison with those of another script.

Two declarations have the same meaning if what the binder made of them is equal: the spelling of types, the
order of options and the directory from which a path is given do not matter.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.catalog import TableEntry, ViewEntry
from fsql.compiler.binder.ddl.settings import IDLE, idle_of_script
from fsql.compiler.binder.ddl.time_to_live import is_setting, read_setting
from fsql.compiler.binder.expressions.time_zone import SETTING as TIME_ZONE
from fsql.compiler.binder.expressions.time_zone import zone_of_script
from fsql.compiler.databases import DATABASE
from fsql.compiler.logical import Table
from fsql.compiler.records import dataclass
from fsql.compiler.serialize import digest
from fsql.connectors import paths
from fsql.job.relocated_script import PATH_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fsql.compiler.binder.catalog import Entry
    from fsql.compiler.logical import Plan
    from fsql.compiler.node import Node
    from fsql.job.compilation import Compiled

Lifetime = int | None
"""The time to live of state that is in effect, in microseconds; None for forever."""


@dataclass(slots=True)
class Declared:
    """What a script has at its end besides tables and views.

    `databases` are those that exist, in lower case, `database` is the current one.  `functions` are found by
    name in upper case.  `inserts` has each INSERT with the time to live of its state, `results` the queries
    of CREATE TABLE AS by the name of the table.
    """

    databases: set[str] = field(default_factory=lambda: {DATABASE})
    database: str = DATABASE
    functions: dict[str, syntax.CreateFunction] = field(default_factory=dict)
    inserts: list[tuple[Lifetime, syntax.Insert]] = field(default_factory=list)
    results: dict[str, tuple[Lifetime, syntax.Query]] = field(default_factory=dict)
    lifetime: Lifetime = None


def declared_by(statements: Iterable[syntax.Statement]) -> Declared:
    """Return what a script has at its end."""
    found = Declared()
    for statement in statements:
        match statement:
            case syntax.CreateDatabase(name=name):
                found.databases.add(name.parts[-1].name.lower())
            case syntax.DropDatabase(name=name):
                found.databases.discard(name.parts[-1].name.lower())
            case syntax.Use(name=name, catalog=False):
                found.database = name.parts[-1].name.lower()
            case syntax.CreateFunction(name=name):
                found.functions.setdefault(name.parts[-1].name.upper(), statement)
            case syntax.CreateTable(name=name, query=query) if query is not None:
                found.results[name.parts[-1].name] = (found.lifetime, query)
            case syntax.Insert():
                found.inserts.append((found.lifetime, statement))
            case syntax.StatementSet(inserts=inserts):
                found.inserts += [(found.lifetime, each) for each in inserts]
            case syntax.SetOption() | syntax.ResetOption():
                found.lifetime = lifetime_after(statement, found.lifetime)
            case _:
                pass
    return found


def lifetime_after(statement: syntax.SetOption | syntax.ResetOption, before: Lifetime) -> Lifetime:
    """Return the time to live that is in effect after a statement."""
    if isinstance(statement, syntax.ResetOption):
        return None if statement.key is None or is_setting(statement.key) else before
    if not is_setting(statement.key):
        return before
    given = read_setting(statement)
    return None if given is None else given.idle_us


def settings_of_script(script: syntax.Script) -> dict[str, str]:
    """Return the settings that a whole script has one value of."""
    return {TIME_ZONE: zone_of_script(script), IDLE: idle_of_script(script) or "0"}


def same_function(one: syntax.CreateFunction, other: syntax.CreateFunction) -> bool:
    """Return whether two functions of one name are declared equally."""
    return (
        replace(
            one,
            name=other.name,
            temporary=other.temporary,
            if_not_exists=other.if_not_exists,
        )
        == other
    )


def columns_inferred_before(job: Compiled, own: Compiled) -> dict[str, str]:
    """Return the columns that a job has inferred for tables that a script declares alike, by table."""
    directory = job.script.base_directory

    def inferred(compiled: Compiled) -> dict[str, dict[str, str]]:
        tables = compiled.catalog.job_tables()
        return {each.name: _options(each.options, directory) for each in tables if each.inferred}

    of_job = inferred(job)
    return {
        name: job.script.columns[name]
        for name, options in inferred(own).items()
        if of_job.get(name) == options and name in job.script.columns
    }


def differences(one: Entry, other: Entry, directory: Path) -> tuple[str, ...]:
    """Return in which parts two tables or views differ; relative paths start from the directory."""
    match one, other:
        case TableEntry(), TableEntry():
            return _differences_of_tables(one, other, directory)
        case ViewEntry(plan=plan), ViewEntry(plan=other_plan):
            assert plan is not None
            assert other_plan is not None
            same = _plan_digest(plan, directory) == _plan_digest(other_plan, directory)
            return () if same else ("its query",)
        case _:
            return ("its kind: a table or a view",)


def _differences_of_tables(one: TableEntry, other: TableEntry, directory: Path) -> tuple[str, ...]:
    found = []
    if _columns(one) != _columns(other) and not (one.inferred and other.inferred):
        found.append("its columns")
    if one.primary_key != other.primary_key:
        found.append("its PRIMARY KEY")
    if _times(one) != _times(other):
        found.append("its WATERMARK")
    if one.partitioned_by != other.partitioned_by:
        found.append("PARTITIONED BY")
    options, others = _options(one.options, directory), _options(other.options, directory)
    names = sorted({*options, *others})
    found += [f"option '{name}'" for name in names if options.get(name) != others.get(name)]
    return tuple(found)


def _columns(table: TableEntry) -> tuple[object, ...]:
    return table.columns, table.computed, table.metadata, table.row_time


def _times(table: TableEntry) -> tuple[object, ...]:
    return table.time, table.event_time, table.delay_us, table.grain_us


def _plan_digest(plan: Plan, directory: Path) -> str:
    """Return a digest of a plan, with tables as their readers see them, wherever they are declared."""

    def value_of(node: Node, name: str) -> object:
        if isinstance(node, Table):
            match name:
                case "ordinal":
                    return 0
                case "name":
                    return node.name.lower()
                case "options":
                    return tuple(sorted(_options(node.options, directory).items()))
                case _:
                    pass
        return getattr(node, name)

    return digest(plan, value_of)


def _options(given: tuple[tuple[str, str], ...], directory: Path) -> dict[str, str]:
    """Return the options of a table, of which those that name files have absolute paths."""
    options = dict(given)
    for name in PATH_OPTIONS:
        if name in options:
            options[name] = str(paths.resolve(options[name], directory, ()))
    return options
