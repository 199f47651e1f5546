"""A directory of whole files: the rules of consumers, and kills at every moment."""

from __future__ import annotations

import errno
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import fastavro
import pyarrow.parquet as pq
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.file.part_files import PartFiles
from fsql.formats.avro.parts import AvroParts
from fsql.formats.json.encoder import encode
from fsql.formats.parquet.parts import ParquetParts
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import END, START
from fsql.runtime.cluster.delivery.delivery import Bundle
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.sink import SinkLostError
from fsql.tests.conformance import sinks
from fsql.tests.conformance.failing_files import CountedFiles, FullDisk
from fsql.tests.conformance.test_sinks import deliver_until_killed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from fsql.connectors.file.file_layer import FileLayer
    from fsql.tests.conformance.sinks import Subject

TABLE = SinkTable("out", (Column("n", BIGINT), Column("s", STRING)), (), Changes.APPEND, None)


class PartsSubject:
    durable = True

    def __init__(self, folder: Path, rows_per_file: int = 1, form: str = "parquet") -> None:
        self.path = folder / "out"
        self.journal = folder / "positions" / "0"
        self.journal.parent.mkdir()
        self.parts: AvroParts | ParquetParts
        if form == "avro":
            self.parts = AvroParts(TABLE, rows_per_file, "deflate")
        else:
            self.parts = ParquetParts(TABLE, rows_per_file, "zstd")

    def restarted(self, files: FileLayer | None = None) -> PartFiles:
        return PartFiles(self.path, self.parts, self.journal, files=files)

    def files(self) -> list[bytes]:
        """Return what each file holds, as lines, in the order of the files' names."""
        paths = sorted(self.path.glob("part-*")) if self.path.exists() else []
        return [encode(columns_of(path), ["n", "s"], [BIGINT, STRING]) for path in paths]

    def stored(self) -> bytes:
        return b"".join(self.files())


def columns_of(path: Path) -> list[pa.Array]:
    if path.suffix == ".parquet":
        table = pq.read_table(path, use_threads=False)
        return [column.combine_chunks() for column in table.columns]
    with path.open("rb") as file:
        rows = [*fastavro.reader(file)]
    return [
        to_arrow([row["n"] for row in rows], BIGINT),
        to_arrow([row["s"] for row in rows], STRING),
    ]


@pytest.mark.parametrize("check", sinks.CHECKS, ids=lambda check: check.__name__)
def test_part_files_keep_the_rules(check: Callable[[Subject], None], tmp_path: Path) -> None:
    check(PartsSubject(tmp_path))


def test_files_have_so_many_rows_each_and_the_last_the_rest(tmp_path: Path) -> None:
    subject = PartsSubject(tmp_path, 64)
    with closing(subject.restarted()) as last:
        sinks.run_to_end(last, 1)
    bounds = [(0, 64), (64, 128), (128, 192), (192, 200)]
    assert subject.files() == [sinks.expected(*each) for each in bounds]
    assert [path.name for path in subject.journal.parent.iterdir()] == ["0.1.3.rows"]


