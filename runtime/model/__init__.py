"""The model executes the graph literally, item by item, as the publications on FlameStream describe it.

It defines what a query means: small, slow, and written to be checked by reading.  From the bottom up:

    meta, item                     what an item is, and the order of items
    bucket, grouping               windows over items, with replay and tombstones
    acker, barrier, front          what is final, its release, and where items enter
    network, messages, routing     links, their messages, and the receiver of each item
    execution                      the machine, and a seed that decides what arrives first
    papers, trial                  graphs written by hand, in FlameStream's terms
    arrivals, interpret, run       queries: positions of rows, what SQL operators do, what is released
    row_functions, combine, …      the operators themselves
"""

from fsql.runtime.model.run import DeadLetterItem, LateRow, ModelResult, Released, Stop, run

__all__ = ["DeadLetterItem", "LateRow", "ModelResult", "Released", "Stop", "run"]
