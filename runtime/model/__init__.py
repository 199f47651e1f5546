"""The graph executed literally, item by item, as the papers describe it.

It is what a query means: small, slow, and written to be checked by reading.  From the bottom up:

    meta, item                     what an item is, and the order of items
    bucket, grouping               windows over items, with replay and tombstones
    acker, barrier, front          what is final, the gate that waits for it, where items enter
    network, messages, routing     links, what they carry, and who is at their ends
    execution                      the machine, and a seed that decides what arrives first
    papers, trial                  graphs written by hand, in the papers' terms
    arrivals, interpret, run       queries: positions of rows, what SQL operators do, what is released
    row_functions, combine, …      the operators themselves
"""

from fsql.runtime.model.run import LateRow, ModelResult, RejectedItem, Released, Stop, run

__all__ = ["LateRow", "ModelResult", "RejectedItem", "Released", "Stop", "run"]
