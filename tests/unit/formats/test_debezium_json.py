"""Change events of Debezium: what is read of them, and what is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT: Final = """
    CREATE TABLE u (k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH (
        'connector' = 'file', 'path' = 'u', 'format' = 'debezium-json',
        'on_error' = 'reject', 'rejects_path' = 'rejects'
    );
    CREATE TABLE o (v STRING, n BIGINT, PRIMARY KEY (v) NOT ENFORCED)
        WITH ('connector' = 'file', 'path' = 'o', 'format' = 'debezium-json', 'changes' = '${changes}');
    INSERT INTO o SELECT v, COUNT(*) FROM u GROUP BY v;
"""
EVENTS: Final = (
    '{"before":null,"after":{"k":1,"v":"é"},"op":"c","source":{"op":"c","after":1}}',
    '{"schema":{"fields":["before","after"]},"payload":{"after":{"k":2,"v":"é"},"op":"r"}}',
    '{"before":{"k":2},"after":{"k":2,"v":"b"},"op":"u"}',
    '{"before":{"k":1},"op":"d"}',
)
MALFORMED: Final = (
    ("nothing", "FSQL-E511", ""),
    ("null", "FSQL-E519", ""),
    ('{"after":{"k":1}}', "FSQL-E524", "op"),
    ('{"after":{"k":1},"op":"t"}', "FSQL-E524", "op"),
    ('{"after":{"k":1},"op":5}', "FSQL-E513", "op"),
    ('{"after":{"k":1},"op":"d"}', "FSQL-E521", "before"),
    ('{"after":null,"op":"u"}', "FSQL-E521", "after"),
    ('{"after":[1],"op":"u"}', "FSQL-E519", ""),
    ('{"after":{"k":"1"},"op":"u"}', "FSQL-E513", "k"),
    ('{"after":{"k":1,"k":2},"op":"u"}', "FSQL-E512", "k"),
    ('{"after":{"v":"x"},"op":"u"}', "FSQL-E521", "k"),
    ('{"after":{"k":1},"op":"u","op":"c"}', "FSQL-E512", "op"),
)


def run(directory: Path, *lines: str, changes: str = "upsert") -> list[str]:
    """Return the lines that are written."""
    (directory / "u").write_text("".join(f"{line}\n" for line in lines))
    fsql.Session(base_directory=directory, parameters={"changes": changes}).run(SCRIPT)
    return (directory / "o").read_text().splitlines()


def test_the_rows_of_events_are_the_relation(tmp_path: Path) -> None:
    assert run(tmp_path, *EVENTS) == [
        '{"before":null,"after":{"v":"é","n":1},"op":"c"}',
        '{"before":null,"after":{"v":"é","n":2},"op":"u"}',
        '{"before":null,"after":{"v":"b","n":1},"op":"c"}',
        '{"before":null,"after":{"v":"é","n":1},"op":"u"}',
        '{"before":{"v":"é","n":1},"after":null,"op":"d"}',
    ]


def test_a_retraction_is_a_deletion(tmp_path: Path) -> None:
    assert run(tmp_path, *EVENTS[:2], changes="retract") == [
        '{"before":null,"after":{"v":"é","n":1},"op":"c"}',
        '{"before":{"v":"é","n":1},"after":null,"op":"d"}',
        '{"before":null,"after":{"v":"é","n":2},"op":"c"}',
    ]


def test_an_object_in_a_row_is_the_text_of_a_string(tmp_path: Path) -> None:
    events = (
        '{"after":{"k":1,"v":{"b": [1.0, "\\u00e9"], "a":{}}},"op":"c"}',
        '{"payload":{"after":{"k":2,"v":[ null ]},"op":"r"}}',
        '{"before":{"k":1,"v":{"b":2}},"after":{"k":"x","v":5},"op":"u"}',
        '{"before":{"k":2,"v":{"b":2}},"op":"d"}',
    )
    object_text, array_text = r'"{\"b\":[1.0,\"é\"],\"a\":{}}"', '"[null]"'
    assert run(tmp_path, *events) == [
        f'{{"before":null,"after":{{"v":{object_text},"n":1}},"op":"c"}}',
        f'{{"before":null,"after":{{"v":{array_text},"n":1}},"op":"c"}}',
        f'{{"before":{{"v":{array_text},"n":1}},"after":null,"op":"d"}}',
    ]
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["row"], reject["code"], reject["field"]) == (2, "FSQL-E513", "k")


@pytest.mark.parametrize("among", [(), EVENTS])
def test_malformed_events_are_rejects(among: tuple[str, ...], tmp_path: Path) -> None:
    run(tmp_path, *among, *(line for line, _, _ in MALFORMED))
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert [(each["excerpt"], each["code"], each["field"]) for each in rejects] == list(MALFORMED)
    assert [each["row"] for each in rejects] == [len(among) + i for i in range(len(MALFORMED))]
    assert [each["reason"] for each in rejects if each["code"] == "FSQL-E524"] == [
        "there is no kind of event: c, u, r or d",
        'the kind of event is "t", not c, u, r or d',
    ]


WITHOUT_KEY: Final = """
    CREATE TABLE u (k BIGINT NOT NULL, v STRING) WITH (
        'connector' = 'file', 'path' = 'u', 'format' = 'debezium-json',
        'on_error' = '${on_error}', 'rejects_path' = 'rejects'
    );
    CREATE TABLE o (k BIGINT NOT NULL, v STRING) WITH ('connector' = 'file', 'path' = 'o');
    INSERT INTO o SELECT k, v FROM u;
"""


def run_without_key(directory: Path, *lines: str, on_error: str = "reject") -> list[str]:
    """Return the lines that are written by a table without a PRIMARY KEY."""
    (directory / "u").write_text("".join(f"{line}\n" for line in lines))
    session = fsql.Session(base_directory=directory, parameters={"on_error": on_error})
    session.run(WITHOUT_KEY)
    return (directory / "o").read_text().splitlines()


def test_without_a_key_the_old_row_is_removed(tmp_path: Path) -> None:
    assert run_without_key(
        tmp_path,
        '{"before":null,"after":{"k":1,"v":"a"},"op":"c"}',
        '{"payload":{"after":{"k":1,"v":"a"},"op":"r"}}',
        '{"before":{"v":"a","k":1},"after":{"k":1},"op":"u"}',
        '{"before":{"k":1,"v":"a"},"after":{"k":1,"v":"a"},"op":"u"}',
        '{"before":{"k":1,"v":null},"op":"d"}',
        '{"before":{"k":1,"v":"a"},"after":{"k":2,"v":"b"},"op":"u"}',
    ) == [
        '{"op":"+I","k":1,"v":"a"}',
        '{"op":"+I","k":1,"v":"a"}',
        '{"op":"-D","k":1,"v":"a"}',
        '{"op":"+I","k":1,"v":null}',
        '{"op":"-D","k":1,"v":null}',
        '{"op":"-D","k":1,"v":"a"}',
        '{"op":"+I","k":2,"v":"b"}',
    ]


def test_without_a_key_both_rows_of_an_event_are_checked(tmp_path: Path) -> None:
    good = '{"after":{"k":1},"op":"c"}'
    malformed = (
        ('{"after":{"k":1},"op":"u"}', "FSQL-E521", "before"),
        ('{"before":{"k":1},"op":"u"}', "FSQL-E521", "after"),
        ('{"before":{"k":"1"},"after":{"k":1},"op":"u"}', "FSQL-E513", "k"),
        ('{"before":{"k":1},"after":{"v":"x"},"op":"u"}', "FSQL-E521", "k"),
        ('{"before":{"v":"x"},"op":"d"}', "FSQL-E521", "k"),
        ('{"before":{"k":1},"after":{"k":2},"op":"x"}', "FSQL-E524", "op"),
        ("{", "FSQL-E511", ""),
    )
    written = run_without_key(tmp_path, good, *(line for line, _, _ in malformed), good)
    assert written == 2 * ['{"op":"+I","k":1,"v":null}']
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert [(each["excerpt"], each["code"], each["field"]) for each in rejects] == list(malformed)
    assert [each["row"] for each in rejects] == list(range(1, 8))


def test_a_number_is_the_text_of_a_string_in_both_rows(tmp_path: Path) -> None:
    assert run_without_key(
        tmp_path,
        '{"after":{"k":1,"v":5},"op":"c"}',
        '{"before":{"k":1,"v":5},"after":{"k":1,"v":"b"},"op":"u"}',
        on_error="null_field",
    ) == [
        '{"op":"+I","k":1,"v":"5"}',
        '{"op":"-D","k":1,"v":"5"}',
        '{"op":"+I","k":1,"v":"b"}',
    ]


BY_KEY: Final = """
    CREATE TABLE u (a BIGINT, b STRING, n BIGINT, at TIMESTAMP, PRIMARY KEY (${key}) NOT ENFORCED) WITH (
        'connector' = 'file', 'path' = 'u', 'format' = 'debezium-json',
        'on_error' = 'reject', 'rejects_path' = 'rejects'
    );
"""
MOVED: Final = (
    '{"after":{"a":1,"b":"x","n":1,"at":1000},"op":"c"}',
    '{"before":{"a":1,"b":"x","n":1,"at":1000},"after":{"a":1,"b":"y","n":2,"at":5000},"op":"u"}',
    '{"before":{"a":1,"b":"y","n":2,"at":5000},"after":{"a":1,"b":"y","n":3,"at":6000},"op":"u"}',
)


@pytest.mark.parametrize("key", ["b", "a, b"])
def test_an_update_removes_the_row_of_the_key_that_it_changes(key: str, tmp_path: Path) -> None:
    (tmp_path / "u").write_text("".join(f"{line}\n" for line in MOVED))
    fsql.Session(base_directory=tmp_path, parameters={"key": key}).run(
        BY_KEY
        + """
        CREATE TABLE o (a BIGINT, b STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'o');
        CREATE TABLE c (n BIGINT) WITH ('connector' = 'file', 'path' = 'c');
        INSERT INTO o SELECT a, b, n FROM u;
        INSERT INTO c SELECT COUNT(*) FROM u;
        """
    )
    assert (tmp_path / "o").read_text().splitlines() == [
        '{"op":"+I","a":1,"b":"x","n":1}',
        '{"op":"-D","a":1,"b":"x","n":1}',
        '{"op":"+I","a":1,"b":"y","n":2}',
        '{"op":"-U","a":1,"b":"y","n":2}',
        '{"op":"+U","a":1,"b":"y","n":3}',
    ]
    assert (tmp_path / "c").read_text().splitlines() == ['{"op":"+I","n":1}']


@pytest.mark.parametrize("before", ['{"a":1,"b":null}', '{"a":1}', "null"])
def test_without_the_old_key_the_new_one_is_all_there_is(before: str, tmp_path: Path) -> None:
    update = f'{{"before":{before},"after":{{"a":1,"b":"y","n":2}},"op":"u"}}'
    (tmp_path / "u").write_text(f"{MOVED[0]}\n{update}\n")
    fsql.Session(base_directory=tmp_path, parameters={"key": "b"}).run(
        BY_KEY
        + """
        CREATE TABLE o (b STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT b, n FROM u;
        """
    )
    assert (tmp_path / "o").read_text().splitlines() == [
        '{"op":"+I","b":"x","n":1}',
        '{"op":"+I","b":"y","n":2}',
    ]


def test_a_malformed_old_key_is_a_reject(tmp_path: Path) -> None:
    update = '{"before":{"a":1,"n":"five"},"after":{"a":1,"b":"y","n":2},"op":"u"}'
    (tmp_path / "u").write_text(f"{update}\n{MOVED[0]}\n")
    fsql.Session(base_directory=tmp_path, parameters={"key": "n"}).run(
        BY_KEY
        + """
        CREATE TABLE o (b STRING) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT b FROM u;
        """
    )
    assert (tmp_path / "o").read_text() == '{"op":"+I","b":"x"}\n'
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["row"], reject["code"], reject["field"]) == (0, "FSQL-E513", "n")


def test_the_version_of_an_old_key_ends_where_that_of_the_new_one_begins(tmp_path: Path) -> None:
    (tmp_path / "u").write_text("".join(f"{line}\n" for line in MOVED))
    orders = [{"b": b, "at": at} for at in (2000, 4000, 5500, 6500) for b in ("x", "y")]
    (tmp_path / "orders").write_text("".join(json.dumps(each) + "\n" for each in orders))
    table = BY_KEY.replace("at TIMESTAMP", "at TIMESTAMP, WATERMARK FOR at AS at")
    fsql.Session(base_directory=tmp_path, parameters={"key": "b"}).run(
        table
        + """
        CREATE TABLE orders (b STRING, at TIMESTAMP, WATERMARK FOR at AS at)
            WITH ('connector' = 'file', 'path' = 'orders');
        CREATE TABLE o (b STRING, at TIMESTAMP, n BIGINT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT q.b, q.at, u.n FROM orders AS q
            LEFT JOIN u FOR SYSTEM_TIME AS OF q.at ON u.b = q.b;
        """
    )
    rows = map(json.loads, (tmp_path / "o").read_text().splitlines())
    assert [(each["b"], each["at"][17:19], each["n"]) for each in rows] == [
        ("x", "02", 1),
        ("y", "02", None),
        ("x", "04", 1),
        ("y", "04", None),
        ("x", "05", None),
        ("y", "05", 2),
        ("x", "06", None),
        ("y", "06", 3),
    ]
