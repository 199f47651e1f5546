"""Nanoseconds per row of writing and reading JSON lines, and per word of reading and making text.

    counts    {"word":<dictionary of 20,000>,"n":<below 100,000>}
    index     {"word":…,"doc":<below a million>,"positions":[<1.4 below 300>],"previous":<below 50,000>}
    bids      the seven columns of Nexmark's bids; also read by DuckDB with one thread, if it is installed

Writing is measured on batches of 200 and of 200,000 rows, with the same dictionary in every batch and with
a new one in each.  Reading is measured from a file in blocks of 1 MiB, 16,384 rows at a time.  What counts
is the processor time of one thread, with the allocator of a worker.  `python -m fsql.benchmarks.encode`
prints medians.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.logical import Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING, array_of
from fsql.connectors.context import ConnectorContext
from fsql.connectors.generated.zipf_words import ZipfWords
from fsql.connectors.nexmark.events import BID, Nexmark, event_numbers
from fsql.connectors.opening import open_source
from fsql.formats.json.encoder import JsonEncoder
from fsql.runtime.drivers.memory import keep_freed_memory
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.schema import Schema

    Columns = Sequence[pa.Array]

VOCABULARY: Final = 20_000
ROWS_AT_A_TIME: Final = 16_384
COUNTS: Final[Schema] = (Column("word", STRING), Column("n", BIGINT))
INDEX: Final[Schema] = (
    Column("word", STRING),
    Column("doc", BIGINT),
    Column("positions", array_of(BIGINT)),
    Column("previous", BIGINT),
)
LINE: Final[Schema] = (Column("line", STRING),)
BIDS: Final[Schema] = tuple(Column(name, sql_type) for name, (sql_type, _) in BID.items())
_BIDS_IN_A_SECOND: Final = 10_000


def words(random: np.random.Generator, rows: int, *, shared: bool) -> pa.DictionaryArray:
    """Return words by Zipf's law; with a dictionary of all of them, or of those that occur."""
    law = ZipfWords(VOCABULARY)
    ranks = law.ranks(random.integers(0, 2**64, rows, np.uint64))
    column = pa.DictionaryArray.from_arrays(pa.array(ranks), law.words())
    return column if shared else column.cast(pa.string()).dictionary_encode()


def counts(random: np.random.Generator, rows: int, *, shared: bool) -> Columns:
    """Return rows of `COUNTS`."""
    numbers = pa.array(random.integers(0, 100_000, rows))
    return [words(random, rows, shared=shared), numbers]


def index(random: np.random.Generator, rows: int, *, shared: bool) -> Columns:
    """Return rows of `INDEX`."""
    lengths = random.choice([1, 1, 1, 2, 2], rows)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    positions = pa.array(random.integers(0, 300, offsets[-1]))
    return [
        words(random, rows, shared=shared),
        pa.array(random.integers(0, 1_000_000, rows)),
        pa.ListArray.from_arrays(pa.array(offsets), positions),
        pa.array(random.integers(0, 50_000, rows)),
    ]


def bids(rows: int) -> Columns:
    """Return rows of `BIDS`."""
    generator, numbers = Nexmark(0, _BIDS_IN_A_SECOND), event_numbers("bid", np.arange(rows))
    return [make(generator, numbers) for _, make in BID.values()]


def median_seconds(
    action: Callable[[], object], repeats: int, clock: Callable[[], float] = time.thread_time
) -> float:
    """Return the median processor time of one call, after a few to warm up."""
    times = []
    for _ in range(repeats + 3):
        start = clock()
        action()
        times.append(clock() - start)
    return statistics.median(times[3:])


def show(name: str, rows: int, row_bytes: float, seconds: float) -> None:
    """Print what a call took that processed this number of rows and bytes."""
    per_row_ns = seconds / rows * 1e9
    megabytes_per_second = row_bytes * rows / seconds / 1e6
    sys.stdout.write(
        f"{name:28} {rows:7} rows {per_row_ns:8.1f} ns/row {megabytes_per_second:8.1f} MB/s"
        f" {seconds * 1e6:10.1f} us\n"
    )


