"""`fsql test`: cases of users."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree.ElementTree import parse

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
CREATE TABLE orders (
    id BIGINT, item STRING, n INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1' SECOND
) WITH ('connector' = 'socket', 'address' = '127.0.0.1:7000', 'on_error' = 'reject', 'idle' = '1 s');
CREATE TABLE items (item STRING, price DECIMAL(6, 2), PRIMARY KEY (item) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'items', 'format' = 'csv', 'delimiter' = ';', 'changes' = 'upsert');
CREATE TABLE totals (item STRING, total DECIMAL(38, 2), PRIMARY KEY (item) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'totals.jsonl', 'changes' = 'upsert');
CREATE TABLE minutes (ends TIMESTAMP, orders BIGINT)
    WITH ('connector' = 'file', 'path' = 'minutes.parquet', 'format' = 'parquet');
INSERT INTO totals SELECT o.item, SUM(o.n * i.price) AS total
FROM orders AS o JOIN items AS i ON o.item = i.item WHERE o.n >= ${least} GROUP BY o.item;
INSERT INTO minutes SELECT window_end, COUNT(*) AS orders
FROM TUMBLE(orders, at, INTERVAL '${seconds}' SECOND) GROUP BY window_start, window_end;
"""
CASES = """\
# Orders

What all cases have in common:

* Script: [orders.sql](orders.sql)
* Parameter: seconds = 60

```csv input items
op;item;price
+I;tea;2.50
```

## Totals follow prices

Parameter: least = 1

```json input orders
{"id": 1, "item": "tea", "n": 2, "at": "2026-01-01T12:00:00Z"}

{"id": 2, "item": "tea", "n": "two", "at": "2026-01-01T12:00:00Z"}
{"id": 3, "item": "rum", "n": 1, "at": "2026-01-01T12:01:01Z"}
{"id": 4, "item": "tea", "n": 3, "at": "2026-01-01T12:00:30Z"}
```

```json output totals
{"op": "+I", "item": "tea", "total": 5}
{"op": "+U", "item": "tea", "total": 12.50}
```

```csv table totals
total,item
12.50,tea
```

```json rejects orders
{"row": 1, "code": "FSQL-E513", "field": "n"}
```

```json table minutes
{"ends": "2026-01-01T12:02:00Z", "orders": 1}
{"ends": "2026-01-01T12:01:00Z", "orders": 1}
```

```csv late minutes
id,at
4,2026-01-01T12:00:30Z
```

## Nothing comes of nothing

Parameter: `least = 1`

```json input orders
```

```json output minutes
```

This block is for the reader:

```json
{}
```
"""


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of cases in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.sql").write_text(SCRIPT)
    path = tmp_path / "orders.md"
    path.write_text(CASES)
    return path


def test_cases_that_pass(cases: Path) -> None:
    code, out, err = fsql("test", cases.name)
    assert (code, out) == (
        0,
        "ok      orders.md:13  Totals follow prices\nok      orders.md:49  Nothing comes of nothing\n",
    )
    assert err.startswith("2 cases: 2 passed, 0 failed, in ")
    assert fsql("test", "--quiet", cases.name) == (0, "", "")
    assert fsql("test", "-q", "-k", "NOTHING", "--json", ".").out == (
        '{"passed": true, "files": [{"file": "orders.md", "diagnostics": [], "cases": [{"name":'
        ' "Nothing comes of nothing", "line": 49, "passed": true, "diagnostics": [], "differences": []}]}]}\n'
    )


FAILURE = """\
FAILED  orders.md:13  Totals follow prices
    output totals: 1 missing (-), 1 not expected (+)
      op  item  total
    - +I  tea   6
    + +I  tea   5.00
      +U  tea   12.50

    table minutes: 1 missing (-), 1 not expected (+)
      ends                  orders
      2026-01-01T12:02:00Z  1
    - 2026-01-01T12:01:00Z  7
    + 2026-01-01T12:01:00Z  1

"""


