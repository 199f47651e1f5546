"""Change events of Debezium: what is read of them, and what is written."""

from __future__ import annotations

import base64
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
    '{"schema":{"fields":[{"field":"before"},{"field":"after"}]},"payload":{"after":{"k":2,"v":"é"},"op":"r"}}',
    '{"before":{"k":2},"after":{"k":2,"v":"b"},"op":"u"}',
    '{"before":{"k":1},"op":"d"}',
)
MALFORMED: Final = (
    ("nothing", "FSQL-E511", ""),
    ("[null]", "FSQL-E519", ""),
    ('{"after":{"k":1}}', "FSQL-E524", "op"),
    ('{"before":null,"after":null,"op":"t"}', "FSQL-E528", "op"),
    ('{"after":{"k":1},"op":5}', "FSQL-E513", "op"),
    ('{"after":{"k":1},"op":"d"}', "FSQL-E521", "before"),
    ('{"after":null,"op":"u"}', "FSQL-E521", "after"),
    ('{"after":[1],"op":"u"}', "FSQL-E519", ""),
    ('{"after":{"k":"1"},"op":"u"}', "FSQL-E513", "k"),
    ('{"after":{"k":1,"k":2},"op":"u"}', "FSQL-E512", "k"),
    ('{"after":{"v":"x"},"op":"u"}', "FSQL-E521", "k"),
    ('{"after":{"k":1},"op":"u","op":"c"}', "FSQL-E512", "op"),
    ('{"after":{"k":1,"k":2,"v":"__debezium_unavailable_value"},"op":"u"}', "FSQL-E512", "k"),
    ('{"after":{"k":"__debezium_unavailable_value"},"op":"u"}', "FSQL-E527", "k"),
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
    assert [each["reason"] for each in rejects if each["code"] in {"FSQL-E524", "FSQL-E528"}] == [
        "there is no kind of event: c, u, r or d",
        "the table was truncated (t): an event without a key cannot remove the rows of all keys",
    ]


def test_events_after_a_truncation_are_those_of_the_table(tmp_path: Path) -> None:
    """What the help of the error says is carried out: the events before it and itself are cut off."""
    truncation = '{"before":null,"after":null,"op":"t"}'
    later = (EVENTS[1], EVENTS[2])
    (tmp_path / "u").write_text("".join(f"{line}\n" for line in (EVENTS[0], truncation, *later)))
    script = SCRIPT.replace(
        "'on_error' = 'reject', 'rejects_path' = 'rejects'", "'on_error' = 'stop'"
    )
    session = fsql.Session(base_directory=tmp_path, parameters={"changes": "upsert"})
    with pytest.raises(fsql.DataError) as raised:
        session.run(script)
    assert "Begin a new job with the events after this one" in str(raised.value)
    (tmp_path / "o").unlink()
    assert run(tmp_path, *later) == [
        '{"before":null,"after":{"v":"é","n":1},"op":"c"}',
        '{"before":null,"after":{"v":"b","n":1},"op":"c"}',
        '{"before":{"v":"é","n":1},"after":null,"op":"d"}',
    ]


def test_the_placeholder_is_a_text_in_other_formats(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"v":"__debezium_unavailable_value"}\n')
    fsql.Session(base_directory=tmp_path).run(
        "CREATE TABLE t (v STRING) WITH ('connector' = 'file', 'path' = 't');"
        "CREATE TABLE o (v STRING) WITH ('connector' = 'file', 'path' = 'o');"
        "INSERT INTO o SELECT v FROM t;"
    )
    assert (tmp_path / "o").read_text() == '{"v":"__debezium_unavailable_value"}\n'


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


PLACEHOLDER: Final = "__debezium_unavailable_value"
DOCS: Final = """
    CREATE TABLE docs (
        k BIGINT, title STRING, body STRING NOT NULL, b BYTES, n DECIMAL(10, 2), tags ARRAY<STRING>,
        ids ARRAY<INT>, at TIMESTAMP, m MAP<STRING, STRING>, r ROW<x BIGINT, s ROW<t STRING, y DOUBLE>>,
        PRIMARY KEY (k) NOT ENFORCED
    ) WITH (
        'connector' = 'file', 'path' = 'docs', 'format' = 'debezium-json', 'on_error' = '${on_error}' MORE
    );
    CREATE TABLE o (
        k BIGINT, title STRING, body STRING, b BYTES, n DECIMAL(10, 2), tags ARRAY<STRING>,
        ids ARRAY<INT>, at TIMESTAMP, m MAP<STRING, STRING>, r ROW<x BIGINT, s ROW<t STRING, y DOUBLE>>
    ) WITH ('connector' = 'file', 'path' = 'o');
    INSERT INTO o SELECT * FROM docs;
"""
WHOLE: Final = {
    "k": 1,
    "title": "a",
    "body": "long",
    "b": "AQI=",
    "n": 1.25,
    "tags": ["x", None],
    "ids": [1, 2],
    "at": "2024-01-01T00:00:00Z",
    "m": {"p": "q"},
    "r": {"x": 5, "s": {"t": "deep", "y": 1.5}},
}


def run_docs(
    directory: Path, *events: object, on_error: str = "stop", more: str = "", workers: int = 1
) -> list[dict[str, object]]:
    """Return the rows that are written for events, which are written to a file."""
    (directory / "docs").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (directory / "o").unlink(missing_ok=True)
    session = fsql.Session(
        base_directory=directory, parameters={"on_error": on_error}, workers=workers
    )
    session.run(DOCS.replace("MORE", more))
    return [json.loads(line) for line in (directory / "o").read_text().splitlines()]


def created(**values: object) -> dict[str, object]:
    """Return the event of a row that is `WHOLE` but for some values."""
    return {"before": None, "after": WHOLE | values, "op": "c"}


def updated(before: object = None, **values: object) -> dict[str, object]:
    """Return the event of an update to a row that is `WHOLE` but for some values."""
    return {"before": before, "after": WHOLE | {"title": "b"} | values, "op": "u"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("body", PLACEHOLDER),
        ("b", base64.b64encode(PLACEHOLDER.encode()).decode()),
        ("b", base64.urlsafe_b64encode(PLACEHOLDER.encode()).decode().rstrip("=")),
        ("b", PLACEHOLDER.encode().hex()),
        ("b", PLACEHOLDER),
        ("n", PLACEHOLDER),
        ("n", base64.b64encode(PLACEHOLDER.encode()).decode()),
        ("tags", [PLACEHOLDER]),
        ("tags", PLACEHOLDER),
        ("ids", list(PLACEHOLDER.encode())),
        ("at", PLACEHOLDER),
        ("m", {PLACEHOLDER: PLACEHOLDER}),
        ("r", PLACEHOLDER),
        ("r", {"x": PLACEHOLDER, "s": PLACEHOLDER}),
        ("r", {"x": 5, "s": {"t": PLACEHOLDER, "y": 1.5}}),
    ],
)
def test_a_value_that_is_left_out_is_that_of_the_kept_row(
    column: str, value: object, tmp_path: Path
) -> None:
    updates = [updated(**{column: value}), updated(**{column: value, "title": "c"})]
    first = WHOLE | {"op": "+I"}
    assert run_docs(tmp_path, created(), *updates) == [
        first,
        first | {"op": "-U"},
        first | {"op": "+U", "title": "b"},
        first | {"op": "-U", "title": "b"},
        first | {"op": "+U", "title": "c"},
    ]


