"""The options of connector `http`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    FORMAT,
    READ_CHANGE_OPTIONS,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Effect,
    Layout,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

CONNECTOR: Final = Connector(
    "http",
    "records in requests to an address of this machine; needs `pip install 'fsql[http]'`",
    reads=True,
    writes=False,
    options=(
        Option("address", OptionKind.TEXT, "`127.0.0.1:PORT`", required=True),
        Option("path", OptionKind.TEXT, "path of the requests", default="/"),
        Option(
            "token_file",
            OptionKind.TEXT,
            "file with the token that requests must have; without one every program of this machine may send",
            effect=Effect.PACE,
        ),
        Option(
            "max_request_bytes",
            OptionKind.POSITIVE,
            "longest body of a request that is taken, after decompression",
            default=str(16 << 20),
            greatest=1 << 30,
            effect=Effect.PACE,
        ),
        FORMAT,
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *READ_CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    layouts=(Layout.LINES,),
    logs_arrival=True,
    notes="""\
**From an empty machine to the first row.**

    pip install 'fsql[http]'
    fsql run --state state clicks.sql

with `clicks.sql`:

    CREATE TABLE clicks (page STRING, seconds DOUBLE)
    WITH ('connector' = 'http', 'address' = '127.0.0.1:8080', 'path' = '/clicks');
    SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;

and, from another terminal:

    curl http://127.0.0.1:8080/clicks --data-binary '{"page": "home", "seconds": 1.5}'

**Requests.**  The body of a POST or PUT has records as the lines of a file have them.  With a format of JSON
it may also be one object, or an array of them, over several lines.  It may be compressed
(`Content-Encoding: gzip`).  The answer 200 with `{"lines": 1}` says that the records are taken: in a job that
keeps state they are then on its disk, and survive whatever is killed.  In one that keeps none they are in its
memory.  A malformed record does not refuse a request: it goes where malformed rows of the table go.

| answer | what it means |
|---|---|
| 200 | the records are taken |
| 400 | the body cannot be read as the records of a request: a broken array, or broken compression |
| 401 | the token is missing or wrong: send `Authorization: Bearer TOKEN` |
| 403 | a page in a browser has sent it |
| 404, 405 | another path; another method than POST and PUT |
| 408, 413, 415 | the body came too slowly, is too long, or has an unknown `Content-Encoding` |
| 422 | the `Idempotency-Key` was used with other records |
| 503 | the job does not keep up, or ends: send it again, after `Retry-After` |

**Exactly once.**  A sender that got no answer does not know whether the records were taken, and sends them
again.  With a header `Idempotency-Key` that it has given to these records only, they are taken once; without
one, twice.  The last 10,000 keys are known, also after the job was killed.

Records of one request are consecutive.  Those of concurrent requests come in any order, which is fixed when
they are taken; a job that is started again has the same.  When the disk that the option `log_mib` allows is
full, requests wait, and are then answered by 503.

The address must be one of this machine.  For other machines put a server with TLS in front of it, such as
nginx or Caddy, and use a token.
""",
)
