"""All formats, in one tuple for compiler, connectors and documentation.

A format of lines has `make_decoder` in its module `decoder` and `make_encoder` in `encoder`, a format of
whole files `make_split` in `split` and `make_parts` in `parts`; `fsql.formats.factories` has both.
"""

from __future__ import annotations

from typing import Final

from fsql.formats.avro.options import FORMAT as AVRO
from fsql.formats.csv.options import FORMAT as CSV
from fsql.formats.debezium_json.options import FORMAT as DEBEZIUM_JSON
from fsql.formats.json.options import FORMAT as JSON
from fsql.formats.parquet.options import FORMAT as PARQUET
from fsql.formats.text.options import FORMAT as TEXT

FORMATS: Final = (JSON, TEXT, CSV, PARQUET, AVRO, DEBEZIUM_JSON)