def measure_writing() -> None:
    """Print the medians of the encoder."""
    random = np.random.default_rng(20)
    for name, schema, make in (("counts", COUNTS, counts), ("index", INDEX, index)):
        for rows, repeats in ((200, 501), (200_000, 15)):
            for shared in (True, False):
                encoder = JsonEncoder(
                    [column.name for column in schema], [column.type for column in schema]
                )
                made = 1 if shared else 8
                batches = cycle([make(random, rows, shared=shared) for _ in range(made)])
                size = sum(map(len, encoder.encode(next(batches))))
                seconds = median_seconds(lambda: encoder.encode(next(batches)), repeats)  # noqa: B023 - called at once
                kind = "same dictionary" if shared else "new dictionary"
                show(f"write {name}, {kind}", rows, size / rows, seconds)


def read_all(table: Table, directory: Path) -> None:
    """Read a table to its end."""
    (split,) = open_source(table, ConnectorContext(directory))
    reader = split.open()
    while (chunk := reader.read(ROWS_AT_A_TIME)) is not None:
        assert isinstance(chunk, Chunk)
        assert not chunk.dead_letters
    reader.close()


def table(columns: Schema, options: dict[str, str]) -> Table:
    """Return a table with the given columns and options."""
    return Table(
        name="t",
        ordinal=0,
        columns=columns,
        options=tuple(options.items()),
        time=TimeKind.OFFSET,
    )


def measure_reading(directory: Path) -> None:
    """Print the medians of the decoders and of the generator; for text, a row is a word."""
    random = np.random.default_rng(20)
    rows = 200_000
    path = directory / "data"
    for name, schema, make in (("counts", COUNTS, counts), ("index", INDEX, index)):
        encoder = JsonEncoder(
            [column.name for column in schema], [column.type for column in schema]
        )
        path.write_bytes(b"".join(encoder.encode(make(random, rows, shared=True))))
        source = table(schema, {"connector": "file", "path": "data"})
        seconds = median_seconds(partial(read_all, source, directory), 7)
        show(f"read JSON {name}", rows, path.stat().st_size / rows, seconds)
    for words_per_line in (1, 300):
        options = {"words_per_line": str(words_per_line), "count": str(600_000 // words_per_line)}
        generated = table(LINE, {"connector": "words", **options})
        (split,) = open_source(generated, ConnectorContext(directory))
        reader = split.open()
        with path.open("wb") as file:
            while (chunk := reader.read(ROWS_AT_A_TIME)) is not None:
                assert isinstance(chunk, Chunk)
                file.writelines(f"{line}\n".encode() for line in chunk.columns[0].to_pylist())
        source = table(LINE, {"connector": "file", "path": "data", "format": "text"})
        word_bytes = path.stat().st_size / 600_000
        for action, what in ((source, "read"), (generated, "make")):
            seconds = median_seconds(partial(read_all, action, directory), 7)
            show(f"{what} text, {words_per_line} words a line", 600_000, word_bytes, seconds)


def measure_bids(directory: Path) -> None:
    """Print the medians of reading bids, and of DuckDB reading the same file."""
    rows = 200_000
    path = directory / "bids"
    encoder = JsonEncoder([column.name for column in BIDS], [column.type for column in BIDS])
    path.write_bytes(b"".join(encoder.encode(bids(rows))))
    row_bytes = path.stat().st_size / rows
    source = table(BIDS, {"connector": "file", "path": path.name})
    seconds = median_seconds(partial(read_all, source, directory), 7)
    show("read JSON bids", rows, row_bytes, seconds)
    with suppress(ImportError):
        import duckdb

        connection = duckdb.connect(config={"threads": 1})
        seconds = median_seconds(
            lambda: connection.read_json(str(path)).to_arrow_table(), 7, time.process_time
        )
        show("read JSON bids in DuckDB", rows, row_bytes, seconds)


def main() -> None:
    """Print all medians."""
    pa.set_cpu_count(1)
    keep_freed_memory()
    measure_writing()
    with tempfile.TemporaryDirectory() as directory:
        measure_reading(Path(directory))
        measure_bids(Path(directory))


if __name__ == "__main__":
    main()
