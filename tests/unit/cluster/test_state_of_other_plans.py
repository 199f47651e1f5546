"""State that the plan of a job has no use for is refused, and not ignored."""

from __future__ import annotations

from fsql.runtime.batch import START
from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment, fault_of

POSITION = (START.time, START.origin)


def manifest(*operators: str) -> Manifest:
    """Return a manifest with a segment for each operator."""
    segments = tuple(
        StateSegment(0, f"{number}", operator, 7, 0, 1, 10, "", ((0, 1),))
        for number, operator in enumerate(operators)
    )
    return Manifest("job", 0, 1, 7, POSITION, 1, segments, (), graph="g")


def test_state_of_the_plan_is_taken() -> None:
    assert (
        fault_of(manifest("aggregate-1", "join-2"), "g", {"aggregate-1", "join-2", "join-3"})
        is None
    )
    assert fault_of(manifest(), "g", ()) is None


def test_another_plan() -> None:
    error = fault_of(manifest(), "another", ())
    assert error is not None
    assert [each.code for each in error.diagnostics] == ["E623"]
    assert error.diagnostics[0].message == "snapshot 7 is of another plan than the job"


def test_an_operator_that_an_earlier_version_had() -> None:
    given = manifest("join-2", "aggregate-3", "aggregate-1", "aggregate-3")
    error = fault_of(given, "g", {"join-2"})
    assert error is not None
    (diagnostic,) = error.diagnostics
    assert diagnostic.code == "E625"
    assert diagnostic.message == "the job has no operator for the state of aggregate-1, aggregate-3"
    assert diagnostic.notes == ("snapshot 7 was made by a version of fsql that had one",)
