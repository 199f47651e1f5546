"""The folds of one worker, and their methods with measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.tick_plan import FoldHead
from fsql.runtime.dataflow.fold_kernels import make_fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.compiler.plan_choices import PlanChoices
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.fold_output import FoldOutput
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation


class TimedFolds:
    """The folds by stage; `accept`, `advance` and `continue_work` are their methods, measured."""

    def __init__(self, plan: TickPlan, instrument: Instrumentation) -> None:
        """Make all folds of a plan, empty."""
        self.by_stage: dict[int, Fold] = {}
        self.accept: dict[int, Callable[[int, Batch], FoldOutput]] = {}
        self.advance: dict[int, Callable[[Root], FoldOutput]] = {}
        self.continue_work: dict[int, Callable[[], FoldOutput]] = {}
        for number, stage in enumerate(plan.stages):
            if isinstance(stage.head, FoldHead):
                fold = self.by_stage[number] = make_fold(stage.head)
                self.accept[number] = instrument(fold.operator, fold.accept)
                self.advance[number] = instrument(fold.operator, fold.advance)
                self.continue_work[number] = instrument(fold.operator, fold.continue_work)

    def change_policies(
        self, position: Root, choices: PlanChoices
    ) -> Iterator[tuple[int, FoldOutput]]:
        """Give folds the policies of `choices` from `position` on; yield their output, by stage."""
        policies = dict(choices.policies)
        for number, fold in self.by_stage.items():
            if fold.operator in policies:
                yield number, fold.change_policy(position, policies[fold.operator])
