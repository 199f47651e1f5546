"""Cases: a job with its input, made from a seed, as a script or as a plan.

`script 17` and `plan 17` name cases; `python -m fsql.tests.property.replay script 17` shows one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from fsql.compiler.binder.script import bind
from fsql.compiler.explain.plan import logical_text
from fsql.compiler.logical import TimeKind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.inputs import random_splits
from fsql.tests.property.mixed_scripts import random_mixed_script
from fsql.tests.property.plans import random_plan_case
from fsql.tests.property.scripts import random_script
from fsql.tests.property.subqueries import random_subquery_case
from fsql.tests.property.updating_joins import random_join_once_case, random_updating_join_case
from fsql.tests.property.values import NOON, SECOND
from fsql.tests.property.ways import by_oracle

if TYPE_CHECKING:
    from fsql.compiler.logical import Job
    from fsql.tests.property.inputs import Row, Splits
    from fsql.tests.property.script_writer import ScriptWriter
    from fsql.tests.property.ways import Outcome


@dataclass(frozen=True)
class Case:
    """A job, and the splits of each of its tables by the table's ordinal; `text` is its query."""

    name: str
    text: str
    job: Job
    inputs: dict[int, Splits]

    def __str__(self) -> str:
        """Return the case to be read: the query, then the rows of each split."""
        lines = [self.text, ""]
        for table in self.job.tables:
            for number, split in enumerate(self.inputs[table.ordinal]):
                lines.append(f"-- {table.name}, split {number}")
                lines += [f"--     {_row(row)}" for row in split]
        return "\n".join(lines)

    @cached_property
    def expected(self) -> Outcome:
        """Return what the case releases by the oracle."""
        return by_oracle(self.job, self.inputs)

    def with_inputs(self, inputs: dict[int, Splits]) -> Case:
        """Return the case with other input."""
        return replace(self, inputs=inputs)


def _row(row: object) -> str:
    return f"malformed: {row.code}" if isinstance(row, DeadLetter) else repr(row)


def script_case(random: Random, name: str) -> Case:
    """Return a case that is written in SQL.

    Raises:
        FsqlError: the binder refuses the script, which happens to a few in a hundred.
    """
    return written_case(random, name, random_script(random))


def row_time_case(random: Random, name: str) -> Case:
    """Return a case in SQL whose tables have PROCTIME().

    Raises:
        FsqlError: the binder refuses the script.
    """
    case = written_case(random, name, random_script(random, row_times=True))
    inputs = {
        table.ordinal: [_arriving(random, split) for split in case.inputs[table.ordinal]]
        if table.time is TimeKind.ARRIVAL
        else case.inputs[table.ordinal]
        for table in case.job.tables
    }
    return case.with_inputs(inputs)


def _arriving(random: Random, split: list[Row]) -> list[Row]:
    """Return the rows of a split with the times at which they come, which never go back."""
    clock, rows = NOON + random.randrange(8) * SECOND, []
    for row in split:
        clock += random.choice((0, 0, SECOND // 4, 2 * SECOND))
        rows.append(row if isinstance(row, DeadLetter) else (*row, clock))
    return rows


def mixed_case(random: Random, name: str) -> Case:
    """Return a case in SQL with frames, subqueries, LATERAL and row patterns.

    Raises:
        FsqlError: the binder refuses the script.
    """
    return written_case(random, name, random_mixed_script(random))


def written_case(random: Random, name: str, writer: ScriptWriter) -> Case:
    """Return the case of a script, with random input.

    Raises:
        FsqlError: the binder refuses the script.
    """
    awkward, malformed = random.choice((0.0, 0.05, 0.2)), random.choice((0.0, 0.0, 0.04))
    tables = {
        table.name: random_splits(
            random,
            writer.physical[table.name],
            int(table.rows),
            awkward=awkward,
            malformed=malformed,
        )
        for table in writer.tables
    }
    text = "\n".join(writer.statements)
    job = bind(parse_script(SourceText(name, text)), DECLARED).job
    verify_logical(job)
    return Case(name, text, job, {table.ordinal: tables[table.name] for table in job.tables})


def plan_case(random: Random, name: str) -> Case:
    """Return a case that is a plan without text."""
    made = random_plan_case(random)
    verify_logical(made.job)
    return Case(name, logical_text(made.job, details=False), made.job, made.inputs)


def updating_join_case(random: Random, name: str) -> Case:
    """Return a case that joins updating inputs, two or more in a chain."""
    made = random_updating_join_case(random)
    verify_logical(made.job)
    return Case(name, logical_text(made.job, details=False), made.job, made.inputs)


def join_once_case(random: Random, name: str) -> Case:
    """Return a case that joins rows once with those of an updating query."""
    made = random_join_once_case(random)
    verify_logical(made.job)
    return Case(name, logical_text(made.job, details=False), made.job, made.inputs)


def subquery_case(random: Random, name: str) -> Case:
    """Return a case with subqueries in expressions."""
    made = random_subquery_case(random, name)
    inputs: dict[int, Splits] = {
        table.ordinal: [[*made.rows[table.name]]] for table in made.job.tables
    }
    return Case(name, made.query, made.job, inputs)


MAKERS = {
    "script": script_case,
    "row-time": row_time_case,
    "mixed": mixed_case,
    "plan": plan_case,
    "updating-join": updating_join_case,
    "join-once": join_once_case,
    "subquery": subquery_case,
}


def case_of(kind: str, seed: int) -> Case:
    """Return the case of a seed; `kind` is one of `MAKERS`."""
    return MAKERS[kind](Random(f"{kind} {seed}"), f"{kind} {seed}")
