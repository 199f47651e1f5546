"""The sink of connector `results`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Changes
from fsql.connectors.results.log import VERSION, Frame, Header, frame_parts, row_schema
from fsql.connectors.results.store import ResultStore
from fsql.connectors.stream_stores import NullStore
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import START
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.sink import LocalSink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.logical import SinkTable
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.sink import Sink


class RowFrames:
    """Encodes the released rows of a table as frames of its log."""

    header = b""

    def __init__(self, sink: SinkTable) -> None:
        self._schema = row_schema([arrow_type(column.type) for column in sink.columns])

    def __call__(self, contents: Contents) -> Sequence[memoryview]:
        """Return one frame of ROWS."""
        assert isinstance(contents, Released)
        release = contents.release
        operations = release.operations
        if operations is None:
            operations = np.zeros(len(release.time), np.int8)
        columns = [
            pa.array(release.time),
            pa.array(release.origin),
            pa.array(operations),
            *map(decode_dictionary, release.columns),
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return frame_parts(Frame.ROWS, batch.serialize())


def open_sink(sink: SinkTable, settings: Settings, context: ConnectorContext) -> Sink:
    """Return the sink of a result; a run without state drops its rows, as nobody can ask for them."""
    del settings
    if context.journal is None:
        return LocalSink(NullStore(), RowFrames(sink))
    header = Header(
        VERSION,
        "",
        sink.name,
        tuple((column.name, str(column.type), column.nullable) for column in sink.columns),
        sink.key,
        sink.changes is Changes.APPEND,
        (START.time, START.origin),
    )
    return LocalSink(ResultStore(context.journal, header), RowFrames(sink))
