"""The option with which a malformed record can be read, or what to do where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.formats.forms import encoding_help, guessed_encoding
from fsql.formats.json.options import RECORDS
from fsql.formats.json.shapes import arrays_of_objects, begins_document, path_text
from fsql.formats.malformed import NOT_AN_OBJECT, NOT_JSON, NOT_UTF8, TOO_LONG

if TYPE_CHECKING:
    from fsql.formats.settings import Settings
    from fsql.runtime.ports import DeadLetter


_WITHOUT_OPTION: Final = {
    NOT_UTF8: ("encoding", "convert the data to UTF-8"),
    NOT_AN_OBJECT: (RECORDS, "change the producer to write objects"),
}
"""What to do about a code if the table cannot have the option that its general remedy names."""


def without_option(code: int, settings: Settings) -> str | None:
    """Return what to do about records that no option of the table makes readable; None if one might."""
    key, remedy = _WITHOUT_OPTION.get(code, ("", ""))
    taken = settings.connector.option(key) is not None
    if key == RECORDS:
        taken = taken and settings.text("format") == "json"
    return remedy if key and not taken else None


def option_for(  # noqa: PLR0911 - one for each remedy
    start: bytes, dead_letter: DeadLetter, settings: Settings
) -> str | None:
    """Return what to add to the table; None if no option is known to help.

    `start` are bytes of the file from the beginning of the record on.
    """
    malformed = dead_letter.code == NOT_UTF8
    if settings.text("encoding") == "cp1252" and malformed:
        return "write 'encoding' = 'latin-1', of which all bytes are"
    if not settings.gives("encoding"):
        line = start.partition(b"\n")[0]
        encoding = guessed_encoding(line, at_start=dead_letter.byte == 0)
        if encoding is None and malformed:  # the record has several lines
            encoding = guessed_encoding(start, at_start=False, whole=False)
        if encoding is not None:
            return encoding_help(encoding)
    if settings.connector.option(RECORDS) is None:
        return None
    arrays = arrays_of_objects(start)
    if settings.gives(RECORDS):
        other = dead_letter.code == NOT_JSON and arrays
        return f"write '{RECORDS}' = '{path_text((arrays[0],))}'" if other else None
    if dead_letter.code == NOT_JSON and begins_document(start, whole=False):
        return f"add '{RECORDS}' = '$', because the object takes several lines"
    if dead_letter.code == TOO_LONG and arrays:
        path = path_text((arrays[0],))
        return f"add '{RECORDS}' = '{path}', and declare the columns of the rows in that array"
    return None
