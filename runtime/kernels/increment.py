"""Increments: what changed in the state of a fold since its last snapshot, in columns.

An increment is an Arrow record batch.  Its first `keys` columns are the key, in the form in which
kernels compare
keys; behind them comes what the kernel wants to find again.  Which batch size, policy, or worker
made it does not show.

* Where `appends` is false there is one row a key, and it replaces the row that older increments have.
* Where `appends` is true the rows are added to those of older increments (a join's rows).

The last column, `expires`, is a time: once min time has passed the punctuation of that time, the
row is of no
use to anyone; `NEVER` where that does not come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.runtime.batch import TIME_END

if TYPE_CHECKING:
    import pyarrow as pa

NEVER: Final = TIME_END
EXPIRES: Final = "expires"


@dataclass(frozen=True, slots=True)
class Increment:
    """State rows of one fold; see above."""

    rows: pa.RecordBatch
    keys: int
    appends: bool
