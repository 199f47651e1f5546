"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "compiler",
    "connectors",
    "console",
    "deployment",
    "formats",
    "job",
    "optimizer",
    "runtime",
)


def modules_with_examples() -> list[str]:
    """Return the names of the product's modules that have examples in docstrings."""
    files = [file for name in PACKAGES for file in (ROOT / name).rglob("*.py")]
    return sorted(
        ".".join(("fsql", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for file in files
        if ">>>" in file.read_text()
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.REPORT_NDIFF)
    assert results.attempted
    assert results.failed == 0