def test_cases_that_fail(cases: Path) -> None:
    wrong = CASES.replace('"total": 5}', '"total": 6}').replace(
        '12:01:00Z", "orders": 1', '12:01:00Z", "orders": 7'
    )
    cases.write_text(wrong)
    code, out, err = fsql("test", "--junit", "junit.xml")
    assert (code, out) == (2, "")
    code, out, err = fsql("test", "--junit", "junit.xml", cases.name)
    assert (code, out) == (1, FAILURE + "ok      orders.md:49  Nothing comes of nothing\n")
    assert err.startswith("2 cases: 1 passed, 1 failed, in ")
    (suite,) = parse(cases.parent / "junit.xml").getroot()
    assert suite.attrib == {"name": "orders.md", "tests": "2", "failures": "1", "errors": "0"}
    assert [(case.get("name"), len(case)) for case in suite] == [
        ("Totals follow prices", 1),
        ("Nothing comes of nothing", 0),
    ]
    assert suite[0][0].get("message") == "output totals, table minutes"
    (file,) = json.loads(fsql("test", "--json", cases.name).out)["files"]
    assert file["cases"][0]["differences"][0] == {
        "role": "output",
        "name": "totals",
        "rows": [
            ["-", {"op": "+I", "item": "tea", "total": "6"}],
            ["+", {"op": "+I", "item": "tea", "total": "5.00"}],
            [" ", {"op": "+U", "item": "tea", "total": "12.50"}],
        ],
    }
    # What differs is recorded; what is equal but written in another way stays.
    assert fsql("test", "--record", "--quiet", cases.name).code == 0
    now = cases.read_text()
    assert now == CASES.replace(
        '{"op": "+I", "item": "tea", "total": 5}\n{"op": "+U", "item": "tea", "total": 12.50}',
        '{"op":"+I","item":"tea","total":5.00}\n{"op":"+U","item":"tea","total":12.50}',
    ).replace(
        '{"ends": "2026-01-01T12:02:00Z", "orders": 1}\n{"ends": "2026-01-01T12:01:00Z", "orders": 1}',
        '{"ends":"2026-01-01T12:01:00Z","orders":1}\n{"ends":"2026-01-01T12:02:00Z","orders":1}',
    )


STATEMENTS = """\
```sql
CREATE TABLE t (a INT, b INT) WITH ('connector' = 'file', 'path' = 't.jsonl');
```

## A quotient

```sql
SELECT a / b AS q FROM t;
```

```json input t
{"a": 6, "b": 2}
{"a": 1, "b": 0}
```

```json output result
{"q": 3}
```
"""


def test_statements_in_the_file_and_an_expected_error(cases: Path) -> None:
    cases.write_text(STATEMENTS)
    code, out, _ = fsql("test", cases.name)
    assert code == 1
    lines = out.splitlines()
    assert lines[:2] == [
        "FAILED  orders.md:5  A quotient",
        '    error[FSQL-E501]: division by zero, caused by a row of table "t"',
    ]
    assert lines[2] == "     --> orders.md:8:8"
    cases.write_text(
        f'{STATEMENTS}\n```text error\nFSQL-E501: division by zero, caused by a row of table "t"\n```\n'
    )
    assert fsql("test", cases.name).code == 0
    cases.write_text(f"{STATEMENTS}\n```text error\nFSQL-E502: overflow\n```\n")
    assert fsql("test", cases.name).out == (
        "FAILED  orders.md:5  A quotient\n"
        "    error: 1 missing (-), 1 not expected (+)\n"
        "    - FSQL-E502: overflow\n"
        '    + FSQL-E501: division by zero, caused by a row of table "t"\n'
        "\n"
    )


def test_a_case_that_expects_nothing_is_recorded(cases: Path) -> None:
    head = STATEMENTS.partition('{"a": 1')[0]
    before = f"{head}```\n"
    cases.write_text(f"{before}\n\n## Another\n\nProse.\n")
    code, out, _ = fsql("test", cases.name)
    assert code == 1
    assert "error[FSQL-E712]: the case expects nothing" in out
    fsql("test", "--record", cases.name)
    assert cases.read_text() == (
        f'{before}\n```json output result\n{{"q":3}}\n```\n\n## Another\n\nProse.\n'
    )


