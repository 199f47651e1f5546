"""`fsql check`: diagnostics, changes and state of each INSERT."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fsql.tests.cli.commands import NUMBERS, fsql
from fsql.tests.queries.examples import QUERIES

if TYPE_CHECKING:
    from pathlib import Path

TOP_SPEEDS = QUERIES / "top_speeds" / "query.sql"


def test_what_a_script_does() -> None:
    code, out, err = fsql("check", TOP_SPEEDS)
    assert (code, err) == (0, "")
    assert out == (
        f"{TOP_SPEEDS}: 1 INSERT\n"
        "  into top_speeds: append by (window_start, segment)\n"
        "    state of WindowAggregate: one row per group per slice of open windows\n"
    )


def test_text_instead_of_a_file(tmp_path: Path) -> None:
    assert fsql("check", "-q", "-e", "SELECT 1 AS n") == (0, "", "")
    code, out, err = fsql("check", "-e", "SELECT n")
    assert (code, out) == (1, "")
    assert err.startswith('error[FSQL-E203]: column "n" does not exist\n --> <command line>:1:8\n')
    assert fsql("check", "-e", "SELECT 1 AS n", tmp_path / "job.sql").code == 2


def test_a_warning_is_no_error(tmp_path: Path) -> None:
    script = tmp_path / "sum.sql"
    script.write_text(f"{NUMBERS}SELECT n, COUNT(*) AS c FROM numbers GROUP BY n;\n")
    code, out, err = fsql("check", script)
    assert code == 0
    assert out == (
        f"{script}: 1 INSERT\n"
        "  into stdout: retract by (n)\n"
        "    state of Aggregate: one row per group, unbounded\n"
    )
    assert err == (
        "warning[FSQL-W301]: GROUP BY without a window keeps every group\n"
        f" --> {script}:2:47\n"
        "  |\n"
        "2 | SELECT n, COUNT(*) AS c FROM numbers GROUP BY n;\n"
        "  |                                               ^\n"
        "  = note: any group may change later\n"
        f'\nwarning[FSQL-W501]: path "{tmp_path}/numbers.jsonl" cannot be read: there is no such file\n'
        f" --> {script}:1:70\n"
        "  |\n"
        "1 | CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'file', 'path' = 'numbers.jsonl');\n"
        "  |                                                                      ^^^^^^^^^^^^^^^\n"
    )
    assert fsql("check", "--quiet", script) == (0, "", "")


def test_several_scripts_one_of_them_broken(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sql", tmp_path / "bad.sql"
    good.write_text(f"{NUMBERS}SELECT n FROM numbers WHERE n > ${{least}};\n")
    bad.write_text(f"{NUMBERS}SELECT m, k FROM numbers;\n")
    code, out, err = fsql("check", "-D", "least=1", bad, good)
    assert code == 1
    assert out == f"{good}: 1 INSERT\n  into stdout: append\n    no state\n"
    assert [line for line in err.splitlines() if line.startswith("error")] == [
        'error[FSQL-E203]: column "m" does not exist',
        'error[FSQL-E203]: column "k" does not exist',
    ]


def test_json(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sql"
    bad.write_text(f"{NUMBERS}SELECT m FROM numbers;\n")
    code, out, err = fsql("check", "--json", bad, TOP_SPEEDS)
    assert (code, err) == (1, "")
    broken, sound = json.loads(out)["files"]
    assert (broken["file"], broken["ok"], broken["inserts"]) == (str(bad), False, [])
    assert [each["code"] for each in broken["diagnostics"]] == ["FSQL-E203"]
    assert sound == {
        "file": str(TOP_SPEEDS),
        "ok": True,
        "diagnostics": [],
        "inserts": [
            {
                "table": "top_speeds",
                "changes": "append",
                "key": ["window_start", "segment"],
                "state": [
                    {
                        "operator": "WindowAggregate",
                        "bound": "one row per group per slice of open windows",
                    }
                ],
            }
        ],
    }


def test_nothing_is_read_or_written(tmp_path: Path) -> None:
    script = tmp_path / "copy.sql"
    script.write_text(
        f"{NUMBERS}"
        "CREATE TABLE copied (n BIGINT) WITH ('connector' = 'file', 'path' = 'copied.jsonl');\n"
        "INSERT INTO copied SELECT n FROM numbers;\n"
    )
    assert fsql("check", script).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["copy.sql"]
