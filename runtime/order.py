"""Orders over columns: stable radix orders, position orders, canonical ranks.

Everything here works on whole columns, except for a few rows (`few_rows`).  Measured on one core, for 300,000
elements: a stable argsort of uint16 takes 5-10 ns an element (NumPy has a radix sort for 16 bits), of int64
60-110 ns; so orders of integers are built from 16-bit digits, the least significant first, where that is
faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.runtime.batch import Batch, Root, span_of_all
from fsql.runtime.decimals import ranks_of
from fsql.runtime.dictionaries import DictionaryRanks, begins_with, decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.nested_types import has_doubles, is_nested
from fsql.runtime.packed_columns import order_within_runs, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Bools, Ints


LARGE_ROWS: Final = 4096
"""Batches of as many rows are not joined only to be processed together: their dictionaries may differ."""
_MERGED_RUNS_MAX: Final = 16
"""Up to this many ascending runs are merged: the stable sort of int64 finds runs, at 6 to 25 ns a value."""


def stable_order(values: Ints) -> Ints:
    """Return the permutation that sorts integers ascending, equal ones in their given order."""
    if len(values) < 512:
        return np.argsort(values, kind="stable")
    if np.count_nonzero(values[1:] < values[:-1]) <= _MERGED_RUNS_MAX:
        return np.argsort(values, kind="stable")
    least = int(values.min())
    spread = int(values.max()) - least
    if spread >= 1 << 48:
        return np.argsort(values, kind="stable")
    digits = values - least
    order = np.argsort(digits.astype(np.uint16), kind="stable")
    for shift in (16, 32):
        if spread >> shift:
            digit = (digits >> shift).astype(np.uint16)
            order = order[np.argsort(digit[order], kind="stable")]
    return order


def starts_of_runs(*columns: NDArray[np.signedinteger]) -> Ints:
    """Return the indexes at which a run of rows equal in all columns begins."""
    count = len(columns[0])
    if count == 0:
        return np.empty(0, np.int64)
    changed = np.empty(count, np.bool_)
    changed[0] = True
    np.not_equal(columns[0][1:], columns[0][:-1], out=changed[1:])
    for column in columns[1:]:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


def lexicographic_order(columns: Sequence[Ints]) -> Ints | None:
    """Return the stable order by `columns`, the first most significant; None if already in order."""
    count = len(columns[0])
    if count <= FEW_ROWS:
        rows = _rows(columns)
        few = sorted(range(count), key=rows.__getitem__)
        return None if few == list(range(count)) else np.array(few)
    leading = _count_ordered_columns(columns)
    if leading == len(columns):
        return None
    if leading:
        starts = starts_of_runs(*columns[:leading])
        if (found := order_within_runs(starts, columns[leading:])) is not None:
            return found
    words = pack(columns)
    order = stable_order(words[-1])
    for word in reversed(words[:-1]):
        order = order[stable_order(word[order])]
    return order


def _rows(columns: Sequence[Ints]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _count_ordered_columns(columns: Sequence[Ints]) -> int:
    """Return by how many of the first columns the rows are in order; all of them if by all."""
    undecided = None
    for index, column in enumerate(columns):
        before, after = column[:-1], column[1:]
        wrong = before > after
        if undecided is not None:
            wrong &= undecided
        if wrong.any():
            return index
        equal = before == after
        undecided = equal if undecided is None else undecided & equal
        if not undecided.any():
            break
    return len(columns)


def _strictly_in_order(columns: Sequence[Ints]) -> bool:
    """Return whether a column ascends strictly and those before it ascend: rows are in order, without ties.

    Other rows may be in order, too.
    """
    for column in columns:
        before, after = column[:-1], column[1:]
        if (before < after).all():
            return True
        if (before > after).any():
            return False
    return False


class Roots(NamedTuple):
    """The roots of a batch: `time` and `origin` of each, and for each row the `number` of its root."""

    time: Ints
    origin: Ints
    number: NDArray[np.int32]


def roots_of(batch: Batch) -> Roots:
    """Return the roots of rows that are in the total order."""
    starts = starts_of_runs(batch.time, batch.origin)
    lengths = np.diff(np.append(starts, len(batch)))
    number = np.arange(len(starts), dtype=np.int32).repeat(lengths)
    return Roots(batch.time[starts], batch.origin[starts], number)


def position_columns(batch: Batch) -> list[Ints]:
    """Return the columns that order a batch by position: only the path if all rows have one root."""
    if batch.path and len(batch):
        least, greatest = batch.span()
        if least == greatest:
            return list(batch.path)
    return [batch.time, batch.origin, *batch.path]


def position_order(batch: Batch, *, ties: bool) -> Ints | None:
    """Return the permutation into the total order; with `ties`, equal positions by own columns.

    None if the rows are in that order already.
    """
    if batch.ascending or len(batch) < 2:
        return None
    columns = position_columns(batch)
    if len(batch) > FEW_ROWS:
        if _strictly_in_order(columns):
            return None
        if len(columns) == 1 and (only := _order_of_distinct(columns[0])) is not None:
            return only
    order = lexicographic_order(columns)
    if not ties or (len(batch) <= FEW_ROWS and len(set(_rows(columns))) == len(batch)):
        return order
    ordered = columns if order is None else [column[order] for column in columns]
    if len(starts_of_runs(*ordered)) == len(batch):
        return order
    return lexicographic_order([*columns, *(canonical_rank(column) for column in batch.columns)])


def _order_of_distinct(column: Ints) -> Ints | None:
    """Return the order of integers no two of which are equal; None if two are.

    For example the paths of rows of one root, a third of the calls of `lexicographic_order`.
    """
    order = stable_order(column)
    ordered = column[order]
    return order if (ordered[:-1] < ordered[1:]).all() else None


def below(batch: Batch, bound: Root) -> Bools:
    """Return which rows have a root less than `bound`."""
    return (batch.time < bound.time) | ((batch.time == bound.time) & (batch.origin < bound.origin))


def are_large(batches: Sequence[Batch]) -> bool:
    """Return whether there are several batches, and it costs little not to join them."""
    return len(batches) > 1 and all(len(batch) >= LARGE_ROWS for batch in batches)


def concat(batches: Sequence[Batch]) -> Batch:
    """Return the rows of all batches, one after the other; there is at least one."""
    if len(batches) == 1:
        return batches[0]
    weight = None
    if any(batch.weight is not None for batch in batches):
        weight = np.concatenate([batch.weights() for batch in batches])
    return Batch(
        [concat_arrays(columns) for columns in zip(*(b.columns for b in batches), strict=True)],
        np.concatenate([batch.time for batch in batches]),
        np.concatenate([batch.origin for batch in batches]),
        tuple(np.concatenate(level) for level in zip(*(b.path for b in batches), strict=True)),
        weight,
        span_of_all([batch.known_span for batch in batches]),
    )


def concat_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the concatenation; it has a dictionary if all arrays have one, otherwise all are decoded."""
    encoded = [pa.types.is_dictionary(array.type) for array in arrays]
    if all(encoded):
        longest = max((array.dictionary for array in arrays), key=len)
        if not all(begins_with(longest, array.dictionary) for array in arrays):
            return _concat_dictionaries(arrays)
        indices = pa.concat_arrays([array.indices for array in arrays])
        return pa.DictionaryArray.from_arrays(indices, longest, safe=False)
    if any(encoded):
        arrays = [decode_dictionary(array) for array in arrays]
    return pa.concat_arrays(arrays)


