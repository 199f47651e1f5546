"""Simulations begin without the garbage of other tests."""

import pytest


@pytest.fixture(autouse=True)
def _without_garbage(no_garbage: None) -> None:
    """See `no_garbage`."""
