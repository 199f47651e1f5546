"""`fsql completion`: the scripts of shells, and what they complete."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from fsql.tests.cli.commands import fsql, process


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_call_fsql(shell: str) -> None:
    code, out, err = fsql("completion", shell)
    assert (code, err) == (0, "")
    assert f"_FSQL_COMPLETE={shell}_complete" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=out, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("fsql com", ["plain,compile", "plain,completion"]),
        ("fsql run --eng", ["plain,--engine"]),
        ("fsql run --engine s", ["plain,spark"]),
        ("fsql config ", ["plain,show"]),
        ("fsql completion z", ["plain,zsh"]),
    ],
)
def test_what_is_completed(words: str, completed: list[str]) -> None:
    last = "" if words.endswith(" ") else words.rsplit(maxsplit=1)[-1]
    count = len(words.split()) - (0 if last == "" else 1)
    with process(
        _FSQL_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(count)
    ) as running:
        out, err = running.communicate()
    assert (out.decode().split(), err) == (completed, b"")


def test_an_unknown_shell() -> None:
    code, out, err = fsql("completion", "tcsh")
    assert (code, out) == (2, "")
    assert "'tcsh' is not one of" in err
