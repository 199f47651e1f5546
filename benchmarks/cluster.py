"""Throughput and latency on several processes, compared with other programs in the same run."""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.job_process import RUNNING, JobProcess
from fsql.benchmarks.measure import SCRIPTS, measure_file
from fsql.benchmarks.paced import QUANTILES, Paced, run_paced
from fsql.benchmarks.snapshot_times import SnapshotTimes
from fsql.job.compilation import compile_job
from fsql.job.script_file import read_script
from fsql.job.shard_merge import merge_shards, shard_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.benchmarks.measure import Benchmark

_NONE: Final = "none"
_LATENCIES: Final = tuple(f"latency_ms_p{q}" for q in QUANTILES)


@dataclass(frozen=True, slots=True)
class Promise:
    """The delivery guarantee of the output, and the interval of snapshots."""

    delivery: str
    snapshots_ms: Sequence[int]


def latencies(
    rate: int, seconds: float, workers: int, promise: Promise
) -> Iterator[dict[str, Any]]:
    """Yield the latency without any promise, then with it, for each time between snapshots.

    `ratio` is the median divided by that without a promise.
    """
    plain = run_paced(Paced(rate, seconds, workers, _NONE)).fields()
    yield {"benchmark": "inverted_index", **plain, "ratio": 1.0}
    if promise.delivery == _NONE:
        return
    for snapshot_ms in promise.snapshots_ms:
        fields = run_paced(Paced(rate, seconds, workers, promise.delivery, snapshot_ms)).fields()
        ratio = round(fields["latency_ms_p50"] / plain["latency_ms_p50"], 3)
        yield {"benchmark": "inverted_index", **fields, "ratio": ratio}


def throughputs(
    benchmark: Benchmark,
    rows: int | None,
    workers: int,
    promise: Promise,
    shards: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the throughput of one process, then of several with the promise, file to file or to shards.

    The clock of a cluster runs from its phase `running` to `finished`: starting processes is left out, as it
    is for the one process.  `ratio` is words a second divided by those of the one process, and
    `longest_without_snapshot` the most seconds in which no snapshot was written.
    """
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        folder = Path(directory)
        text = folder / "input.txt"
        words = benchmark.write(text, rows or benchmark.rows)
        local = measure_file(benchmark, text, words)
        expected = (folder / "output.jsonl").read_bytes()
        yield {
            "benchmark": benchmark.name,
            "workers": 1,
            "shards": None,
            "delivery": _NONE,
            "snapshot_ms": None,
            "seconds": round(local.seconds, 3),
            "words_per_second": round(local.words_per_second),
            **dict.fromkeys(_LATENCIES),
            "peak_bytes": local.peak_bytes,
            "snapshots": 0,
            "longest_without_snapshot": None,
            "recoveries": 0,
            "ratio": 1.0,
        }
        for snapshot_ms in promise.snapshots_ms:
            path = folder / f"output-{snapshot_ms}.jsonl"
            option = "" if shards is None else f" 'shards' = '{shards}',"
            values = {
                "input": str(text),
                "sink": "file",
                "sink_path": f"'path' = '{path}',{option}",
            }
            flags = ("--delivery", promise.delivery, "--snapshot-ms", str(snapshot_ms))
            state = folder / f"state-{snapshot_ms}"
            script = SCRIPTS / f"{benchmark.name}.sql"
            run = JobProcess(script, values, workers, *flags, state=state)
            with SnapshotTimes(state) as times, run as job:
                job.wait()
            seconds = job.seconds()
            yield {
                "benchmark": benchmark.name,
                "workers": workers,
                "shards": shards,
                "delivery": promise.delivery,
                "snapshot_ms": snapshot_ms,
                **_fields(job, times, words),
                "ratio": round(local.seconds / seconds, 3),
                "cpu_seconds": job.seconds_by_process(),
                "same_bytes": _read_output(script, values, path, shards) == expected,
            }


def _fields(job: JobProcess, times: SnapshotTimes, words: int) -> dict[str, Any]:
    """Return what was measured of a job."""
    seconds = job.seconds()
    begin = job.phase_at(RUNNING)
    return {
        "seconds": round(seconds, 3),
        "words_per_second": round(words / seconds),
        **dict.fromkeys(_LATENCIES),
        "peak_bytes": job.peak_bytes,
        "snapshots": job.summary()["snapshots"],
        "longest_without_snapshot": round(times.longest_without(begin, begin + seconds), 3),
        "recoveries": job.summary()["recoveries"],
    }


def _read_output(script: Path, values: Mapping[str, str], path: Path, shards: int | None) -> bytes:
    """Return what a run has written, in the total order."""
    if shards is None:
        return path.read_bytes()
    [insert] = compile_job(read_script(str(script), values)).job.inserts
    merged = io.BytesIO()
    merge_shards(insert, shard_paths(insert, script.parent), merged)
    return merged.getvalue()
