"""One case, all ways: what each of them releases has to be the same, to the byte."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.rules import PASSES
from fsql.compiler.rules.driver import run_passes
from fsql.compiler.tick_plan import Policy
from fsql.compiler.verify.logical import verify_logical
from fsql.tests.property.cases import case_of
from fsql.tests.property.coverage import MUST_BE_MET, features
from fsql.tests.property.ways import Outcome, Schedule, by_engine, by_model, by_oracle
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.order import row_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.tests.property.cases import Case

Way = tuple[str, "Callable[[], Outcome]"]


class DisagreementError(AssertionError):
    """Two ways of running a case released something else."""

    def __init__(self, case: Case, way: str, difference: str) -> None:
        kind, seed = case.name.split()
        super().__init__(
            f"{case.name}: {way} differs from the oracle in {difference}\n"
            f"replay it with: python -m fsql.tests.property.replay {kind} {seed}"
        )


def check(case: Case, schedules: int = 3) -> Counter[str]:
    """Run a case by the oracle, the model, and the engine in several schedules; count what was met.

    Raises:
        DisagreementError: they do not release the same.
    """
    expected = case.expected
    met = features(case, expected)
    check_keys(case, expected)
    for way, run in ways(case, schedules, met):
        try:
            actual = run()
        except Exception as error:
            raise DisagreementError(case, way, f"that it fails: {error!r}") from error
        difference = expected.difference(actual)
        if way.startswith("rules"):
            difference = without_late(expected).difference(without_late(actual))
        if difference:
            raise DisagreementError(case, way, difference)
    return met


def check_keys(case: Case, outcome: Outcome) -> None:
    """Check that derived keys tell rows apart behind every group of changes.

    Raises:
        DisagreementError: two rows agree in a key.
    """
    oracle = Oracle(case.job, case.inputs, literal=False)
    for insert, lines in zip(case.job.inserts, outcome.released, strict=True):
        keys = derived_keys(insert.query)
        roots = sorted({root for root, _ in lines}) if keys else []
        for root in [*roots[:: max(1, len(roots) // 5)], *roots[-1:]]:
            rows = oracle.relations.relation(insert.query, root)
            for key in keys:
                values = Counter(row_key([row.values[i] for i in key])[0] for row in rows)
                if any(count > 1 for count in values.values()):
                    raise DisagreementError(case, f"key {key} of {insert.sink.name}", f"at {root}")


def without_late(outcome: Outcome) -> Outcome:
    """Return an outcome without its late rows: a rule may make two windows one."""
    return Outcome(outcome.released, (), outcome.dead_letters, outcome.error)


def ways(case: Case, schedules: int, met: Counter[str]) -> Iterator[Way]:
    """Yield the ways to run a case, with names; running the engine counts what it met."""
    random = Random(case.name)
    if random.random() < 0.2:
        yield "literal", lambda: by_oracle(case.job, case.inputs, literal=True)
    seed, workers = random.randrange(1 << 16), random.choice((1, 2, 3))
    yield (
        f"model, seed {seed}, {workers} workers",
        lambda: by_model(case.job, case.inputs, seed=seed, workers=workers),
    )
    for _ in range(schedules):
        schedule = random_schedule(random)
        optimised = random.random() < 0.5
        job = run_passes(case.job, PASSES, verify=verify_logical) if optimised else case.job

        def run(schedule: Schedule = schedule, job: object = job) -> Outcome:
            assert isinstance(job, type(case.job))
            outcome, effort = by_engine(job, case.inputs, schedule)
            met["runs"] += 1
            met["runs that repair"] += effort.rows_redone > 0
            met["runs that hold"] += effort.rows_held > 0
            met["runs that rebalance"] += effort.rebalanced > 0
            met["runs that repair or hold"] += effort.rows_redone + effort.rows_held > 0
            met["repairs that change a route"] += bool(
                met["routed by result"] and effort.rows_redone
            )
            return outcome

        yield f"{'rules and ' if optimised else ''}engine, {schedule}", run


def random_schedule(random: Random) -> Schedule:
    """Return a way for the engine to go."""
    seed = random.randrange(1 << 16)
    return Schedule(
        seed=seed,
        workers=random.choice((1, 2, 3, 4)),
        batch_rows=random.choice((1, 2, 5, 100)),
        policy=random.choice((*Policy, *Policy, None)),
        read_ahead=random.choice((1_000_000, 1_000_000, 6)),
        few_rows=random.random() < 0.5,
        pre_aggregates=random.choice((0, 1, 2)),
        rebalanced=Random(f"{seed} rebalanced").choice((0, 0, 50, 100)),
        replicated=Random(f"{seed} replicated").random() < 0.5,
    )


def check_seeds(kind: str, seeds: Sequence[int], schedules: int = 3) -> Counter[str]:
    """Check the cases of seeds; scripts that the binder refuses are counted.

    Raises:
        DisagreementError: one of the cases fails.
        AssertionError: something was never met that should have been, so the seeds prove little.
    """
    met: Counter[str] = Counter()
    for seed in seeds:
        try:
            case = case_of(kind, seed)
        except FsqlError:
            met["refused"] += 1
            continue
        met.update(check(case, schedules))
    missing = [name for name in (*MUST_BE_MET, "repairs that change a route") if not met[name]]
    assert not missing, f"never met: {', '.join(missing)}; met: {met}"
    assert met["refused"] * 10 <= len(seeds), f"too many scripts are refused: {met}"
    assert met["runs that repair or hold"] * 2 >= met["runs"], f"too little disorder: {met}"
    return met