def test_a_field_that_is_left_out_is_that_of_the_kept_row(tmp_path: Path) -> None:
    rows = run_docs(
        tmp_path,
        created(),
        updated(r={"x": 6, "s": {"t": PLACEHOLDER, "y": 2.5}}),
        updated(r={"x": PLACEHOLDER, "s": {"t": "new", "y": PLACEHOLDER}}),
        updated(r={"x": 7, "s": PLACEHOLDER}),
        updated(r=None),
        updated(r={"x": PLACEHOLDER, "s": {"t": "again", "y": PLACEHOLDER}}),
    )
    assert [row["r"] for row in rows if row["op"] != "-U"] == [
        WHOLE["r"],
        {"x": 6, "s": {"t": "deep", "y": 2.5}},
        {"x": 6, "s": {"t": "new", "y": 2.5}},
        {"x": 7, "s": {"t": "new", "y": 2.5}},
        None,
        {"x": None, "s": {"t": "again", "y": None}},
    ]


def test_the_placeholder_is_an_option(tmp_path: Path) -> None:
    more = ", 'unavailable_value' = 'n/ä \"'"
    events = [created(), updated(body='n/ä "', r={"x": 1, "s": PLACEHOLDER})]
    with pytest.raises(fsql.DataError, match="FSQL-E513"):
        run_docs(tmp_path, *events, more=more)
    events[1] = updated(body='n/ä "', tags=[PLACEHOLDER])
    rows = run_docs(tmp_path, *events, more=more)
    assert [(row["body"], row["tags"]) for row in rows] == [
        ("long", ["x", None]),
        ("long", ["x", None]),
        ("long", [PLACEHOLDER]),
    ]


