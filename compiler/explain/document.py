"""JSON for display and for programs: two spaces per level, fields in the given order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = Mapping[str, Json]


def json_text(document: JsonObject) -> str:
    """Return the document as text."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
