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
        '{"before":{"k":1,"v":{"b":2}},"after":{"k":1,"v":5},"op":"u"}',
        '{"before":{"k":2,"v":{"b":2}},"op":"d"}',
    )
    object_text, array_text = r'"{\"b\":[1.0,\"é\"],\"a\":{}}"', '"[null]"'
    assert run(tmp_path, *events) == [
        f'{{"before":null,"after":{{"v":{object_text},"n":1}},"op":"c"}}',
        f'{{"before":null,"after":{{"v":{array_text},"n":1}},"op":"c"}}',
        f'{{"before":{{"v":{array_text},"n":1}},"after":null,"op":"d"}}',
    ]
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["row"], reject["code"], reject["field"]) == (2, "FSQL-E513", "v")


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


def test_a_malformed_value_is_null_in_both_rows(tmp_path: Path) -> None:
    assert run_without_key(
        tmp_path,
        '{"after":{"k":1,"v":5},"op":"c"}',
        '{"before":{"k":1,"v":5},"after":{"k":1,"v":"b"},"op":"u"}',
        on_error="null_field",
    ) == [
        '{"op":"+I","k":1,"v":null}',
        '{"op":"-D","k":1,"v":null}',
        '{"op":"+I","k":1,"v":"b"}',
    ]
