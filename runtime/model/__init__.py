"""The graph executed literally, item by item, as the papers describe it.

It is what a query means: small, slow, and written to be checked by reading.  From the bottom up:

    meta, item           what an item is, and the order of items
    bucket, grouping     windows over items, with replay and tombstones
    acker, barrier       what is final, and the gate that waits for it
    network, execution   the machine: stations, links, and a seed that decides what arrives first
    papers, trial        graphs written by hand, in the papers' terms
    front, interpret, run            queries: positions of rows, what SQL operators do, what is released
    row_functions, combine*, …       the operators themselves
"""

from fsql.runtime.model.run import LateRow, ModelResult, Rejected, Released, Stop, run

__all__ = ["LateRow", "ModelResult", "Rejected", "Released", "Stop", "run"]
