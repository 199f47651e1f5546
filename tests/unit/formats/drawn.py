"""Tests over drawn examples: the same in every run, as the profile in `tests/conftest.py` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings

from fsql.tests.seeds import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy


def drawn(
    count: int, *strategies: SearchStrategy
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Return a decorator that runs a test with `count` examples or more, an argument from each strategy."""
    profile = settings(max_examples=examples(count))

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        wrapped: Callable[[], None] = profile(given(*strategies)(test))
        return wrapped

    return decorate
