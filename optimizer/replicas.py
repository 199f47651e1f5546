"""Chooses which joins are replicated: their side goes to all workers, and the main rows stay where they are.

Without equal keys, all rows of a join would go to one worker, so such a join is replicated from the start,
and so is one with a hint.  Others are replicated if that sends fewer bytes, by the rates of both sides: with
w workers, a share of (w - 1) / w of both sides is exchanged by key, and a replicated side is sent w - 1
times.  The side must fit into the memory of each worker (`REPLICA_BYTES_MAX`), and the main rows must be on
all workers already: a table that fewer workers read leaves the join to these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.diagnostics.numbers import count_text, counted_text
from fsql.compiler.expression import Literal
from fsql.compiler.graph import CombineJoin
from fsql.compiler.plan_choices import may_replicate
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import FoldHead, SourceHead, ToFold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.profile import Profile
    from fsql.optimizer.statistics import Statistics

REPLICA_BYTES_MAX: Final = 64 << 20
"""The maximum size of a side that is replicated without a hint."""
GAIN_MIN: Final = 2.0
"""How many times the bytes must be that are sent otherwise, before the choice changes."""
MAIN, SIDE = 0, 1

Replicas = tuple[tuple[str, bool], ...]


class JoinSizes(NamedTuple):
    """What is known of a join: the bytes of each input, in all or by time, and of the side as it is kept.

    `splits` are those of the tables whose rows are the main rows; None if these come from another fold.
    """

    main: float
    side: float
    kept: float
    splits: int | None = None


def sizes_of_profile(plan: TickPlan, profile: Profile) -> dict[str, JoinSizes]:
    """Return what a profile says of the joins that it covers, by operator."""
    rows = {(each.operator, each.side): each.rows for each in profile.sides}
    read: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for split in profile.splits:
        read[split.table].append((split.rows, split.bytes))
    found = {}
    for head in _joins(plan):
        sizes = []
        for side in (MAIN, SIDE):
            splits = [
                each for table in tables_of(plan, head.operator, side) for each in read[table]
            ]
            total = sum(count for count, _ in splits)
            if total:
                per_row = sum(size for _, size in splits) / total
                sizes.append(per_row * rows.get((head.operator, side), 0))
        if len(sizes) == len((MAIN, SIDE)):
            main, kept = sizes
            splits_read = sum(len(read[table]) for table in tables_of(plan, head.operator, MAIN))
            found[head.operator] = JoinSizes(main, kept, kept, splits_read)
    return found


def sizes_of_statistics(plan: TickPlan, statistics: Statistics) -> dict[str, JoinSizes]:
    """Return what is measured of the joins of a running job, by operator."""
    sent: defaultdict[tuple[str, int], float] = defaultdict(float)
    for each in statistics.loads:
        sent[each.operator, each.side] += each.bytes_per_second
    kept = {each.operator: each.state_bytes for each in statistics.folds}
    splits = Counter(each.table for each in statistics.fronts)
    found = {}
    for head in _joins(plan):
        operator = head.operator
        tables = tables_of(plan, operator, MAIN)
        if operator in kept and sent[operator, MAIN]:
            copies = plan.workers if operator in plan.replicated else 1
            count = sum(splits[table] for table in tables) if tables else None
            found[operator] = JoinSizes(
                sent[operator, MAIN], sent[operator, SIDE], kept[operator] / copies, count
            )
    return found


def first_replicas(plan: TickPlan) -> tuple[Replicas, list[Reason]]:
    """Return the joins that are replicated whatever their sizes are, and why."""
    chosen, reasons = [], []
    for head in _joins(plan):
        combine = head.combine
        assert isinstance(combine, CombineJoin)
        if combine.broadcast:
            reason = "as the hint says"
        elif all(isinstance(key, Literal) for key in combine.right_keys):
            reason = "without equal keys all rows would go to one worker"
        else:
            continue
        chosen.append((head.operator, True))
        reasons.append(Reason(subject_of(head.operator), f"on all workers, {reason}"))
    return tuple(chosen), reasons


def choose_replicas(
    plan: TickPlan, sizes: Mapping[str, JoinSizes], *, waits: str = ""
) -> tuple[Replicas, list[Reason]]:
    """Return the joins that become replicated, or cease to be, and a reason for each that may.

    `sizes` are by operator.  With `waits`, a reason why nothing may change now, nothing does.
    """
    chosen: list[tuple[str, bool]] = []
    reasons = []
    always = dict(first_replicas(plan)[0])
    for head in _joins(plan):
        operator, now = head.operator, head.operator in plan.replicated
        if operator in always:
            continue
        stays = "on all workers, stays" if now else "none"
        wanted, text = now, waits
        if plan.workers == 1:
            text = "there is one worker"
        elif not text and operator not in sizes:
            text = "no estimate of the bytes of its sides"
        elif not text:
            wanted, text = _choice(sizes[operator], plan.workers, replicated=now)
        if wanted != now:
            chosen.append((operator, wanted))
            after = "on all workers" if wanted else "no more"
            reasons.append(Reason(subject_of(operator), f"{after}; {text}", changes=True))
        else:
            reasons.append(Reason(subject_of(operator), f"{stays}; {text}"))
    return tuple(chosen), reasons


def subject_of(operator: str) -> str:
    """Return the subject of the reasons for the replicas of a join."""
    return f"replicas of {operator}"


def _choice(sizes: JoinSizes, workers: int, *, replicated: bool) -> tuple[bool, str]:
    by_key = (sizes.main + sizes.side) * (workers - 1) / workers
    copied = sizes.side * (workers - 1)
    text = (
        f"by key, {count_text(round(by_key))} bytes are sent, with replicas {count_text(round(copied))};"
        f" the side has {count_text(round(sizes.kept))} bytes"
    )
    if sizes.splits is not None and sizes.splits < workers:
        read = counted_text(sizes.splits, "split")
        return False, f"{text}, and the main rows are in {read} for {workers} workers"
    fits = sizes.kept <= REPLICA_BYTES_MAX * (2 if replicated else 1)
    if not fits:
        return False, f"{text}, and replicas may have {count_text(REPLICA_BYTES_MAX)}"
    if replicated:
        return copied <= by_key * GAIN_MIN, text
    return copied * GAIN_MIN < by_key, text


def tables_of(plan: TickPlan, operator: str, side: int) -> Sequence[str]:
    """Return the names of the tables whose rows come to a side of a fold without another fold in between."""
    [number] = [stage for stage, name in plan.exchanges.items() if name == operator]
    return [
        stage.head.table.name
        for stage in plan.stages
        if isinstance(stage.head, SourceHead)
        for send in stage.sends
        if isinstance(send.to, ToFold) and (send.to.stage, send.to.side) == (number, side)
    ]


def _joins(plan: TickPlan) -> Iterator[FoldHead]:
    for stage in plan.stages:
        if isinstance(stage.head, FoldHead) and may_replicate(stage.head):
            yield stage.head
