"""A worker's share of a snapshot: what is to be loaded of it under an owner map, whatever it was made under.

A record says which bins of it are valid, and only those are loaded.  What other workers have stored, or what
holds bins of others too, is stored again by its new owner with the next snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import common_bins
from fsql.runtime.kernels.keyed.increment import rows_of_bins
from fsql.runtime.state.loading import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.cluster.manifest import Record
    from fsql.runtime.kernels.keyed.increment import Increment
    from fsql.runtime.state.records import Records
    from fsql.runtime.state.store import StateStore


def load_share(
    named: Sequence[Record],
    records: Records,
    store_of: Callable[[int], StateStore],
) -> dict[str, tuple[Increment, ...]]:
    """Return the increments of each operator with keys in the worker's bins, oldest first.

    Args:
        named: the records of the manifest.
        records: those of the worker, which hold none yet and go on from what is loaded.
        store_of: returns the open store of a worker.

    Raises:
        DamagedRecordError: if a record cannot be read back.
    """
    bins = records.bins
    chains: dict[str, list[Record]] = {}
    for record in named:
        if common_bins(record.bins, bins):
            chains.setdefault(record.operator, []).append(record)
    shares: dict[str, tuple[Increment, ...]] = {}
    for operator, chain in sorted(chains.items()):
        state = read_state(chain, store_of)
        shares[operator] = tuple(
            rows_of_bins(increment, common_bins(record.bins, bins))
            for record, increment in zip(chain, state[operator], strict=True)
        )
        if all(_is_own(record, records) for record in chain):
            records.resume(chain, state)
        else:
            records.take_over((operator, share) for share in shares[operator])
    return shares


def _is_own(record: Record, records: Records) -> bool:
    """Say whether a record is in the worker's store, and all that is valid of it is the worker's."""
    valid = common_bins(record.bins, records.bins)
    return record.worker == records.worker and valid == record.bins
