"""For each code of data and files (E5xx), a script and input that is reported so by `fsql run`."""

from __future__ import annotations

from typing import NamedTuple


class Failing(NamedTuple):
    """What fails: a query of table `t`, its columns and more of its options, its input or no file."""

    query: str
    columns: str
    input: bytes | None
    options: str = ""
    into: str = ""


_GREATEST = b'{"a":9223372036854775807}\n'

FAILING = {
    "E501": Failing("SELECT 1 / a AS x FROM t", "a BIGINT", b'{"a":0}\n'),
    "E502": Failing("SELECT a * a AS x FROM t", "a BIGINT", _GREATEST),
    "E503": Failing("SELECT CAST(s AS BIGINT) AS x FROM t", "s STRING", b'{"s":"x"}\n'),
    "E504": Failing(
        "SELECT at + INTERVAL '3650000' DAY AS x FROM t",
        "at TIMESTAMP",
        b'{"at":"2024-01-01T00:00:00Z"}\n',
    ),
    "E505": Failing("SELECT SUM(a) AS x FROM t", "a BIGINT", _GREATEST * 2),
    "E510": Failing("SELECT MAP[s, 1] AS m FROM t", "s STRING", b'{"s":null}\n'),
    "E511": Failing("SELECT a FROM t", "a BIGINT", b'{"a": 1\n'),
    "E512": Failing("SELECT a FROM t", "a BIGINT", b'{"a": 1, "a": 2}\n'),
    "E513": Failing("SELECT a FROM t", "a BIGINT", b'{"a": "1"}\n'),
    "E514": Failing("SELECT a FROM t", "a BIGINT", b'{"a": 9223372036854775808}\n'),
    "E515": Failing("SELECT s FROM t", "s STRING", b'{"s": "\xff"}\n'),
    "E516": Failing("SELECT a FROM t", "a BIGINT", b'{"a":1,"b":' + b"[" * 65 + b"]" * 65 + b"}\n"),
    "E517": Failing(
        "SELECT s FROM t", "s STRING", b'{"s": "abcdefgh"}\n', ", 'max_record_bytes' = '10'"
    ),
    "E519": Failing("SELECT a FROM t", "a BIGINT", b"[1, 2]\n"),
    "E520": Failing("SELECT at FROM t", "at TIMESTAMP", b'{"at": "2024-02-30T00:00:00Z"}\n'),
    "E521": Failing("SELECT a FROM t", "a BIGINT NOT NULL", b"{}\n"),
    "E523": Failing(
        "SELECT a FROM t", "a BIGINT, b STRING", b"1\n", ", 'format' = 'csv', 'header' = 'false'"
    ),
    "E524": Failing(
        "SELECT k FROM t",
        "k BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        b'{"op":"delete","k":1}\n',
        ", 'changes' = 'upsert'",
    ),
    "E526": Failing(
        "SELECT k FROM t", "k BIGINT", b'{"op":"-D","k":1}\n', ", 'changes' = 'retract'"
    ),
    "E527": Failing(
        "SELECT k FROM t",
        "k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
        b'{"after":{"k":1,"v":"__debezium_unavailable_value"},"op":"u"}\n',
        ", 'format' = 'debezium-json'",
    ),
    "E528": Failing(
        "SELECT k FROM t",
        "k BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        b'{"before":null,"after":null,"op":"t"}\n',
        ", 'format' = 'debezium-json'",
    ),
    "E531": Failing("SELECT a FROM t", "a BIGINT", None),
    "E532": Failing("SELECT a FROM t", "a BIGINT", b"{}\n", into="missing/out.jsonl"),
    "E534": Failing("SELECT a FROM t", "a BIGINT", b"{}\n", ", 'max_record_bytes' = '1000000000'"),
    "E543": Failing("SELECT b FROM t", "b BIGINT", b"a,c\n", ", 'format' = 'csv'"),
    "E535": Failing("SELECT a FROM t", "a BIGINT", b"{}\n", into="/dev/full"),
}


def script(failing: Failing) -> str:
    """Return the script."""
    table = (
        f"CREATE TABLE t ({failing.columns})"
        f" WITH ('connector' = 'file', 'path' = 't.jsonl'{failing.options});\n"
    )
    if not failing.into:
        return f"{table}{failing.query};\n"
    sink = (
        "CREATE TABLE out (a BIGINT)"
        f" WITH ('connector' = 'file', 'path' = '{failing.into}');\nINSERT INTO out "
    )
    return f"{table}{sink}{failing.query};\n"
