"""What several unit tests need."""

from __future__ import annotations

import gc
import os
import resource
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SELECT_MAX = 1024


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """Have the next descriptors be greater than what select() takes."""
    gc.collect()  # what it closed later would leave lower numbers free
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] <= SELECT_MAX + 64:
        pytest.fail("the test needs a higher limit on open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], SELECT_MAX + 64), before[1]))
    held = [os.open(os.devnull, os.O_RDONLY)]
    while held[-1] < SELECT_MAX:
        held.append(os.dup(held[0]))
    yield
    for descriptor in held:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
