"""One nursery for all tests that need workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cluster.nursery import Nursery

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery
