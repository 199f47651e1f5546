"""The file of `fsql run --explain`: checked before the run, written after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.console.written_file import check_folder, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.job.compilation import Compiled
    from fsql.job.run import Run


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """The file for the plan with the rows of its operators; None if it is not asked for."""

    file: Path | None

    def check(self, result: Compiled) -> None:
        """Check that the file can be made, and is neither the script nor a file of one of its tables.

        Raises:
            FsqlError: E532, if it is one of them; E535, if its folder does not exist.
        """
        if self.file is not None:
            from fsql.job.explain_stage import check_output

            check_folder(self.file)
            check_output(result, str(self.file))

    def write(self, result: Compiled, run: Run) -> None:
        """Write the file.

        Raises:
            FsqlError: E535, if it cannot be written.
        """
        if self.file is not None:
            from fsql.job.explain_run import explain_run
            from fsql.runtime.drivers.local import LocalRun

            assert isinstance(run, LocalRun)
            write_text(self.file, explain_run(result, run.rows_passed, self.file.suffix))
