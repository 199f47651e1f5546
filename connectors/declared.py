"""All connectors, in one tuple for compiler, runtime, checks and documentation.

A connector that reads has a function `open_source` in its module `source`; one that writes has a function
`open_sink` in its module `sink`.  `fsql.connectors.opening` has their signatures.
"""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import Declarations
from fsql.connectors.blackhole.options import CONNECTOR as BLACKHOLE
from fsql.connectors.datagen.options import CONNECTOR as DATAGEN
from fsql.connectors.documents.options import CONNECTOR as DOCUMENTS
from fsql.connectors.file.options import CONNECTOR as FILE
from fsql.connectors.http.options import CONNECTOR as HTTP
from fsql.connectors.kafka.options import CONNECTOR as KAFKA
from fsql.connectors.memory.options import CONNECTOR as MEMORY
from fsql.connectors.nexmark.options import CONNECTOR as NEXMARK
from fsql.connectors.one_row.options import CONNECTOR as ONE_ROW
from fsql.connectors.postgres.options import CONNECTOR as POSTGRES
from fsql.connectors.results.options import CONNECTOR as RESULTS
from fsql.connectors.socket.options import CONNECTOR as SOCKET
from fsql.connectors.stdin.options import CONNECTOR as STDIN
from fsql.connectors.stdout.options import CONNECTOR as STDOUT
from fsql.connectors.tcp.options import CONNECTOR as TCP
from fsql.connectors.words.options import CONNECTOR as WORDS
from fsql.formats.declared import FORMATS

CONNECTORS: Final = (
    FILE,
    STDIN,
    SOCKET,
    HTTP,
    KAFKA,
    POSTGRES,
    STDOUT,
    TCP,
    BLACKHOLE,
    RESULTS,
    DATAGEN,
    DOCUMENTS,
    WORDS,
    NEXMARK,
    MEMORY,
    ONE_ROW,
)

DECLARED: Final = Declarations(CONNECTORS, FORMATS)