def _concat_dictionaries(arrays: Sequence[pa.DictionaryArray]) -> pa.Array:
    """Return one array over the concatenated dictionaries, which may share values.

    If there are fewer rows than values, they are encoded again, since otherwise each repair would double the
    dictionary; lists are decoded.
    """
    if sum(len(array.dictionary) for array in arrays) > sum(map(len, arrays)):
        rows = pa.concat_arrays([decode_dictionary(array) for array in arrays])
        return rows if is_nested(rows.type) else pc.dictionary_encode(rows)
    first_code, indices = 0, []
    for array in arrays:
        moved = pc.add(array.indices, pa.scalar(first_code, array.indices.type))
        indices.append(moved if first_code else array.indices)
        first_code += len(array.dictionary)
    dictionary = pa.concat_arrays([array.dictionary for array in arrays])
    return pa.DictionaryArray.from_arrays(pa.concat_arrays(indices), dictionary)


def key_values(array: pa.Array) -> pa.Array:
    """Return a key column as keys are compared: -0.0 as 0.0, within arrays and rows as well."""
    kind = array.type
    if pa.types.is_floating(kind):
        return pc.add(array, 0.0)
    if not is_nested(kind) or not has_doubles(kind):
        return array
    array = decode_dictionary(array)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(array.type):
        children = [key_values(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=mask)
    ends = array.offsets.to_numpy()
    offsets = pa.array(ends - ends[0])
    values = key_values(array.values.slice(ends[0], ends[-1] - ends[0]))
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def integers(array: pa.Array) -> tuple[Ints, Bools | None]:
    """Return a fixed-width column as int64 that orders as SQL orders it, and which rows are valid.

    BOOLEAN, INT, BIGINT, TIMESTAMP and INTERVAL are themselves; DOUBLE is mapped to integers of the same
    order, -0.0 like 0.0 and NaN last.  Rows that are not valid have an arbitrary integer.
    """
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    kind = array.type
    if pa.types.is_floating(kind):
        filled = array if valid is None else array.fill_null(0.0)
        return sortable_doubles(filled.to_numpy(zero_copy_only=False)), valid
    if pa.types.is_boolean(kind):
        filled = array if valid is None else pc.fill_null(array, fill_value=False)
        return filled.to_numpy(zero_copy_only=False).astype(np.int64), valid
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        array = array.view(pa.int64())
    if valid is not None:
        array = array.fill_null(0)
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False), valid


