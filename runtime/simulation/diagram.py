"""Diagrams: the last events as lines of text, or as a Mermaid sequence diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.simulation.trace import TraceEvent


def text_of(events: Sequence[TraceEvent]) -> str:
    """Return a line for each event: time, process, description.  Faults are marked."""
    width = max((len(_route(each)) for each in events), default=0)
    return "\n".join(
        f"{each.time_us / 1e6:12.6f} {'!' if each.fault else ' '} {_route(each):{width}}  {each.what}"
        for each in events
    )


def mermaid_of(events: Sequence[TraceEvent]) -> str:
    """Return a sequence diagram with one lifeline for each process."""
    processes = dict.fromkeys(
        process for each in events for process in (each.process, each.to) if process
    )
    lines = ["sequenceDiagram"]
    lines += [f"    participant {_name(process)} as {process}" for process in sorted(processes)]
    for each in events:
        what = f"{each.time_us / 1e6:.6f} {each.what}".replace(";", ",").replace("#", "")
        if each.to:
            arrow = "--x" if each.fault else "->>"
            lines.append(f"    {_name(each.process)}{arrow}{_name(each.to)}: {what}")
        else:
            lines.append(f"    Note over {_name(each.process)}: {'! ' if each.fault else ''}{what}")
    return "\n".join(lines)


def _route(each: TraceEvent) -> str:
    return f"{each.process} -> {each.to}" if each.to else each.process


def _name(process: str) -> str:
    return process.replace(" ", "_")
