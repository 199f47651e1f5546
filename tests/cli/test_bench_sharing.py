"""`fsql bench sharing` and `correlated` run all variants, with equal outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("forked_runs")]


def test_sharing(tmp_path: Path) -> None:
    picture = tmp_path / "sharing.svg"
    arguments = ("--rows", "3000", "--tick", "0.5", "--picture", picture)
    code, out, err = fsql("bench", "sharing", *arguments, "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    variants = ["first", "last", "first-auto", "last-auto", "one", "two"]
    assert [(run["variant"], run["bytes_equal"]) for run in runs] == [
        (variant, True) for variant in variants
    ]
    assert {"first_by_last", "first-auto_by_last-auto", "two_by_one"} <= set(medians)
    texts = [element.text for element in ElementTree.fromstring(picture.read_text()).iter()]
    assert [text for text in texts if text in variants] == variants


def test_conditions_that_are_not_independent() -> None:
    code, out, err = fsql("bench", "correlated", "--rows", "3000", "--rounds", "1", "--json")
    assert (code, err) == (0, "")
    *runs, medians = [json.loads(line) for line in out.splitlines()]
    assert [(run["variant"], run["bytes_equal"]) for run in runs] == [
        (variant, True) for variant in ("written", "independent", "pairs")
    ]
    assert {"independent_by_written", "pairs_by_written", "pairs_by_independent"} <= set(medians)
