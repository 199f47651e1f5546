"""Rows that failed travel as well: their column is the code of the error, as machines make it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Batch, Root
from fsql.runtime.dataflow.messages import Address, Message, Parcel, PortKind
from fsql.runtime.wire.codec import decode, encode
from fsql.tests.unit.wire.frames import frame, same


def test_error_codes_travel() -> None:
    numbers = np.arange(3)
    codes = pa.array(np.array([501, 502, 503], np.int16))
    batch = Batch([codes], numbers, numbers, (), -np.ones(3, np.int64))
    parcel = Parcel(Address(2, 0, PortKind.ERROR), batch, repairs=True)
    sent = frame(Message(parcel, 1, Root(0, 0)))
    assert same(decode(encode(sent)), sent)