def test_a_value_that_is_left_out_is_taken_from_the_old_row_of_the_event(tmp_path: Path) -> None:
    old = WHOLE | {"body": "of before", "tags": None}
    events = [updated(old, body=PLACEHOLDER, tags=["new"]), {"before": old, "op": "d"}]
    assert [(row["op"], row["body"], row["tags"]) for row in run_docs(tmp_path, *events)] == [
        ("+I", "of before", ["new"]),
        ("-D", "of before", ["new"]),
    ]


LOST: Final = (
    updated(k=1, body=PLACEHOLDER),
    created(k=1),
    {"before": {"k": 1, "body": PLACEHOLDER}, "op": "d"},
    updated(k=1, body=PLACEHOLDER),
    updated({"k": 1}, k=2, body=PLACEHOLDER),
    created(k=2),
    created(k=2, tags=["x", PLACEHOLDER]),
    created(k=2, m={"p": PLACEHOLDER}),
    updated({"k": 2}, k=3, body=PLACEHOLDER),
    updated({"k": 2, "body": "moved"}, k=3, body=PLACEHOLDER),
)
REJECTED: Final = [
    (
        0,
        None,
        "FSQL-E527",
        "",
        "a value is left out of the event, and there is no earlier row of its key that has it",
    ),
    (
        3,
        None,
        "FSQL-E527",
        "",
        "a value is left out of the event, and there is no earlier row of its key that has it",
    ),
    (4, 5, "FSQL-E527", "", "a value is left out of the event, which changes the key of its row"),
    (
        6,
        7,
        "FSQL-E527",
        "tags",
        "a value inside is left out of the event, and cannot be found in the earlier row",
    ),
    (
        7,
        8,
        "FSQL-E527",
        "m",
        "a value inside is left out of the event, and cannot be found in the earlier row",
    ),
    (8, 9, "FSQL-E527", "", "a value is left out of the event, which changes the key of its row"),
]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("on_error", ["reject", "null_field"])
def test_a_value_that_no_row_has_makes_a_reject(
    on_error: str, workers: int, tmp_path: Path
) -> None:
    more = ", 'rejects_path' = 'rejects'"
    rows = run_docs(tmp_path, *LOST, on_error=on_error, more=more, workers=workers)
    assert [(row["op"], row["k"], row["body"]) for row in rows] == [
        ("+I", 1, "long"),
        ("-D", 1, "long"),
        ("+I", 2, "long"),
        ("-D", 2, "long"),
        ("+I", 3, "moved"),
    ]
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    columns = ("row", "line", "code", "field", "reason")
    assert [tuple(each[name] for name in columns) for each in rejects] == REJECTED


def test_a_value_that_no_row_has_stops_the_job(tmp_path: Path) -> None:
    with pytest.raises(fsql.DataError) as raised:
        run_docs(tmp_path, created(k=2), *LOST)
    assert str(raised.value).splitlines()[0] == (
        'error[FSQL-E527]: malformed row of table "docs": a value is left out of the event,'
        " and there is no earlier row of its key that has it"
    )
    assert (tmp_path / "o").read_text().count("\n") == 1


def test_without_a_key_a_value_that_is_left_out_is_that_of_the_old_row(tmp_path: Path) -> None:
    malformed = (
        (
            f'{{"before":{{"k":1}},"after":{{"k":2,"v":"{PLACEHOLDER}"}},"op":"u"}}',
            "FSQL-E527",
            "v",
        ),
        (f'{{"before":{{"k":1,"v":"{PLACEHOLDER}"}},"op":"d"}}', "FSQL-E527", "v"),
        (f'{{"after":{{"k":2,"v":"{PLACEHOLDER}"}},"op":"c"}}', "FSQL-E527", "v"),
    )
    assert run_without_key(
        tmp_path,
        '{"after":{"k":1,"v":"a"},"op":"c"}',
        f'{{"before":{{"k":1,"v":"a"}},"after":{{"k":2,"v":"{PLACEHOLDER}"}},"op":"u"}}',
        *(line for line, _, _ in malformed),
    ) == ['{"op":"+I","k":1,"v":"a"}', '{"op":"-D","k":1,"v":"a"}', '{"op":"+I","k":2,"v":"a"}']
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert [(each["excerpt"], each["code"], each["field"]) for each in rejects] == list(malformed)


