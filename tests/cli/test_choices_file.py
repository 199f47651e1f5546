"""The file that `fsql tick plan` writes and `fsql tick propose --plan` reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.plan_choices import (
    NO_CHOICES,
    FilterOrder,
    PlanChoices,
    choices_of,
    with_choices,
)
from fsql.compiler.tick_plan import Policy
from fsql.job.choices_file import choices_file_of, file_text, plan_of, read_choices
from fsql.job.compilation import compile_job
from fsql.job.description import JobDescription, plan_digest
from fsql.job.script_file import script_of_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCRIPT = """
CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE counts (a BIGINT, n BIGINT) WITH ('connector' = 'file', 'path' = 'counts');
INSERT INTO counts SELECT a, COUNT(*) AS n FROM t WHERE b > 2 AND a > 3 AND a < 9 GROUP BY a;
"""
JOB = JobDescription(
    job="job",
    script_name="job.sql",
    script_text=SCRIPT,
    script_path=None,
    parameters={},
    base_directory=".",
    state="state",
    plan=plan_digest(compile_job(script_of_text(SCRIPT, {}))),
    splits={0: ("one", "two")},
    workers=2,
    policy=None,
    read_ahead_rows=1,
    chunk_rows=1,
    snapshot_every=1.0,
    delivery=None,
)
PLAN = plan_of(JOB, NO_CHOICES)
[(OPERATOR, _)] = choices_of(PLAN).policies


def fold(stage: int = 1, operator: str = OPERATOR, policy: str = "ordered") -> dict[str, Any]:
    return {"stage": stage, "operator": operator, "policy": policy}


def filters(*of: list[str], stage: int = 0, run: int = 0) -> dict[str, Any]:
    return {"stage": stage, "run": run, "filters": [*of]}


def written(path: Path, **changed: object) -> Path:
    path.write_text(json.dumps({"plan": JOB.plan, **changed}))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(file_text(choices_file_of(JOB, PLAN)))
    assert json.loads(path.read_text()) == {
        "plan": JOB.plan,
        "folds": [fold()],
        "filters": [filters(["b > 2", "a > 3", "a < 9"])],
        "pre_aggregations": [],
        "rebalanced": [{"table": "t", "percent": 0}],
        "lingers": [{"table": "t", "milliseconds": 0}],
        "replicas": [],
    }
    assert read_choices(path, JOB, PLAN) == choices_of(PLAN)


def test_changes_are_read(tmp_path: Path) -> None:
    [order] = choices_of(PLAN).filters
    [(b, least, most)] = order.groups
    path = written(
        tmp_path / "plan.json",
        folds=[fold(policy="speculative")],
        filters=[filters(["a > 3"], ["a < 9", "b > 2"])],
    )
    assert read_choices(path, JOB, PLAN) == PlanChoices(
        ((OPERATOR, Policy.SPECULATIVE),), (FilterOrder(0, 0, ((least,), (most, b))),)
    )
    path = written(tmp_path / "plan.json", rebalanced=[{"table": "t", "percent": 60}])
    assert read_choices(path, JOB, PLAN) == PlanChoices(rebalanced=(("t", 60),))
    path = written(tmp_path / "plan.json", lingers=[{"table": "t", "milliseconds": 20}])
    assert read_choices(path, JOB, PLAN) == PlanChoices(lingers=(("t", 20),))
    assert read_choices(written(path), JOB, PLAN) == NO_CHOICES


def test_a_fold_behind_rebalanced_rows_stays_ordered(tmp_path: Path) -> None:
    path = written(tmp_path / "plan.json", folds=[fold(policy="speculative")])
    with pytest.raises(FsqlError) as raised:
        read_choices(path, JOB, with_choices(PLAN, PlanChoices(rebalanced=(("t", 60),))))
    [diagnostic] = raised.value.diagnostics
    assert diagnostic.message == (
        f'"{path}": rows of t can be rebalanced only if the fold {OPERATOR} is ordered'
    )


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path, '"{}" cannot be read: No such file or directory'),
        (
            lambda path: path.write_text("x" * (1 << 20) + "x"),
            '"{}" is larger than 1,048,576 bytes',
        ),
        (
            lambda path: path.write_text("{"),
            '"{}": Input data was truncated',
        ),
        (
            lambda path: path.write_text('{"plan": ' + "[" * 100_000),
            '"{}": Expected `str`, got `array` - at `$.plan`',
        ),
        (
            lambda path: written(path, stages=[]),
            '"{}": Object contains unknown field `stages`',
        ),
        (
            lambda path: written(path, plan="of another job"),
            '"{}" was written for another plan than the job has',
        ),
        (
            lambda path: written(path, folds=[fold(policy="fast")]),
            "\"{}\": Invalid enum value 'fast' - at `$.folds[0].policy`",
        ),
        (
            lambda path: written(path, folds=[fold(operator="join-1")]),
            '"{}": stage 1 is not the fold join-1',
        ),
        (
            lambda path: written(path, folds=[fold(stage=0)]),
            f'"{{}}": stage 0 is not the fold {OPERATOR}',
        ),
        (
            lambda path: written(
                path,
                folds=[fold(policy="speculative")],
                rebalanced=[{"table": "t", "percent": 60}],
            ),
            f'"{{}}": rows of t can be rebalanced only if the fold {OPERATOR} is ordered',
        ),
        (
            lambda path: written(path, lingers=[{"table": "t", "milliseconds": 5_000}]),
            '"{}": t cannot have a linger of 5000 ms; the maximum is 1,000 ms',
        ),
        (
            lambda path: written(path, folds=[fold(), fold()]),
            '"{}": a fold has two policies',
        ),
        (
            lambda path: written(path, filters=[filters(["b > 2"], run=1)]),
            '"{}", stage 0, run 1: the plan has no such filters',
        ),
        (
            lambda path: written(path, filters=[filters(["b > 2", "a > 3"])]),
            '"{}", stage 0, run 0: the condition a < 9 is missing',
        ),
        (
            lambda path: written(path, filters=[filters(["b > 2", "a > 3", "a < 9", "b > 2"])]),
            '"{}", stage 0, run 0: the filters do not have the condition b > 2',
        ),
        (
            lambda path: written(path, filters=[filters([])]),
            '"{}", stage 0, run 0: a filter has no condition',
        ),
    ],
)
def test_files_that_are_refused(
    write: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    write(path)
    with pytest.raises(FsqlError) as raised:
        read_choices(path, JOB, PLAN)
    [diagnostic] = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E654", message.format(path))
