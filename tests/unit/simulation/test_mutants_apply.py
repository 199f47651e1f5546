"""Mutants follow the code that they replace: each can be applied. Whether it is found takes far longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.property import test_mutants as mutants_of_the_dataflow
from fsql.tests.simulation import mutants, mutants_of_state

if TYPE_CHECKING:
    from collections.abc import Callable

MUTANTS = (*mutants_of_the_dataflow.MUTANTS, *mutants.MUTANTS, *mutants_of_state.MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_can_be_applied(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    # `setattr` raises an AttributeError where there is nothing of that name.
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
