"""Sharded tables: shards merge to the bytes of the table without shards, and are the same in every run."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.analysis.sharding import Sharding
from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.compiler.tick_plan import SinkPort
from fsql.connectors.file.shard_files import ShardLines, shard_encoder, shard_path
from fsql.runtime.batch import END, Batch
from fsql.runtime.cluster.delivery.shards import RowSharder
from fsql.runtime.dataflow.barrier import Barrier, Released
from fsql.runtime.dataflow.messages import Address, Parcel, PortKind
from fsql.runtime.dataflow.row_encoding import RowEncoding
from fsql.runtime.ports import Release
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

DOCS: Final = """\
CREATE TABLE docs (at TIMESTAMP, id BIGINT, price DOUBLE, text STRING, tags ARRAY<DOUBLE>,
    WATERMARK FOR at AS at - INTERVAL '1' SECOND) WITH ('connector' = 'file', 'path' = 'docs.jsonl');
"""
WORDS: Final = "docs CROSS JOIN UNNEST(SPLIT(text, ' ')) AS u(word)"
PRICE: Final = "CASE WHEN id % 7 = 0 THEN price / 0.0 ELSE price END"

QUERIES: Final = {
    "changes by key": (
        "word STRING, n BIGINT",
        "'changes' = 'retract'",
        f"SELECT word, COUNT(*) FROM {WORDS} GROUP BY word",
    ),
    "upserts": (
        "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED",
        "'op_column' = 'kind of change'",
        f"SELECT word, SUM(id) FROM {WORDS} GROUP BY word",
    ),
    "changes by keys of all types": (
        "price DOUBLE, at TIMESTAMP, tags ARRAY<DOUBLE>, even BOOLEAN, longest STRING",
        "'changes' = 'retract'",
        (
            f"SELECT {PRICE}, at, tags, id % 2 = 0, MAX(word) FROM {WORDS}"
            f" GROUP BY {PRICE}, at, tags, id % 2 = 0"
        ),
    ),
    "changes without a key": (
        "n BIGINT, price DOUBLE",
        "'changes' = 'retract'",
        (
            "SELECT n, price FROM"
            f" (SELECT word, COUNT(*) AS n, MAX({PRICE}) AS price FROM {WORDS} GROUP BY word)"
        ),
    ),
    "several rows of an input row": (
        "id BIGINT, word STRING",
        "'changes' = 'append'",
        f"SELECT id, word FROM {WORDS} WHERE word <> 'w1'",
    ),
    "windows": (
        "ends TIMESTAMP, word STRING, n BIGINT",
        "'changes' = 'append'",
        (
            "SELECT window_end, word, COUNT(*) FROM TUMBLE((SELECT at, word FROM "
            f"{WORDS}), at, INTERVAL '2' SECOND) GROUP BY window_start, window_end, word"
        ),
    ),
    "rows": (
        "id BIGINT, price DOUBLE",
        "'changes' = 'append'",
        "SELECT id, price FROM docs WHERE price > 1.0",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = Random(3)
    lines = []
    for number in range(150):
        at = f"2026-01-01T00:00:{number // 6:02}.{random.choice(['000', '120', '125', '500'])}Z"
        words = " ".join(f"w{random.randrange(12)}" for _ in range(random.randrange(7)))
        price = random.choice([-1.5, -0.0, 0.0, 2.0, 10.0, None])
        tags = random.choice([[], [1.0], [1.0, 2.0], [None], None])
        row = {"at": at, "id": number, "price": price, "text": words, "tags": tags}
        lines.append(json.dumps(row))
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def script(folder: Path, query: str, path: str, shards: int | None) -> Path:
    columns, options, select = QUERIES[query]
    added = "" if shards is None else f", 'shards' = '{shards}'"
    where = f"'connector' = 'file', 'path' = '{path}', {options}{added}"
    text = f"{DOCS}CREATE TABLE out ({columns}) WITH ({where});\nINSERT INTO out {select};\n"
    file = folder / "job.sql"
    file.write_text(text)
    return file


def shards_of(folder: Path, name: str, count: int) -> list[bytes]:
    return [shard_path(folder / name, shard, count).read_bytes() for shard in range(count)]


@pytest.mark.parametrize("query", QUERIES)
def test_shards_merge_to_the_table(folder: Path, query: str) -> None:
    assert fsql("run", "--quiet", script(folder, query, "one.jsonl", None)).code == 0
    expected = (folder / "one.jsonl").read_bytes()
    job = script(folder, query, "out.jsonl", 3)
    assert fsql("run", "--quiet", "--overwrite", job).code == 0
    shards = shards_of(folder, "out.jsonl", 3)
    assert all(shards)
    assert sum(map(len, shards)) > len(expected)
    merged = folder / "merged.jsonl"
    assert fsql("merge", "--quiet", job, "--to", merged).code == 0
    assert merged.read_bytes() == expected
    again = fsql("run", "--quiet", "--overwrite", "--policy", "ordered", "--read-ahead", "9", job)
    assert again.code == 0
    assert shards_of(folder, "out.jsonl", 3) == shards


def test_compressed_shards_merge(folder: Path) -> None:
    assert fsql("run", "--quiet", script(folder, "rows", "one.jsonl", None)).code == 0
    job = script(folder, "rows", "out.jsonl.gz", 2)
    assert fsql("run", "--quiet", job).code == 0
    said = fsql("merge", "--json", job, "--to", "-")
    expected = (folder / "one.jsonl").read_text()
    assert (said.code, said.out) == (0, expected)
    fields = {"rows": expected.count("\n"), "bytes": len(expected), "shards": 2}
    assert json.loads(said.err) == {"event": "merged", **fields}
    assert gzip.decompress(shards_of(folder, "out.jsonl.gz", 2)[0]).startswith(b'{"position":"')


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (b'{"position":"1:2","id":1,"price":null}\n{"position":"3:4","id":1', "line 2 is not complete"),
        (b'{"id":1}\n', "line 1 has no position"),
        (b'{"position":"1:2","id":1,"price":null}\n{"position":"1:1","id":1,"price":null}\n',
         "line 2 has a position below that of the line before"),
        (b'{"position":"1:2","id":1}\n', "line 1 is not a row of the table"),
        (b'{"position":"1:2","id":1,"price":"two"}\n', "line 1 is not a row of the table"),
        (b'{"position":"1:2","id":"x","price":null}\n', "line 1 is not a row of the table"),
        (b'{"position":"1:2",\xff}\n', "line 1 is not a row of the table"),
    ],
)  # fmt: skip
def test_what_is_no_shard_is_refused(folder: Path, bytes_: bytes, reason: str) -> None:
    job = script(folder, "rows", "out.jsonl", 2)
    (folder / "out-0-of-2.jsonl").write_bytes(bytes_)
    (folder / "out-1-of-2.jsonl").write_bytes(b"")
    said = fsql("merge", job, "--to", "-")
    assert said.code == 1
    path = folder / "out-0-of-2.jsonl"
    assert said.err.splitlines()[0] == (
        f'error[FSQL-E544]: "{path}" is not a complete shard of the table: {reason}'
    )


def test_a_missing_shard_is_named(folder: Path) -> None:
    job = script(folder, "rows", "out.jsonl", 2)
    (folder / "out-0-of-2.jsonl").write_bytes(b"")
    said = fsql("merge", job, "--to", "-")
    path = folder / "out-1-of-2.jsonl"
    assert said.code == 1
    assert said.err.splitlines()[0] == (
        f'error[FSQL-E531]: path "{path}" cannot be read: it does not exist'
    )


def test_a_shard_is_not_overwritten_unasked(folder: Path) -> None:
    (folder / "out-1-of-2.jsonl").write_text("mine\n")
    said = fsql("run", "--quiet", script(folder, "rows", "out.jsonl", 2))
    assert said.code == 1
    assert 'out-1-of-2.jsonl" is not empty' in said.err
    assert (folder / "out-1-of-2.jsonl").read_text() == "mine\n"


def released(rows: range) -> Release:
    words = pa.array([None if n % 10 == 0 else f"w{n % 40}" for n in rows], pa.string())
    roots = np.array(rows) // 3
    return Release([words.dictionary_encode(), pa.array(rows)], None, roots, roots * 7)


def numbers_of(release: Release | None) -> list[int]:
    return [] if release is None else release.columns[1].to_pylist()


@pytest.mark.parametrize("columns", [(0,), (0, 1), (), None])
def test_the_shard_of_a_row_depends_on_the_row_alone(columns: tuple[int, ...] | None) -> None:
    whole, pieces = RowSharder(5, columns), RowSharder(5, columns)
    shards = [numbers_of(whole.part(released(range(200)), shard)) for shard in range(5)]
    assert sorted(chain.from_iterable(shards)) == list(range(200))
    assert all(shard == sorted(shard) for shard in shards)
    assert sum(map(bool, shards)) == (1 if columns == () else 5)
    dealt: list[list[int]] = [[] for _ in shards]
    for start in (*range(7), *range(7, 200, 20)):
        piece = released(range(start, start + 1 if start < 7 else min(start + 20, 200)))
        for shard in range(5):
            dealt[shard] += numbers_of(pieces.part(piece, shard))
    assert dealt == shards


COLUMNS: Final = (Column("word", STRING), Column("n", BIGINT))


def batches(changes: Changes) -> list[Batch]:
    """Return rows in no order; of an updating table, with removals and rows that are undone."""
    random = Random(5)
    order = random.sample(range(120), 120)
    made = []
    for start in range(0, 120, 40):
        rows = np.array(order[start : start + 40])
        words = pa.array([f"w{row % 7}" for row in rows.tolist()]).dictionary_encode()
        weight = np.where(rows % 5 == 1, -1, 1) if changes is not Changes.APPEND else None
        made.append(Batch([words, pa.array(rows)], rows // 6, rows // 6, (rows,), weight))
    if changes is not Changes.APPEND:
        undone = made[0]
        made.append(replace(undone, weight=-undone.weights()))
    return made


def written_by(barrier: Barrier, sharding: Sharding, sink: SinkTable) -> list[bytes]:
    sharder, lines = RowSharder(sharding.shards, sharding.shard_key), ShardLines(sink)
    [released] = barrier.advance(END)
    assert isinstance(released, Released)
    parts = [sharder.part(released.release, shard) for shard in range(sharding.shards)]
    return [b"" if part is None else b"".join(lines(Released(0, part))) for part in parts]


@pytest.mark.parametrize("changes", [Changes.APPEND, Changes.RETRACT])
@pytest.mark.parametrize("shard_key", [(0,), None])
def test_workers_encode_the_same_lines(changes: Changes, shard_key: tuple[int, ...] | None) -> None:
    append_only = changes is Changes.APPEND
    key = None if append_only else (0,)
    sink = SinkTable("t", COLUMNS, (), changes, key)
    port = SinkPort(sink, append_only=append_only, may_tie=False, depth=1, consolidated=False)
    sharding = Sharding(3, shard_key, (), removals_first=False)
    encoding = RowEncoding(port, shard_encoder(sink), sharding=sharding)
    plain, encoded = Barrier([port], 0), Barrier([port], 0, encodings={0: encoding})
    to = Address(0, 0, PortKind.SINK)
    for batch in batches(changes):
        plain.accept(Parcel(to, batch, repairs=True))
        for part in encoding.encode(batch):
            encoded.accept(Parcel(to, part, repairs=True))
    shards = written_by(plain, sharding, sink)
    assert all(shards)
    assert written_by(encoded, sharding, sink) == shards
