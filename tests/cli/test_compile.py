"""`fsql compile`: a plan file, and the commands that read it in place of a script."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from fsql import __version__
from fsql.tests.cli.commands import NUMBERS, fsql

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = NUMBERS + "SELECT n, COUNT(*) AS c FROM numbers WHERE n > ${least} GROUP BY n;\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "numbers.jsonl").write_text('{"n":1}\n{"n":5}\n{"n":5}\n')
    script, output = tmp_path / "script.sql", tmp_path / "script.plan"
    script.write_text(SCRIPT)
    said = fsql("compile", "--quiet", script, "-D", "least=2", "-o", output)
    assert said == (0, "", "")
    return output


def rewrite(plan: Path, /, **fields: object) -> None:
    """Change fields of a plan file and give it the hash that fits."""
    body = json.loads(plan.read_bytes().partition(b"\n")[0]) | fields
    data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    plan.write_bytes(data + b"\n" + hashlib.sha256(data).hexdigest().encode() + b"\n")


def test_a_plan_takes_the_place_of_its_script(plan: Path) -> None:
    script = plan.with_suffix(".sql")
    explained = fsql("explain", "--stage", "graph", plan)
    assert explained == fsql("explain", "--stage", "graph", script, "-D", "least=2")
    script.unlink()
    assert fsql("run", "--quiet", plan) == (
        0,
        '{"op":"+I","n":5,"c":1}\n{"op":"-U","n":5,"c":1}\n{"op":"+U","n":5,"c":2}\n',
        "",
    )


def test_compile_reports_what_it_wrote(plan: Path, tmp_path: Path) -> None:
    output = tmp_path / "again.plan"
    said = fsql("compile", "--json", plan, "-o", output)
    events = [json.loads(line) for line in said.err.splitlines()]
    content = json.loads(output.read_bytes().partition(b"\n")[0])
    assert events[-1] == {
        "event": "compiled",
        "script": str(plan),
        "output": str(output),
        "digest": content["digest"],
        "operators": content["operators"],
    }
    assert output.read_bytes() == plan.read_bytes()


def test_a_changed_byte_is_found(plan: Path) -> None:
    plan.write_bytes(plan.read_bytes().replace(b"COUNT", b"COUNI"))
    message = (
        f'error[FSQL-E606]: the compiled plan "{plan}" is damaged: its hash does not match\n'
        "  = help: compile the script again: fsql compile SCRIPT -o FILE\n"
    )
    assert fsql("explain", plan) == (1, "", message)


def test_a_plan_that_was_cut_short_is_found(plan: Path) -> None:
    plan.write_bytes(plan.read_bytes()[:200])
    assert fsql("explain", plan).err.startswith("error[FSQL-E606]")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"more": 1}, "Object contains unknown field `more`"),
        ({"script_text": 7}, "Expected `str`, got `int` - at `$.script_text`"),
        ({"plan": []}, "the plan does not match its digest"),
    ],
)
def test_fields_that_do_not_fit_are_refused(
    plan: Path, fields: dict[str, object], reason: str
) -> None:
    rewrite(plan, **fields)
    assert fsql("explain", plan).err.splitlines()[0] == (
        f'error[FSQL-E606]: the compiled plan "{plan}" is damaged: {reason}'
    )


def test_a_plan_of_another_version_is_refused(plan: Path) -> None:
    rewrite(plan, version=9, fsql="9.1.0")
    message = (
        f'error[FSQL-E607]: the compiled plan "{plan}" is of fsql 9.1.0, format 9;'
        f" this is fsql {__version__}, format 1\n"
        "  = help: compile the script again: fsql compile SCRIPT -o FILE\n"
    )
    assert fsql("explain", plan) == (1, "", message)


def test_text_that_compiles_to_another_plan_is_refused(plan: Path) -> None:
    rewrite(plan, script_text=SCRIPT.replace(">", "<"))
    assert fsql("explain", plan).err.splitlines()[0] == (
        "error[FSQL-E607]: this version of fsql compiles the script to another plan"
    )


def test_the_parameters_of_a_plan_are_fixed(plan: Path) -> None:
    said = fsql("explain", plan, "-D", "least=3")
    assert said.code == 2
    assert said.err.splitlines()[0] == (
        f'error[FSQL-E606]: the parameters of the compiled plan "{plan}" are fixed'
    )


def test_a_plan_is_not_written_over_the_script(plan: Path) -> None:
    script = plan.with_suffix(".sql")
    said = fsql("compile", script, "-D", "least=2", "-o", script)
    assert said.code == 1
    assert "error[FSQL-E532]" in said.err
    assert script.read_text() == SCRIPT
