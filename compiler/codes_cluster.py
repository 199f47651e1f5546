"""The rows of the code table for the cluster (E6xx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.codes_names import Row

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
        "cluster key cannot be used",
        "The file that all nodes of a cluster know each other by is damaged, or open to other users.",
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
)
