"""The command reads files and writes files: their bytes are the oracle's lines.

Scripts of random cases run as a person would run them, over JSON lines in one file for each split, with
either policy, either engine, and a few on several workers, each of which is a process.

Catches a decoder or an encoder that reads or writes something else than docs/internals/semantics.md, what
is lost between the parts, wrong exit codes.  Cannot catch disorder: one process reads and delivers in turn.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from click.testing import CliRunner

from fsql.cli import main
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.sqltypes import Kind
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.cases import case_of
from fsql.tests.property.ways import by_oracle
from fsql.tests.reference.lines import timestamp_text
from fsql.tests.reference.octets import base64_of, bytes_of
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType
    from fsql.tests.property.cases import Case
    from fsql.tests.property.inputs import Row

MALFORMED: Final = {
    511: '{"v": 1',
    512: '{"v": 1, "v": 1}',
    513: '{"v": "1"}',
    519: "[1, 2]",
}
"""A line for each code that the cases' malformed rows have."""


def json_value(  # noqa: C901, PLR0911 - one a kind
    random: Random, value: Value, type_: SqlType
) -> object:
    """Return a value in one of the forms that JSON input may have."""
    if isinstance(value, tuple):
        if type_.element is not None:
            return [json_value(random, item, type_.element) for item in value]
        parts = zip(value, type_.fields, strict=True)
        return {name: json_value(random, item, part) for item, (name, part) in parts}
    if type_.kind is Kind.DECIMAL and isinstance(value, int):
        return f"{Decimal(value).scaleb(-type_.scale):f}"
    if type_.kind is Kind.TIMESTAMP and isinstance(value, int):
        if value % 1000 == 0 and random.random() < 0.3:
            return value // 1000
        return timestamp_text(value)
    if type_.kind is Kind.TIME and isinstance(value, int):
        return timestamp_text(value)[len("YYYY-MM-DDT") : -1]
    if type_.kind is Kind.DATE and isinstance(value, int):
        return timestamp_text(value * 86_400_000_000)[: len("YYYY-MM-DD")]
    if type_.kind is Kind.BYTES and isinstance(value, str):
        return base64_of(bytes_of(value))
    if type_.kind is Kind.FLOAT and isinstance(value, float) and math.isfinite(value):
        value = float(str(np.float32(value)))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
        return int(value) if value and random.random() < 0.3 else value
    return value


def line(random: Random, columns: Schema, row: Row) -> str:
    """Return a row of input; NULLs are sometimes left out, and fields in any order."""
    if isinstance(row, DeadLetter):
        return MALFORMED[row.code]
    fields = {
        column.name: json_value(random, value, column.type)
        for column, value in zip(columns, row, strict=True)
        if value is not None or random.random() < 0.5
    }
    if columns[-1].name.startswith("before."):
        return json.dumps(_event(fields))
    names = random.sample(list(fields), k=len(fields)) if random.random() < 0.2 else fields
    return json.dumps({name: fields[name] for name in names}, ensure_ascii=random.random() < 0.5)


def _event(fields: dict[str, object]) -> dict[str, object]:
    """Return a change event; `fields` are the kind, the columns of the new row and those of the old one."""
    kind = fields.pop("op")
    old = {k.removeprefix("before."): v for k, v in fields.items() if k.startswith("before.")}
    new = {name: value for name, value in fields.items() if not name.startswith("before.")}
    return {
        "before": None if kind == "+I" else old,
        "after": None if kind == "-D" else new,
        "op": {"+I": "c", "+U": "u", "-D": "d"}[str(kind)],
    }


def write_case(random: Random, case: Case, directory: Path) -> None:
    """Write the script, and the input in a directory for each table."""
    text = case.text.replace("'connector' = 'blackhole'", "'connector' = 'file', 'path' = 'SINK'")
    for number in range(len(case.job.inserts)):
        text = text.replace("'SINK'", f"'sink{number}.out'", 1)
    (directory / "script.sql").write_text(text.replace(".jsonl", ""), encoding="utf-8")
    for table in case.job.tables:
        (directory / table.name).mkdir()
        for number, split in enumerate(case.inputs[table.ordinal]):
            lines = "".join(line(random, table.columns, row) + "\n" for row in split)
            path = directory / table.name / f"split{number}.jsonl"
            path.write_text(lines, encoding="utf-8")


def options(random: Random, seed: int) -> list[str]:
    """Return how to run the script; nothing of this shows in the results."""
    chosen = random.choice(([], ["--policy", "speculative"], ["--policy", "ordered"]))
    if seed % 8 == 1:
        return [*chosen, "--workers", str(random.choice((2, 3)))]
    model = ["--engine", "model", "--workers", str(random.choice((1, 2, 7)))]
    return chosen + random.choice(([], [], ["--read-ahead", "3"], model))


def check(case: Case, seed: int, directory: Path) -> None:
    """Run a case as a command, and compare what it writes."""
    random = Random(case.name)
    write_case(random, case, directory)
    expected = by_oracle(case.job, case.inputs)
    given = ["run", "--quiet", "--overwrite", *options(random, seed), str(directory / "script.sql")]
    result = CliRunner().invoke(main, given, catch_exceptions=False)
    shown = f"{case.name}: fsql {' '.join(given)}\n{result.output}"
    assert result.exit_code == (0 if expected.error is None else 3), shown
    if expected.error is not None:
        assert f"FSQL-E{expected.error[0]}" in result.output, shown
    for number, lines in enumerate(expected.released):
        written = (directory / f"sink{number}.out").read_bytes()
        assert written == "".join(f"{text}\n" for _, text in lines).encode(), shown


@pytest.mark.slow
def test_the_command_writes_what_the_oracle_says(tmp_path: Path) -> None:
    for seed in chosen_seeds(24):
        try:
            case = case_of("script", seed)
        except FsqlError:
            continue
        directory = tmp_path / str(seed)
        directory.mkdir()
        check(case, seed, directory)