WRONG = {
    "```json inputs t\n```\n": (
        "E711",
        '"inputs" is not a kind of rows; kinds are input, output, table, late, rejects, error',
    ),
    "```json input t\n": ("E711", "the block is not closed before the file ends"),
    "```text output t\n```\n": ("E711", "rows of output are given as json, jsonl, csv"),
    "```json output\n```\n": ("E711", "output is followed by the name of one table"),
    "Parameter: 7\n": ("E711", "a parameter is given as: name = value"),
    "Nothing.\n": ("E712", "the case has no script"),
    "Script: none.sql\n": ("E531", 'path "none.sql" cannot be read: no such file or directory'),
    "Script: orders.sql\n": ("E112", 'the parameter "least" is not given'),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_in_a_file(text: str, cases: Path) -> None:
    cases.write_text(text)
    code, out, _ = fsql("test", cases.name)
    expected, message = WRONG[text]
    assert code == 1
    assert f"    error[FSQL-{expected}]: {message}\n" in out


def test_what_does_not_fit_the_script(cases: Path) -> None:
    cases.write_text(CASES.replace("output totals", "output total"))
    assert fsql("test", "-q", cases.name).out == (
        "FAILED  orders.md:13  Totals follow prices\n"
        '    error[FSQL-E712]: the script writes no table "total"\n'
        "      --> orders.md:25:1\n"
        "       |\n"
        "    25 | ```json output total\n"
        "       | ^^^^^^^^^^^^^^^^^^^^\n"
        "       = help: it writes totals\n"
        "\n"
    )
    cases.write_text(CASES.replace("csv input items", "csv"))
    assert 'the case has no rows for table "items"' in fsql("test", cases.name).out
    cases.write_text(CASES.replace('"total": 5}', '"total": 5'))
    out = fsql("test", cases.name).out
    assert "error[FSQL-E711]: the line is not JSON: " in out
    assert "orders.md:26:1" in out


def test_a_query_without_from_needs_no_input(cases: Path) -> None:
    cases.write_text('```sql\nSELECT 1 AS one;\n```\n\n```json output result\n{"one": 1}\n```\n')
    assert fsql("test", "-q", cases.name) == (0, "", "")
    cases.write_text("```sql\nSELECT 1 AS one;\n```\n\n```json input t\n```\n")
    out = fsql("test", "-q", cases.name).out
    assert 'error[FSQL-E712]: the script reads no table "t"' in out
    assert "= help: it reads none\n" in out


EVENTS = """\
# Documents

* Script: [docs.sql](docs.sql)

## A value that is left out is kept

```json input docs
{"after": {"id": 1, "title": "a", "body": "long", "at": 5}, "op": "c"}
{"before": {"id": 1}, "after": {"id": 2, "title": "b", "body": "x", "at": 6}, "op": "u"}
{"after": {"id": 2, "title": "c", "body": "__debezium_unavailable_value", "at": 7}, "op": "u"}
{"before": {"id": 3}, "op": "d"}
```

```json table copy
{"id": 2, "title": "c", "body": "x", "at": "1970-01-01T00:00:07Z"}
```
"""


def test_change_events_by_key(tmp_path: Path) -> None:
    (tmp_path / "docs.sql").write_text("""
        CREATE TABLE docs (
            id INT, title STRING NOT NULL, body STRING, at TIMESTAMP, PRIMARY KEY (id) NOT ENFORCED
        ) WITH ('connector' = 'kafka', 'topic' = 't', 'servers' = 'h:1', 'format' = 'debezium-json',
            'timestamp_unit' = 's');
        CREATE TABLE copy (
            id INT, title STRING, body STRING, at TIMESTAMP, PRIMARY KEY (id) NOT ENFORCED
        ) WITH ('connector' = 'file', 'path' = 'copy', 'changes' = 'upsert');
        INSERT INTO copy SELECT id, title, body, at FROM docs;
    """)
    (tmp_path / "docs.md").write_text(EVENTS)
    said = fsql("test", tmp_path / "docs.md")
    assert said.code == 0, said
