"""`fsql datagen`, and jobs over connector datagen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = "id BIGINT, item STRING, price DECIMAL(4, 2)"
OPTIONS = ("-O", "id.kind=sequence", "-O", "item.values=tea,rum", "-O", "price.max=9.99")


def test_rows_as_json_and_csv(tmp_path: Path) -> None:
    printed = fsql("datagen", COLUMNS, "--rows", "3", "-q", *OPTIONS)
    assert printed == (
        0,
        (
            '{"id":0,"item":"rum","price":0.98}\n'
            '{"id":1,"item":"tea","price":6.86}\n'
            '{"id":2,"item":"rum","price":2.25}\n'
        ),
        "",
    )
    file = tmp_path / "rows.csv"
    said = fsql("datagen", COLUMNS, "--rows", "3", "-q", "--format", "csv", "-o", file, *OPTIONS)
    assert said == (0, "", "")
    assert file.read_text() == "id,item,price\n0,rum,0.98\n1,tea,6.86\n2,rum,2.25\n"
    assert fsql("datagen", COLUMNS, "-q", "-o", file).code == 1  # it is not empty
    assert fsql("datagen", COLUMNS, "--rows", "3").err.splitlines()[-1].split() == [
        *("written", "3", "rows", "rows", "(standard", "output)")
    ]
    assert fsql("datagen", COLUMNS, "-q", "--seed", "1", "--rows", "3", *OPTIONS).out != printed.out


def test_what_is_wrong() -> None:
    code, out, err = fsql("datagen", COLUMNS, "-O", "id")
    assert (code, out) == (2, "")
    assert '"id" is not of the form COLUMN.OPTION=VALUE' in err
    code, out, err = fsql("datagen", COLUMNS, "-O", "id.most=1")
    assert (code, out) == (1, "")
    assert "error[FSQL-E213]: connector 'datagen' has no option 'fields.id.most'" in err
    assert "a similar name" not in err
    assert fsql("datagen", "id BIGNT").err.count("error[FSQL-E216]") == 1
    assert "give columns, such as" in fsql("datagen", " ").err


@pytest.mark.slow
def test_workers_change_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE bids (id BIGINT, word STRING, at TIMESTAMP,"
        " WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', 'count' = '2000',"
        " 'fields.word.distinct' = '20', 'fields.at.step' = '10 ms', 'fields.at.jitter' = '4 s');\n"
        "SELECT window_end, word, COUNT(*) AS n, SUM(id) AS s"
        " FROM TUMBLE(bids, at, INTERVAL '5' SECOND) GROUP BY window_start, window_end, word;\n"
    )
    alone = fsql("run", "-q", script)
    assert (alone.code, alone.err) == (0, "")
    assert len(alone.out.splitlines()) > 60
    assert fsql("run", "-q", "--workers", "2", script) == alone
    assert fsql("run", "-q", "--engine", "model", script) == alone
