"""Nanoseconds per word of the two chains of map functions that text goes through first.

    inverted index   split(line, ' '), then its words grouped with the ARRAY_AGG of their ordinals
    word count       split(line, ' '), then unnested, then the words alone

Lines have 300 words of a Zipf distribution.  Each chain is measured on a batch of 1,000 lines and on one of
a single line, with the allocator of a worker.  `python -m fsql.benchmarks.maps` prints medians of processor
time, so that other programs on the machine matter less.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.expression import AggregateCall, AggregateFunction, Call, ColumnRef, Literal
from fsql.compiler.graph import Compute, Explode, ExplodeAggregate
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING, array_of
from fsql.runtime.batch import Batch
from fsql.runtime.drivers.memory import keep_freed_memory
from fsql.runtime.kernels.maps import compile_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.graph import MapFunction
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

    Chain = Callable[[Batch], Batch]

WORDS_IN_LINE: Final = 300
VOCABULARY: Final = 50_000
LINES: Final = Column("line", STRING, nullable=False)


def column(sql_type: SqlType, index: int) -> ColumnRef:
    """Return a reference to a column that may be NULL."""
    return ColumnRef(nullable=True, type=sql_type, index=index)


def call(function: str, sql_type: SqlType, *arguments: Expression) -> Call:
    """Return a call of `function`."""
    return Call(type=sql_type, nullable=True, function=function, arguments=arguments)


def literal(sql_type: SqlType, value: Value) -> Literal:
    """Return a constant."""
    return Literal(type=sql_type, nullable=False, value=value)


SPLIT: Final = call("split", array_of(STRING), column(STRING, 0), literal(STRING, " "))
WORDS: Final = Column("words", SPLIT.type, nullable=False)
WORD: Final = Column("word", STRING)
ORDINAL: Final = Column("ordinal", BIGINT, nullable=False)


def inverted_index() -> Chain:
    """Return the chain from lines to (word, positions), one row for each distinct word of a line."""
    positions = AggregateCall(
        function=AggregateFunction.ARRAY_AGG,
        argument=call("subtract", BIGINT, column(BIGINT, 2), literal(BIGINT, 1)),
        type=array_of(BIGINT),
        nullable=False,
    )
    function = ExplodeAggregate(
        array=column(SPLIT.type, 0),
        ordinality=True,
        predicate=None,
        keys=(column(STRING, 1),),
        aggregates=(positions,),
    )
    return chain((Compute((SPLIT,)), (LINES,)), (function, (WORDS,)))


def word_count() -> Chain:
    """Return the chain from lines to words, one row for each."""
    return chain(
        (Compute((SPLIT,)), (LINES,)),
        (Explode(column(SPLIT.type, 0), ordinality=False), (WORDS,)),
        (Compute((column(STRING, 1),)), (WORDS, WORD)),
    )


def chain(*steps: tuple[MapFunction, Schema]) -> Chain:
    """Compile each function for the schema next to it, and return a chain that runs them in order."""
    maps = [compile_map(function, schema) for function, schema in steps]

    def run(batch: Batch) -> Batch:
        for apply in maps:
            batch = apply(batch).rows
        return batch

    return run


def lines(count: int) -> Batch:
    """Return `count` lines of Zipf-distributed words, always the same ones."""
    random = np.random.default_rng(20)
    ranks = np.minimum(random.zipf(1.2, (count, WORDS_IN_LINE)), VOCABULARY)
    texts = [" ".join(f"w{rank}" for rank in line) for line in ranks.tolist()]
    numbers = np.arange(count)
    return Batch([pa.array(texts)], numbers, numbers, (np.zeros(count, np.int64),))


def median_seconds(chain: Chain, batch: Batch, repeats: int) -> float:
    """Return the median processor time of one application, after a few to warm up."""
    times = []
    for _ in range(repeats + 3):
        start = time.process_time()
        chain(batch)
        times.append(time.process_time() - start)
    return statistics.median(times[3:])


def main() -> None:
    """Print both chains' medians."""
    pa.set_cpu_count(1)
    keep_freed_memory()
    for name, chain in (("inverted index", inverted_index()), ("word count", word_count())):
        for count, repeats in ((1_000, 15), (1, 301)):
            seconds = median_seconds(chain, lines(count), repeats)
            per_word_ns = seconds / (count * WORDS_IN_LINE) * 1e9
            sys.stdout.write(
                f"{name:16} {count:5} lines {per_word_ns:8.1f} ns/word {seconds * 1e6:10.1f} us/batch\n"
            )


if __name__ == "__main__":
    main()
