"""Partition columns of files, whose values are in the names of folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, decimal_type
from fsql.connectors.file.partitions import partition_text, partition_value, searched_path


def message(error: pytest.ExceptionInfo[FsqlError]) -> tuple[str, str]:
    [diagnostic] = error.value.diagnostics
    return diagnostic.code, diagnostic.message


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/d/day=x/a.jsonl", "x"),
        ("/d/DAY=x/a.jsonl", "x"),
        ("/day=old/d/day=new/a.jsonl", "new"),
        ("/d/day=a=b/a.jsonl", "a=b"),
        ("/d/day=a%2Fb%25/a.jsonl", "a/b%"),
        ("/d/day=/a.jsonl", ""),
        ("/d/day=__HIVE_DEFAULT_PARTITION__/a.jsonl", None),
        ("/d/day=__DEFAULT_PARTITION__/a.jsonl", None),
    ],
)
def test_the_nearest_folder_of_the_name_has_the_value(path: str, text: str | None) -> None:
    assert partition_text(Path(path), "day") == text


def test_a_file_outside_of_such_a_folder_is_an_error() -> None:
    with pytest.raises(FsqlError) as error:
        partition_text(Path("/d/days=x/day=y"), "day")
    assert message(error) == (
        "E543",
        'input "/d/days=x/day=y" is not in a folder of partition column "day"',
    )


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (STRING, "007", "007"),
        (BIGINT, "007", 7),
        (BOOLEAN, "true", True),
        (DOUBLE, "0.5", 0.5),
        (DATE, "1970-01-02", 1),
        (decimal_type(4, 2), "1.25", "1.25"),
    ],
    ids=str,
)
def test_a_value_is_cast_to_the_type_of_the_column(type_, text, value) -> None:  # type: ignore[no-untyped-def]
    column = Column("x", type_, nullable=True)
    found = partition_value(Path(f"/d/x={text}/a"), column)
    assert [str(each) if isinstance(value, str) else each.as_py() for each in found] == [value]


def test_a_value_that_the_type_does_not_have_is_an_error() -> None:
    with pytest.raises(FsqlError) as error:
        partition_value(Path("/d/x=a/f"), Column("x", BIGINT, nullable=True))
    assert message(error) == (
        "E543",
        'the folder of partition column "x" of input "/d/x=a/f": cannot read "a" as BIGINT',
    )


def test_null_in_a_column_that_is_not_null_is_an_error() -> None:
    with pytest.raises(FsqlError) as error:
        partition_value(Path("/d/x=__DEFAULT_PARTITION__/f"), Column("x", BIGINT, nullable=False))
    assert message(error) == (
        "E543",
        'partition column "x" is NOT NULL, and NULL for input "/d/x=__DEFAULT_PARTITION__/f"',
    )


def test_a_folder_is_searched_for_the_folders_in_it(tmp_path: Path) -> None:
    (tmp_path / "a=1").mkdir()
    assert searched_path(tmp_path, ["a", "b[c]"]) == tmp_path / "a=*" / "b[[]c]=*" / "*"
    assert searched_path(tmp_path / "a=1", ["a", "b"]) == tmp_path / "a=1" / "b=*" / "*"
    assert searched_path(tmp_path / "a=1", ["a"]) == tmp_path / "a=1"
    assert searched_path(tmp_path / "a=*" / "x", ["a", "b"]) == tmp_path / "a=*" / "x"
    assert searched_path(tmp_path, []) == tmp_path