def test_a_version_has_the_values_that_its_event_leaves_out(tmp_path: Path) -> None:
    events = [
        {"after": {"a": 1, "b": "x", "n": 1, "at": 1000}, "op": "c"},
        {"after": {"a": 2, "b": "x", "n": PLACEHOLDER, "at": 2000}, "op": "u"},
        {"before": {"b": "x"}, "op": "d"},
        {"after": {"a": 3, "b": "x", "n": PLACEHOLDER, "at": 3000}, "op": "u"},
        {"after": {"a": 4, "b": "x", "n": None, "at": 4000}, "op": "c"},
        {"after": {"a": 5, "b": "x", "n": PLACEHOLDER, "at": 5000}, "op": "u"},
    ]
    events[2]["before"] = {"b": "x", "at": 2500}
    (tmp_path / "u").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    orders = [{"b": "x", "at": at} for at in range(500, 6000, 1000)]
    (tmp_path / "orders").write_text("".join(json.dumps(each) + "\n" for each in orders))
    table = BY_KEY.replace("at TIMESTAMP", "at TIMESTAMP, WATERMARK FOR at AS at")
    fsql.Session(base_directory=tmp_path, parameters={"key": "b"}).run(
        table
        + """
        CREATE TABLE orders (b STRING, at TIMESTAMP, WATERMARK FOR at AS at)
            WITH ('connector' = 'file', 'path' = 'orders');
        CREATE TABLE o (at TIMESTAMP, a BIGINT, n BIGINT) WITH ('connector' = 'file', 'path' = 'o');
        INSERT INTO o SELECT q.at, u.a, u.n FROM orders AS q
            LEFT JOIN u FOR SYSTEM_TIME AS OF q.at ON u.b = q.b;
        """
    )
    rows = map(json.loads, (tmp_path / "o").read_text().splitlines())
    assert [(each["at"][17:19], each["a"], each["n"]) for each in rows] == [
        ("00", None, None),
        ("01", 1, 1),
        ("02", None, None),
        ("03", None, None),
        ("04", 4, None),
        ("05", 5, None),
    ]
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["row"], reject["code"]) == (3, "FSQL-E527")


def test_tombstones_and_messages_are_passed_over(tmp_path: Path) -> None:
    assert run_without_key(
        tmp_path,
        '{"after":{"k":1,"v":"\\"op\\":\\"m\\""},"op":"c"}',
        "null",
        " null\t",
        '{"schema":null,"payload":null}',
        '{"op":"m","ts_ms":1,"source":{},"message":{"prefix":"x","content":"eA=="}}',
        '{"schema":{"type":"struct"},"payload":{"op":"m","message":{}}}',
        '{"after":{"k":2,"v":"null"},"op":"c","x":{"op":"m","payload":null}}',
        '{"op":"m"',
        '{"ts_ms":1}',
        '{"status":"BEGIN","id":"1:2","event_count":null}',
        "null",
    ) == [
        r'{"op":"+I","k":1,"v":"\"op\":\"m\""}',
        '{"op":"+I","k":2,"v":"null"}',
    ]
    rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert [(each["row"], each["line"], each["code"]) for each in rejects] == [
        (2, 8, "FSQL-E511"),
        (3, 9, "FSQL-E524"),
        (4, 10, "FSQL-E524"),
    ]


def test_a_malformed_value_is_null_in_both_rows(tmp_path: Path) -> None:
    (tmp_path / "u").write_text(
        '{"after":{"k":1,"n":null},"op":"c"}\n'
        '{"before":{"k":1,"n":"x"},"after":{"k":1,"n":[5]},"op":"u"}\n'
        '{"before":{"k":"x","n":2},"after":{"k":1,"n":3},"op":"u"}\n'
        '{"before":{"k":1,"n":true},"op":"d"}\n'
    )
    script = WITHOUT_KEY.replace("v STRING", "n BIGINT").replace("k, v", "k, n")
    fsql.Session(base_directory=tmp_path, parameters={"on_error": "null_field"}).run(script)
    assert (tmp_path / "o").read_text().splitlines() == [
        '{"op":"+I","k":1,"n":null}',
        '{"op":"-D","k":1,"n":null}',
    ]
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["row"], reject["code"], reject["field"]) == (2, "FSQL-E513", "k")
