"""All formats: compiler, connectors and documentation know them from here.

A format of lines has a function `make_decoder` in its module `decoder` and `make_encoder` in `encoder`;
`fsql.formats.making` says what they are given.
"""

from __future__ import annotations

from typing import Final

from fsql.formats.csv.options import FORMAT as CSV
from fsql.formats.json.options import FORMAT as JSON
from fsql.formats.text.options import FORMAT as TEXT

FORMATS: Final = (JSON, TEXT, CSV)
