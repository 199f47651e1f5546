"""The consumers of a job's outputs write what a run that keeps no state writes, to the byte."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script_file import read_script
from fsql.job.sinks import ConsumedOutput, job_consumers
from fsql.job.sources import open_splits
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.delivery.delivery import Delivery
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.sink import OpenRequest
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fsql.job.compilation import Compiled
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.dataflow.barrier import DeadLetters, LateRows, Released

SCRIPT = """\
CREATE TABLE events (at TIMESTAMP, n BIGINT, WATERMARK FOR at AS at - INTERVAL '1' SECOND) WITH (
    'connector' = 'file', 'path' = 'events', 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'
);
CREATE TABLE sums (size STRING, ends TIMESTAMP, total BIGINT) WITH (
    'connector' = 'file', 'path' = 'sums.jsonl', 'late_path' = 'late.jsonl'
);
CREATE TABLE counts (n BIGINT, count BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH (
    'connector' = 'file', 'path' = 'counts.jsonl', 'changes' = 'retract', 'delivery' = 'at-least-once'
);
INSERT INTO sums
SELECT 'short', window_end, SUM(n) FROM TUMBLE(events, at, INTERVAL '2' SECOND)
GROUP BY window_start, window_end
UNION ALL
SELECT 'long', window_end, SUM(n) FROM TUMBLE(events, at, INTERVAL '10' SECOND)
GROUP BY window_start, window_end;
INSERT INTO counts SELECT n, COUNT(*) FROM events GROUP BY n;
"""
FILES = ("sums.jsonl", "late.jsonl", "rejects.jsonl", "counts.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = Random(4)
    (tmp_path / "job.sql").write_text(SCRIPT)
    (tmp_path / "events").mkdir()
    for name in ("a", "b"):
        lines = []
        for n in range(300):
            at = n // 10 + random.randrange(12)
            lines.append(
                random.choice(['{"n":"x"}', f'{{"n":{n % 7}}}'])
                if random.random() < 0.05
                else f'{{"at":"2024-01-01T00:00:{at:02d}Z","n":{n % 7}}}'
            )
        (tmp_path / "events" / name).write_text("\n".join(lines))
    return tmp_path


@dataclass
class Delivered:
    """The deliveries of a job, all to consumers that are in one epoch."""

    outputs: list[ConsumedOutput]
    epoch: int
    deliveries: list[Delivery] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in self.outputs:
            option = each.output.option
            opened = each.consumer.open(OpenRequest(self.epoch, START, option, "job"))
            self.deliveries.append(Delivery(option, opened.position, opened.window, rows_max=7))

    def take(self, contents: Released | LateRows | DeadLetters) -> None:
        for each, delivery in zip(self.outputs, self.deliveries, strict=True):
            share = each.output.share(contents)
            if share is not None:
                delivery.take(share)

    def advance(self, bound: Root) -> None:
        for each, delivery in zip(self.outputs, self.deliveries, strict=True):
            self._send(each, delivery, delivery.advance(bound))

    def close(self) -> None:
        for each in self.outputs:
            each.consumer.close()

    def _send(self, each: ConsumedOutput, delivery: Delivery, bundles: Iterable[Bundle]) -> None:
        for bundle in bundles:
            each.consumer.deliver(bundle)
        for position in each.consumer.take_acknowledged():
            self._send(each, delivery, delivery.acknowledge(position))


def deliver(job: Compiled, folder: Path, epoch: int) -> list[ConsumedOutput]:
    splits = open_splits(job)
    positions = folder / "positions"
    positions.mkdir(exist_ok=True)
    outputs = job_consumers(job, splits, positions)
    delivered = Delivered(outputs, epoch)

    LocalRun(choose_plan(job, splits, RunOptions()), Edges(splits, delivered)).run()
    delivered.advance(END)
    assert [delivery.complete_below for delivery in delivered.deliveries] == [END] * len(outputs)
    delivered.close()
    return outputs


@pytest.mark.slow
def test_consumers_write_what_a_run_writes(folder: Path) -> None:
    assert fsql("run", "--quiet", folder / "job.sql").code == 0
    expected = {name: (folder / name).read_bytes() for name in FILES}
    assert all(expected.values())
    job = compile_job(read_script(str(folder / "job.sql"), {}))
    outputs = deliver(job, folder, epoch=1)
    assert {name: (folder / name).read_bytes() for name in FILES} == expected
    assert [each.output.option for each in outputs] == [
        DeliveryOption.EXACTLY_ONCE,
        DeliveryOption.AT_LEAST_ONCE,
        DeliveryOption.EXACTLY_ONCE,
        DeliveryOption.EXACTLY_ONCE,
    ]
    deliver(job, folder, epoch=2)
    again = expected | {"counts.jsonl": 2 * expected["counts.jsonl"]}
    assert {name: (folder / name).read_bytes() for name in FILES} == again
