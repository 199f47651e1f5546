"""Numbers for display: `1,234,567`, `312,400/s`, `1.5 MiB`, `12 ms`."""

from __future__ import annotations


def count_text(count: float) -> str:
    """Return a count with thousands separators.

    >>> count_text(1234567)
    '1,234,567'
    """
    return f"{count:,.0f}"


def counted_text(count: float, noun: str) -> str:
    """Return a count with what is counted.

    >>> counted_text(1, "row"), counted_text(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"


def rate_text(count: float, seconds: float) -> str:
    """Return the rate per second; nothing if no time has passed.

    >>> rate_text(1000, 0.5), rate_text(3, 2), rate_text(3, 0)
    ('2,000/s', '1.5/s', '')
    """
    if seconds <= 0:
        return ""
    rate = count / seconds
    return f"{rate:,.0f}/s" if rate >= 10 or rate == 0 else f"{rate:,.1f}/s"


def bytes_text(count: float) -> str:
    """Return a number of bytes in the greatest unit that does not exceed it.

    >>> bytes_text(512), bytes_text(1536), bytes_text(5 << 30)
    ('512 B', '1.5 KiB', '5.0 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"


def seconds_text(seconds: float) -> str:
    """Return a duration in the most suitable unit.

    >>> seconds_text(0.0004), seconds_text(0.25), seconds_text(12.34), seconds_text(3725)
    ('0 ms', '250 ms', '12.3 s', '1:02:05')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
