"""Diagrams: the last events as lines of text, or as a Mermaid sequence diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.simulation.trace import TraceEvent


def text_of(events: Sequence[TraceEvent]) -> str:
    """Return a line for each event: time, place, description.  Faults are marked."""
    width = max((len(_way(each)) for each in events), default=0)
    return "\n".join(
        f"{each.time_us / 1e6:12.6f} {'!' if each.fault else ' '} {_way(each):{width}}  {each.what}"
        for each in events
    )


def mermaid_of(events: Sequence[TraceEvent]) -> str:
    """Return a sequence diagram with one lifeline for each place."""
    places = dict.fromkeys(place for each in events for place in (each.place, each.to) if place)
    lines = ["sequenceDiagram"]
    lines += [f"    participant {_name(place)} as {place}" for place in sorted(places)]
    for each in events:
        what = f"{each.time_us / 1e6:.6f} {each.what}".replace(";", ",").replace("#", "")
        if each.to:
            arrow = "--x" if each.fault else "->>"
            lines.append(f"    {_name(each.place)}{arrow}{_name(each.to)}: {what}")
        else:
            lines.append(f"    Note over {_name(each.place)}: {'! ' if each.fault else ''}{what}")
    return "\n".join(lines)


def _way(each: TraceEvent) -> str:
    return f"{each.place} -> {each.to}" if each.to else each.place


def _name(place: str) -> str:
    return place.replace(" ", "_")
