"""What is said while a run on processes goes on: each recovery, and why, and nothing again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.console.course import ShownCourse
from fsql.console.talk import Talk
from fsql.runtime.drivers.local import Counters
from fsql.runtime.drivers.processes.lines import Course

if TYPE_CHECKING:
    import pytest

FULL = 'writing "out.jsonl": no space left on device'


def said(capsys: pytest.CaptureFixture[str], *courses: tuple[str, int, str]) -> str:
    shown = ShownCourse(Counters(), Talk())
    for phase, epoch, why in courses:
        shown.heard(Course(phase, epoch, why, {}, (0, 0)))
    return capsys.readouterr().err


def test_a_beginning_is_no_recovery(capsys: pytest.CaptureFixture[str]) -> None:
    courses = (("waiting for workers", 0, ""), ("loading state", 4, ""), ("running", 4, ""))
    assert said(capsys, *courses) == ""


def test_what_keeps_happening_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    trying = [("waiting for workers", 0, FULL), ("asking outputs what they have", 0, FULL)]
    courses = [("running", 1, ""), *(trying * 3), ("running", 2, FULL), *(trying * 3)]
    lines = [f"recovery: {phase} ({FULL})\n" for phase, _, _ in trying]
    running = f"recovery: running ({FULL})\n"
    assert said(capsys, *courses) == "".join([*lines, running, *lines])


def test_the_loss_of_the_coordinator_is_a_recovery(capsys: pytest.CaptureFixture[str]) -> None:
    courses = (("running", 1, ""), ("waiting for workers", 0, ""), ("running", 2, ""))
    assert said(capsys, *courses) == (
        "recovery: waiting for workers (the coordinator has ended)\n"
        "recovery: running (the coordinator has ended)\n"
    )
