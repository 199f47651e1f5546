"""The rows of the code table for the cluster (E60x), and for state and snapshots (E61x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

_ANEW: Final = (
    "bring the state directory back from a copy, or start with an empty one and all input."
)

CLUSTER_ROWS: Final[tuple[Row, ...]] = (
    (
        "E601",
        "address is not on the loopback",
        "Nodes do not encrypt what they send to each other, so they only speak within one machine.",
        "Use an address of the form `tcp://127.0.0.1:PORT`.",
        "tcp://0.0.0.0:5555",
    ),
    (
        "E602",
        "key cannot be used",
        "The file by which nodes, or a job and its consumer, know each other is damaged, or not private.",
        "Let its owner alone read it (`chmod 600`), or remove it while the job is down: a new one is made.",
        "cluster.key  -- of mode 644",
    ),
    (
        "E603",
        "node cannot listen",
        "The address is in use by another process, or may not be used.",
        "Use a free port; `tcp://127.0.0.1:*` takes any.",
        "tcp://127.0.0.1:80",
    ),
    (
        "E604",
        "nothing is heard from the run",
        "A worker that was started by hand has waited long enough: the run has ended, or has another key.",
        "Start the run first, and type what it says; `--patience` is how long to wait.",
        "fsql worker --join tcp://127.0.0.1:7400 --key state/cluster.key  # after the run has ended",
    ),
    (
        "E605",
        "worker of another version",
        "A worker and the run that it wants to join speak different versions of the wire format.",
        "Start the worker with the version of fsql that the run has.",
        "fsql worker --join tcp://127.0.0.1:7400 --key state/cluster.key  # of another version",
    ),
    (
        "E611",
        "manifest of a snapshot is damaged",
        "The file that says what a snapshot is made of is missing, cut short or altered, or another one.",
        f"A job goes on from the newest snapshot that verifies. If none does: {_ANEW}",
        "fsql snapshot verify --state state  # state/snapshots/7.json was cut short",
    ),
    (
        "E612",
        "record of a snapshot is damaged",
        "A piece of state cannot be read back as it was written: a disk failed, or files were replaced.",
        f"Have the store replaced: `fsql snapshot salvage`. If no snapshot verifies then: {_ANEW}",
        "fsql snapshot verify --state state  # files of state/worker-0 were deleted",
    ),
    (
        "E613",
        "snapshot of another format",
        "The snapshot was written by a version of fsql that stores state in another way.",
        "Use the version that wrote it, or start with an empty state directory.",
        "fsql snapshot list --state state  # written by a later version",
    ),
    (
        "E614",
        "state directory cannot be read",
        "The directory is not there, holds no state of a job, or may not be read.",
        "Name the directory in which the job keeps its state, or correct the permissions.",
        "fsql snapshot list --state missing",
    ),
    (
        "E615",
        "coordination file is damaged",
        "The file that says which snapshot counts is missing, altered, or of another version of fsql.",
        "Bring the state directory back from a copy, or start with an empty one and all input.",
        "fsql snapshot list --state state  # state/coordination.sqlite was overwritten",
    ),
    (
        "E616",
        "state too large for one worker",
        "A column of the state of one operator has more than 2 GiB of text or arrays on one worker.",
        "Run the job with more workers: they go on from its newest snapshot.",
        "fsql run query.sql --state state  # with 3 GiB of distinct keys on one worker",
    ),
    (
        "E621",
        "state directory cannot be used",
        "The directory cannot be made or written, or another run is using it.",
        "Name another directory, or wait until the other run has ended.",
        "fsql run query.sql --state state  # while another run has it",
    ),
    (
        "E622",
        "state of another job",
        "State belongs to one plan. Comments, white space and the name of the script are no part of it.",
        "Use another state directory, or run the job that this one is of.",
        "fsql run other.sql --state state  # state of query.sql",
    ),
    (
        "E623",
        "description of a job is not understood",
        "What processes of a job tell each other of it was written by another version, or is damaged.",
        "Run all processes of a job, and what goes on with its state, with one version of fsql.",
        "fsql run query.sql --state state  # state/job.json was altered",
    ),
    (
        "E624",
        "processes keep ending",
        "Workers or the coordinator end again and again, and nothing gets done in between.",
        "See what they write on standard error: memory that runs out, say; `--debug` shows more.",
        "fsql run query.sql --workers 4  # on a machine without enough memory",
    ),
)