@pytest.mark.parametrize(
    ("rows_per_file", "form"), [(17, "parquet"), (150, "parquet"), (150, "avro")]
)
def test_whenever_the_process_is_killed_rows_come_once(
    rows_per_file: int, form: str, tmp_path: Path
) -> None:
    random = Random(3)
    counted = CountedFiles(0, random)
    (tmp_path / "all").mkdir()
    deliver_until_killed(
        PartsSubject(tmp_path / "all", rows_per_file, form).restarted(counted), 1, seed=3
    )
    assert counted.operations > 20
    steps = {(17, "parquet"): 6, (150, "parquet"): 3, (150, "avro"): 5}
    for moment in range(1, counted.operations + 1, steps[rows_per_file, form]):
        folder = tmp_path / str(moment)
        folder.mkdir()
        subject = PartsSubject(folder, rows_per_file, form)
        have = deliver_until_killed(subject.restarted(CountedFiles(moment, random)), 1, seed=3)
        before = subject.files()
        assert sinks.expected().startswith(b"".join(before))
        again = CountedFiles(random.randrange(1, 30), random)
        have = deliver_until_killed(subject.restarted(again), 2, random.randrange(9), have)
        assert subject.files()[: len(before)] == before, "a reader saw a file that changed"
        assert sinks.position_of(subject, sinks.opening(3)) >= have
        with closing(subject.restarted()) as last:
            sinks.run_to_end(last, 4)
        assert subject.stored() == sinks.expected()


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    for moment in (1, 3, 5, 9, 14, 20):
        (tmp_path / str(moment)).mkdir()
        subject = PartsSubject(tmp_path / str(moment), 20)
        files = FullDisk(moment, Random(moment))
        consumer = subject.restarted(files)
        with pytest.raises(SinkLostError, match="No space left"):
            sinks.run_to_end(consumer, 1)
        with pytest.raises(SinkLostError):
            consumer.deliver(sinks.bundle(0, 3))
        files.full = False
        sinks.run_to_end(consumer, 2)
        assert subject.stored() == sinks.expected()


def test_another_error_of_the_disk_ends_the_job(tmp_path: Path) -> None:
    class Broken(CountedFiles):
        def fail(self) -> None:
            raise OSError(errno.EIO, "Input/output error")

    consumer = PartsSubject(tmp_path, 20).restarted(Broken(4, Random(1)))
    with pytest.raises(FsqlError, match="E535"):
        sinks.run_to_end(consumer, 1)


def test_an_epoch_that_is_over_is_not_heard(tmp_path: Path) -> None:
    subject = PartsSubject(tmp_path, 4)
    zombie, later = subject.restarted(), subject.restarted()
    zombie.open(sinks.opening(1))
    zombie.deliver(sinks.bundle(0, 6))
    sinks.run_to_end(later, 2)
    with pytest.raises(SinkLostError, match="later epoch"):
        zombie.deliver(sinks.bundle(6, 12))
    with pytest.raises(SinkLostError, match="epoch 2 has begun"):
        subject.restarted().open(sinks.opening(1))
    assert subject.stored() == sinks.expected()
    assert sinks.position_of(subject, sinks.opening(3)) == END


def test_what_was_lost_and_what_is_of_another_is_noticed(tmp_path: Path) -> None:
    subject = PartsSubject(tmp_path, 4)
    sinks.position_of(subject, sinks.opening(1))
    with pytest.raises(FsqlError, match="E537"):
        sinks.position_of(subject, sinks.opening(2)._replace(owner="another"))
    for path in subject.journal.parent.iterdir():
        path.unlink()
    with pytest.raises(FsqlError, match="E537"):
        sinks.position_of(subject, sinks.opening(3, sinks.bundle(0, 6).ends))


def test_a_run_without_state_begins_anew_or_adds_files(tmp_path: Path) -> None:
    directory = tmp_path / "out"
    subject = PartsSubject(tmp_path)
    for append, stop in ((False, 9), (False, 6), (True, 6)):
        consumer = PartFiles(directory, ParquetParts(TABLE, 4, "none"), None, append=append)
        consumer.open(sinks.opening(0, START, DeliveryOption.NONE))
        consumer.deliver(sinks.bundle(0, stop))
        consumer.close()
    assert subject.files() == 2 * [sinks.expected(0, 4), sinks.expected(4, 6)]


def test_a_result_without_rows_is_a_file_without_rows(tmp_path: Path) -> None:
    subject = PartsSubject(tmp_path)
    consumer = subject.restarted()
    consumer.open(sinks.opening(1))
    consumer.deliver(Bundle(START, END, 0, last=True, contents=None))
    consumer.close()
    assert pq.read_table(subject.path / "part-00000000.parquet").num_rows == 0
