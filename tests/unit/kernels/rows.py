"""Rows of a batch as plain values, both ways, so that map functions can be told row by row what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.tests.property.values import random_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.maps.map_result import MapResult


class Row(NamedTuple):
    """A row with its position and weight."""

    values: tuple[Value, ...]
    root: Root
    path: tuple[int, ...]
    weight: int


class Failed(NamedTuple):
    """An error row."""

    code: int
    root: Root
    weight: int


def batch_of(rows: Sequence[Row], types: Sequence[SqlType], depth: int = 0) -> Batch:
    weights = [row.weight for row in rows]
    return Batch(
        [to_arrow([row.values[i] for row in rows], type_) for i, type_ in enumerate(types)],
        np.array([row.root.time for row in rows], np.int64),
        np.array([row.root.origin for row in rows], np.int64),
        tuple(np.array([row.path[level] for row in rows], np.int64) for level in range(depth)),
        None if set(weights) <= {1} else np.array(weights, np.int64),
    )


def rows_of(batch: Batch, types: Sequence[SqlType]) -> list[Row]:
    for column in batch.columns:
        column.validate(full=True)
    columns = [from_arrow(c, type_) for c, type_ in zip(batch.columns, types, strict=True)]
    levels = [level.tolist() for level in batch.path]
    return [
        Row(
            tuple(column[i] for column in columns),
            batch.root(i),
            tuple(level[i] for level in levels),
            int(batch.weights()[i]),
        )
        for i in range(len(batch))
    ]


def failures_of(result: MapResult) -> list[Failed]:
    if result.errors is None:
        return []
    assert result.errors.path == ()
    codes = result.errors.columns[0].to_pylist()
    return [
        Failed(code, result.errors.root(i), int(result.errors.weights()[i]))
        for i, code in enumerate(codes)
    ]


def random_rows(random: Random, schema: Schema, depth: int, *, awkward: float) -> list[Row]:
    """Return a few rows at ascending roots."""
    weighted = random.random() < 0.5
    return [
        Row(
            tuple(random_value(random, column.type, awkward=awkward) for column in schema),
            Root(number // 2, number),
            tuple(random.randrange(3) for _ in range(depth)),
            random.choice((1, -1)) if weighted else 1,
        )
        for number in range(random.choice((0, 1, 1, 2, 5, 9)))
    ]