def sortable_doubles(values: NDArray[np.float64]) -> Ints:
    """Return integers that order as the doubles do; -0.0 is 0.0, every NaN the greatest."""
    bits = (np.where(np.isnan(values), np.nan, values) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def doubles_of_sortable(keys: Ints) -> NDArray[np.float64]:
    """Return the doubles that `sortable_doubles` mapped to `keys`."""
    return np.where(keys < 0, keys ^ np.int64(2**63 - 1), keys).view(np.float64)


def fixed_width(kind: pa.DataType) -> bool:
    """Return whether `integers` accepts values of the type."""
    return not (
        pa.types.is_string(kind)
        or pa.types.is_dictionary(kind)
        or is_nested(kind)
        or pa.types.is_null(kind)
        or pa.types.is_decimal(kind)
    )


def canonical_rank(  # noqa: PLR0911 - one for each kind
    array: pa.Array, known: DictionaryRanks | None = None
) -> Ints:
    """Return integers that order the rows as the canonical order does: equal values equal, NULL last.

    A caller that ranks several columns with related dictionaries passes the `known` ranks.
    """
    if fixed_width(array.type):
        keys, valid = integers(array)
        if valid is None:
            return keys
        distinct, ranks = np.unique(keys, return_inverse=True)
        return np.where(valid, ranks, len(distinct))
    if pa.types.is_decimal(array.type):
        return ranks_of(array)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    if is_nested(array.type):
        array = decode_dictionary(array)
        if pa.types.is_struct(array.type):
            return _rank_of_rows(array, [canonical_rank(child) for child in array.flatten()])
        return _rank_of_lists(array, canonical_rank(array.flatten()))
    if len(array) <= FEW_ROWS:
        texts = array.to_pylist()
        ranks_of_texts = {text: index for index, text in enumerate(sorted({*texts} - {None}))}
        return np.array([ranks_of_texts.get(text, len(texts)) for text in texts], np.int64)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    ranks = (DictionaryRanks() if known is None else known).of(array.dictionary)
    indices = array.indices
    if indices.null_count:
        indices = indices.fill_null(len(array.dictionary))
    return np.take(ranks, indices.to_numpy(zero_copy_only=False))


def _rank_of_rows(array: pa.StructArray, fields: Sequence[Ints]) -> Ints:
    """Rank rows lexicographically by the ranks of their fields; NULL comes last."""
    order = np.lexsort(fields[::-1])
    starts = starts_of_runs(*(field[order] for field in fields))
    ranks = np.empty(len(array), np.int64)
    ranks[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(array))))
    if array.null_count:
        ranks[array.is_null().to_numpy(zero_copy_only=False)] = len(array)
    return ranks


def _rank_of_lists(array: pa.ListArray, elements: Ints) -> Ints:
    """Rank arrays lexicographically by the ranks of their elements; a shorter prefix comes first."""
    flat = elements.tolist()
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    keys = [
        tuple(flat[start:end])
        for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    ]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    found = np.fromiter((ranks[key] for key in keys), np.int64, len(keys))
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = len(ranks)
    return found


def identity_codes(array: pa.Array) -> Ints:
    """Return integers that are equal exactly where the values are the same (-0.0 is not 0.0)."""
    if pa.types.is_large_binary(array.type):
        return array.dictionary_encode().indices.to_numpy().astype(np.int64)
    if is_nested(array.type):
        array = decode_dictionary(array)
        if not has_doubles(array.type):
            return canonical_rank(array)
        if pa.types.is_struct(array.type):
            return _rank_of_rows(array, [identity_codes(child) for child in array.flatten()])
        return _rank_of_lists(array, identity_codes(array.flatten()))
    if pa.types.is_floating(array.type):
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
        _, codes = np.unique(bits, return_inverse=True)
        codes = codes.astype(np.int64)
        if array.null_count:
            codes[array.is_null().to_numpy(zero_copy_only=False)] = -1
        return codes
    return canonical_rank(array)
