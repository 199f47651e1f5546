"""Files that are not lines of UTF-8, known by their first bytes, none of which begins a text in UTF-8."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import Final

_OTHER_FORMS: Final = {
    BOM_UTF16_LE: "UTF-16, not UTF-8",
    BOM_UTF16_BE: "UTF-16, not UTF-8",
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
}


def other_form(start: bytes) -> str | None:
    """Return what a file is that begins with these bytes; None if it may be lines of UTF-8.

    >>> other_form("a".encode("utf-16"))
    'UTF-16, not UTF-8'
    """
    return next((form for first, form in _OTHER_FORMS.items() if start.startswith(first)), None)
