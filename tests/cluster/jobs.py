"""Jobs for real processes: a script and its input as files, run in this process to say what is right."""

from __future__ import annotations

import io
import shutil
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.job.compilation import Compiled, compile_job
from fsql.job.description import JobDescription, plan_digest, split_names
from fsql.job.planning import RunOptions
from fsql.job.run import open_run
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.job.script import Script
    from fsql.runtime.dataflow.barrier import Stopped

STDOUT = "stdout"


@dataclass(frozen=True)
class Written:
    """What a run has written: the bytes of each file, standard output among them, and where it stopped."""

    files: dict[str, bytes]
    stopped: Stopped | None


@dataclass(frozen=True)
class Job:
    """A script in a directory, with its input there, all of whose output goes to that directory too."""

    script: Script
    compiled: Compiled
    directory: Path

    @classmethod
    def of(cls, path: Path, functions: tuple[Path, ...] = ()) -> Job:
        """Return the job of a script; `functions` are the folders of those in Python."""
        script = replace(read_script(str(path), {}), functions=functions)
        return cls(script, compile_job(script), path.parent)

    def description(
        self,
        workers: int,
        *,
        chunk_rows: int = 4,
        read_ahead_rows: int = 16,
        snapshot_every: float | None = 0.02,
        delivery: str | None = None,
    ) -> JobDescription:
        """Return the job's description: small chunks, so that a run has a middle."""
        script = self.script
        return JobDescription(
            job="tested",
            script_name=script.source.name,
            script_text=script.source.text,
            script_path=str(script.path),
            parameters={},
            base_directory=str(script.base_directory),
            state=str(self.directory / "state"),
            plan=plan_digest(self.compiled),
            splits=split_names(open_splits(self.compiled)),
            workers=workers,
            policy=None,
            read_ahead_rows=read_ahead_rows,
            chunk_rows=chunk_rows,
            snapshot_every=snapshot_every,
            delivery=delivery,
            functions=tuple(map(str, script.functions)),
        )

    def written(self, stopped: Stopped | None) -> Written:
        """Take away what a run has written, and return it."""
        files = {}
        for path in sorted(self.directory.iterdir()):
            if path.is_file() and path != self.script.path:
                files[path.name] = path.read_bytes()
                path.unlink()
        return Written(files, stopped)

    def forget_state(self) -> None:
        """Have the next run begin anew."""
        shutil.rmtree(self.directory / "state")

    def written_here(self) -> Written:
        """Run the job in this process; return what it writes: the oracle of all other runs."""
        before = sys.stdout
        with (self.directory / STDOUT).open("wb") as file:
            text = io.TextIOWrapper(file)
            with redirect_stdout(text):
                splits = open_splits(self.compiled)
                with open_run(self.compiled, splits, RunOptions()) as run:
                    run.run(lambda _: None)
            assert sys.stdout is before
            text.detach()
        return self.written(run.stopped)
