"""`fsql top` on a terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.containers import VerticalScroll
from textual.coordinate import Coordinate
from textual.widgets import DataTable, Footer, Static

from fsql.compiler.diagnostics import FsqlError
from fsql.console.top.page import JOB_TITLES, details, job_cells

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from fsql.console.top.sample import Sample, Sampler


class TopApp(App[None]):
    """The jobs, and below them the details of the selected one."""

    CSS = """
    #jobs { height: auto; max-height: 40%; }
    #details { padding: 1 1 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "Quit"),
        ("p", "pause", "Pause"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, sampler: Sampler, name: str | None, every: float) -> None:
        """Show the samples that `sampler` takes every `every` seconds; `name` is selected initially."""
        super().__init__()
        self._sampler = sampler
        self._name = name
        self._every = every
        self._paused = False
        self._sampling = asyncio.Lock()
        self._names: list[str] = []

    def compose(self) -> ComposeResult:
        """Lay out the widgets."""
        yield DataTable(id="jobs", cursor_type="row", zebra_stripes=True)
        with VerticalScroll():
            yield Static(id="details")
        yield Footer()

    async def on_mount(self) -> None:
        """Show the first sample, and begin to take more."""
        self._jobs.add_columns(*JOB_TITLES)
        await self._update()
        self.set_interval(self._every, self._update)

    async def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show another job."""
        if event.cursor_row < len(self._names) and self._names[event.cursor_row] != self._name:
            self._name = self._names[event.cursor_row]
            await self._update(even_if_paused=True)

    def action_pause(self) -> None:
        """Pause or resume taking samples."""
        self._paused = not self._paused
        self.notify("paused" if self._paused else "going on", timeout=1)

    @property
    def _jobs(self) -> DataTable[str]:
        return self.query_one("#jobs", DataTable)

    async def _update(self, *, even_if_paused: bool = False) -> None:
        if self._paused and not even_if_paused:
            return
        name = self._name
        async with self._sampling:
            sample = await asyncio.to_thread(self._take, name)
        if self._name == name:  # Otherwise another job was selected meanwhile.
            self._show_jobs(sample)
            self.query_one("#details", Static).update(details(sample))

    def _take(self, name: str | None) -> Sample:
        try:
            return self._sampler.take(name)
        except FsqlError:  # The job was dropped or renamed.
            return self._sampler.take()

    def _show_jobs(self, sample: Sample) -> None:
        names = [job.deployment.name for job in sample.jobs]
        if names != self._names:
            self._names = names
            self._jobs.clear()
            for job in sample.jobs:
                self._jobs.add_row(*job_cells(sample, job), key=job.deployment.name)
        else:
            for row, job in enumerate(sample.jobs):
                for column, cell in enumerate(job_cells(sample, job)):
                    self._jobs.update_cell_at(Coordinate(row, column), cell, update_width=True)
        if sample.chosen is not None:
            self._name = sample.chosen.deployment.name
            self._jobs.move_cursor(row=names.index(self._name))
