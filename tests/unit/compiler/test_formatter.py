"""The layout of scripts: what it looks like, and that it changes neither tokens nor meaning."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.formatter import format_script
from fsql.compiler.formatter.pieces import token_texts
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText, Span
from fsql.tests.case_files import read_cases
from fsql.tests.docs.pages import PAGES, ROOT, page_text, read_blocks


def formatted(text: str) -> str:
    return format_script(SourceText("s.sql", text))


def scripts() -> dict[str, str]:
    """Return the scripts of queries, cases and documentation that are correct in their form."""
    found = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in (*ROOT.glob("queries/**/*.sql"), *ROOT.glob("console/**/*.sql"))
    }
    for path in sorted((ROOT / "tests" / "cases").glob("[!p]*/*.test")) + sorted(
        (ROOT / "tests" / "cases" / "parse").glob("*.test")
    ):
        for case in read_cases(path.read_text()):
            found[f"{path.parent.name}/{path.name}:{case.line}"] = case.input
    for page in PAGES:
        for number, block in enumerate(read_blocks(page_text(page))):
            if block.kind == "sql":
                found[f"{page}:{number}"] = block.text
    return found


def without_places(node: object) -> object:
    """Return a part of the syntax without its spans."""
    if isinstance(node, Span):
        return None
    if isinstance(node, SourceText):
        return None
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        fields = (without_places(getattr(node, field.name)) for field in dataclasses.fields(node))
        return (type(node).__name__, *fields)
    if isinstance(node, tuple | list):
        return [without_places(each) for each in node]
    return node


@pytest.mark.slow
def test_every_script_keeps_its_meaning() -> None:
    count = 0
    for name, text in scripts().items():
        try:
            once = formatted(text)
        except FsqlError:
            continue  # a case about an error
        if once == text:
            continue  # so it keeps its tokens and its meaning
        assert formatted(once) == once, name
        assert token_texts(SourceText(name, text)) == token_texts(SourceText(name, once)), name
        try:
            before = parse_script(SourceText(name, text))
        except FsqlError:
            continue  # a script with parameters
        after = parse_script(SourceText(name, once))
        assert without_places(before.statements) == without_places(after.statements), name
        count += 1
    assert count > 500


WORDS = st.sampled_from(
    [
        "SELECT",
        "a",
        ",",
        "b",
        "FROM",
        "t",
        "WHERE",
        "(",
        ")",
        "AND",
        "OR",
        "=",
        "1",
        "'x'",
        "--",
        "c\n",
        "/*",
        "d",
        "*/",
        "\n",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "BETWEEN",
        "JOIN",
        "ON",
    ]
)


def anything_between(words: list[str], begin: str) -> None:
    text = f"{begin} {' '.join(words)}"
    try:
        once = formatted(text)
    except FsqlError:
        return
    assert formatted(once) == once
    assert token_texts(SourceText("s", text)) == token_texts(SourceText("s", once))


test_comments_and_line_ends_anywhere = given(
    st.lists(WORDS, max_size=30), st.sampled_from(["SELECT a FROM t", "SELECT a FROM t;\n", ""])
)(anything_between)


COMMENTED = ["SELECT ", "a", ", ", "b", " FROM ", "t", " WHERE ", "a", " = ", "1", ""]


def comments_between(comments: list[str]) -> None:
    text = COMMENTED[0] + "".join(
        f"{comment} {part}" for comment, part in zip(comments, COMMENTED[1:], strict=False)
    )
    once = formatted(text)
    assert formatted(once) == once


COMMENTS = st.sampled_from(["", " -- c\n", "\n-- d\n", " /* e */ ", "\n/* f\n g */\n"])
test_comments_between_all_tokens = given(st.lists(COMMENTS, min_size=9, max_size=9))(
    comments_between
)


BEFORE = """\
-- header

create table t (a int, -- the key
  c timestamp_ltz (2), d timestamptz(3),
  b array<row<x int, y string>> /* inline */,

  -- own line
  primary key (a) not enforced) with ('connector'='file', 'path' = '${path}'); -- trailing
-- about the view
create view v as select a,-a as c, case when a > 1 and a between 2 and 3 then 'this is a long text'
when a < 5 then 'another' else null end as d from t where a=1 and (a = 2 or b is not null) -- why
and exists (select 1 from t as x where x.a = t.a and x.a in (1, 2)) and t.a::bigint <> ${n};
insert into x (a, b) with q as (select a from t) select q.a, count(*)
  over (partition by a order by at rows between 3 preceding and current row) as s from q
  join r on q.a = r.b left join t for system_time as of q.at as z on z.a = q.a union all
select 1, 2 from tumble(t, at, interval '1' minute) limit 10
-- end
"""
AFTER = """\
-- header

CREATE TABLE t (
    a int, -- the key
    c TIMESTAMP_LTZ(2),
    d TIMESTAMPTZ(3),
    b ARRAY<ROW<x int, y string>> /* inline */,
    -- own line
    PRIMARY KEY (a) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = '${path}'); -- trailing

-- about the view
CREATE VIEW v AS
SELECT
    a,
    -a AS c,
    CASE
        WHEN a > 1 AND a BETWEEN 2 AND 3 THEN 'this is a long text'
        WHEN a < 5 THEN 'another'
        ELSE NULL
    END AS d
FROM t
WHERE
    a = 1
    AND (a = 2 OR b IS NOT NULL) -- why
    AND EXISTS (SELECT 1 FROM t AS x WHERE x.a = t.a AND x.a IN (1, 2))
    AND t.a::bigint <> ${n};

INSERT INTO x (a, b)
WITH q AS (SELECT a FROM t)
SELECT q.a, count(*) OVER (PARTITION BY a ORDER BY at ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS s
FROM q
JOIN r ON q.a = r.b
LEFT JOIN t FOR SYSTEM_TIME AS OF q.at AS z ON z.a = q.a
UNION ALL
SELECT 1, 2
FROM tumble(t, at, INTERVAL '1' MINUTE)
LIMIT 10
-- end
"""


def test_what_it_looks_like() -> None:
    assert formatted(BEFORE) == AFTER


def test_functions_with_digits_look_like_calls() -> None:
    assert formatted("select current_timestamp (3), LocalTime(0) from t") == (
        "SELECT CURRENT_TIMESTAMP(3), LOCALTIME(0) FROM t\n"
    )


@pytest.mark.parametrize("text", ["", "\n\n", ";", "-- only\n", "/* a */ ; -- b\n;"])
def test_little_text(text: str) -> None:
    assert formatted(formatted(text)) == formatted(text)


def test_errors_have_their_place_in_the_script() -> None:
    with pytest.raises(FsqlError) as raised:
        formatted("SELECT ${a} FROM FROM t")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.primary is not None
    assert diagnostic.primary.span == Span(17, 21)
