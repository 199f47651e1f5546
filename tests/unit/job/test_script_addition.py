"""Scripts that are added to the script of a job: the text that is made, and what is refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_error
from fsql.compiler.text.source import SourceText
from fsql.job.compilation import Compiled, compile_job
from fsql.job.script import Script
from fsql.job.script_addition import Addition, add_script

JOB_DIRECTORY = Path("/queries")
OTHER_DIRECTORY = Path("/others/it's")

VIEWS = (
    "CREATE TABLE views (page STRING, n INT) WITH ('connector' = 'file', 'path' = 'views.jsonl');\n"
)
PAGES = "CREATE VIEW pages AS SELECT page, COUNT(*) AS n FROM views GROUP BY page;\n"
OUT = (
    "CREATE TABLE out (page STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'out.jsonl');\n"
)
INSERT = "INSERT INTO out SELECT page, n FROM pages;\n"
JOB = VIEWS + PAGES + OUT + INSERT
TOTAL = "CREATE TABLE total (n BIGINT) WITH ('connector' = 'file', 'path' = 'total.jsonl');\n"
COPY = "INSERT INTO total SELECT n FROM views;\n"


def compiled(
    text: str,
    directory: Path = JOB_DIRECTORY,
    functions: tuple[Path, ...] = (),
    **parameters: str,
) -> Compiled:
    name = "job.sql" if directory == JOB_DIRECTORY else "added.sql"
    script = Script(SourceText(name, text), parameters, directory, functions=functions)
    return compile_job(script)


def add(job: str, added: str, directory: Path = JOB_DIRECTORY) -> Addition:
    return add_script(compiled(job), compiled(added, directory), "pages")


def text_of(addition: Addition) -> str:
    """Return the text that was added to `JOB` or another job, which stays as it was."""
    assert addition.compiled is not None
    return addition.compiled.script.source.text.partition("\n\n-- of ")[2].partition("\n")[2]


def refusal(job: str, added: str) -> str:
    with pytest.raises(FsqlError) as raised:
        add(job, added)
    return render_error(raised.value)


def test_what_is_equal_is_taken_once() -> None:
    added = add(JOB, VIEWS + PAGES + TOTAL + "INSERT INTO total SELECT SUM(n) FROM pages;\n")
    assert added.shared == ("table views", "view pages")
    assert added.added == ("table total", "INSERT INTO total")
    assert added.compiled is not None
    script = added.compiled.script
    assert script.source.name == "script of job pages"
    assert script.source.text == (
        JOB + f"\n-- of job.sql\n{TOTAL}INSERT INTO total SELECT SUM(n) FROM pages;\n"
    )
    assert (script.base_directory, script.path) == (JOB_DIRECTORY, None)
    assert [insert.sink.name for insert in added.compiled.job.inserts] == ["out", "total"]


def test_a_script_that_a_job_has_changes_nothing() -> None:
    added = add(JOB, JOB)
    assert added == Addition(
        None, ("table views", "view pages", "table out", "INSERT INTO out"), ()
    )
    first = add(JOB, VIEWS + TOTAL + COPY)
    assert first.compiled is not None
    again = add_script(first.compiled, compiled(VIEWS + TOTAL + COPY), "pages")
    assert again.compiled is None
    assert again.shared == ("table views", "table total", "INSERT INTO total")


def test_meaning_counts_not_writing() -> None:
    added = """
        create temporary table if not exists VIEWS (page VARCHAR, n INTEGER)
        with ('path' = '/queries/../queries/views.jsonl', 'connector' = 'file', 'format' = 'json');
        -- of all
        CREATE VIEW IF NOT EXISTS pages AS SELECT v.page, COUNT(*) AS n FROM views AS v GROUP BY page;
    """
    job = JOB.replace("'file', 'path' = 'views", "'file', 'format' = 'json', 'path' = 'views")
    merged = add(job, added + TOTAL + "INSERT INTO total SELECT n FROM pages;\n")
    assert merged.shared == ("table VIEWS", "view pages")


def test_comments_and_ends() -> None:
    job = f"{JOB.strip()[:-1]} -- ; the end"
    copy = COPY.strip()[:-1]
    added = f"/* first */ {VIEWS} -- the sink; of all\n{TOTAL};; -- rows\n{copy}"
    merged = add(job, added)
    assert merged.compiled is not None
    assert merged.compiled.script.source.text == (
        f"{JOB.strip()} -- ; the end\n\n-- of job.sql\n"
        f"-- the sink; of all\n{TOTAL}-- rows\nINSERT INTO total SELECT n FROM views;\n"
    )


def test_paths_of_another_directory_are_absolute() -> None:
    added = (
        "CREATE TABLE views (page STRING, n INT) WITH"
        " ('connector' = 'file', 'path' = '../../queries/views.jsonl');\n"
        "CREATE TABLE more (n BIGINT, s STRING) WITH ('connector' = 'file', 'path' = 'more/*.jsonl',"
        " 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl');\n"
        "CREATE TABLE away (n BIGINT) WITH"
        " ('connector' = 'tcp', 'address' = '127.0.0.1:9', 'key' = 'secret');\n"
        "CREATE TABLE afar WITH ('key' = 'other') LIKE away;\n"
        "CREATE TABLE total (n BIGINT) WITH ('connector' = 'file', 'path' = '/total.jsonl');\n"
        "INSERT INTO away /*+ OPTIONS('key' = 'hinted') */ SELECT n FROM more;\n"
        "INSERT INTO afar SELECT n FROM more;\n"
        "INSERT INTO total SELECT n FROM more /*+ OPTIONS('path' = 'x.jsonl', 'rejects_path' = 'y') */;\n"
    )
    merged = add_script(compiled(JOB), compiled(added, OTHER_DIRECTORY), "pages")
    before = "/others/it''s/"
    assert text_of(merged) == (
        added[added.index("CREATE TABLE more") :]
        .replace("'more/", f"'{before}more/")
        .replace("'rejects.jsonl", f"'{before}rejects.jsonl")
        .replace("'secret", f"'{before}secret")
        .replace("'other", f"'{before}other")
        .replace("'hinted", f"'{before}hinted")
        .replace("'x.jsonl", f"'{before}x.jsonl")
        .replace("'y'", f"'{before}y'")
    )
    assert "'rejects.jsonl'" in text_of(add(JOB, added.replace("../../queries/", "")))


def test_files_in_from_are_those_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for path in ("a/views.jsonl", "b/more.jsonl"):
        (tmp_path / path).write_text('{"n":1}\n')
    job = compiled(
        "CREATE TABLE out (n BIGINT) WITH ('connector' = 'file', 'path' = 'out.jsonl');\n"
        "INSERT INTO out SELECT n FROM 'views.jsonl';\n",
        tmp_path / "a",
    )
    query = "INSERT INTO total SELECT n FROM '{}' UNION ALL SELECT n FROM '{}';\n"
    added = compiled(TOTAL + query.format("../a/views.jsonl", "more.jsonl"), tmp_path / "b")
    (tmp_path / "a/views.jsonl").write_text('{"n":1,"later":true}\n')
    merged = add_script(job, added, "pages")
    assert text_of(merged) == TOTAL.replace("total.jsonl", f"{tmp_path}/b/total.jsonl") + (
        query.format("views.jsonl", f"{tmp_path}/b/more.jsonl")
    )
    assert merged.compiled is not None
    assert merged.compiled.script.columns == {
        "views.jsonl": '("n" BIGINT)',
        f"{tmp_path}/b/more.jsonl": '("n" BIGINT)',
    }


INFERRED = "CREATE TABLE views WITH ('connector' = 'file', 'path' = 'views.jsonl');\n"


@pytest.mark.parametrize(("start", "name"), [(INFERRED, "views"), ("", "'views.jsonl'")])
def test_columns_that_were_inferred_are_those_of_the_job(
    start: str, name: str, tmp_path: Path
) -> None:
    insert = f"INSERT INTO out SELECT page, n FROM {name};\n"
    (tmp_path / "views.jsonl").write_text('{"page":"a","n":1}\n')
    job = compiled(start + OUT + insert, tmp_path)
    (tmp_path / "views.jsonl").write_text('{"page":"a","n":1,"later":true}\n')
    copy = f"INSERT INTO total SELECT n FROM {name};\n"
    view = f"CREATE VIEW pages AS SELECT page FROM {name};\n"
    added = compiled(start + view + TOTAL + copy, tmp_path)
    merged = add_script(job, added, "pages")
    assert text_of(merged) == view + TOTAL + copy
    assert merged.compiled is not None
    again = compiled(start + view + TOTAL + copy, tmp_path)
    assert add_script(merged.compiled, again, "pages").compiled is None
    later = compiled(
        start + TOTAL + f"INSERT INTO total SELECT 1 FROM {name} WHERE later;\n", tmp_path
    )
    with pytest.raises(FsqlError) as raised:
        add_script(job, later, "pages")
    assert render_error(raised.value).startswith(
        'error[FSQL-E203]: column "later" does not exist\n'
    )


def test_parameters_keep_their_values() -> None:
    job = compiled(
        JOB.replace("'views.", "'${file}.").replace("'out.", "'${out}."), file="views", out="out"
    )
    added = compiled(
        VIEWS.replace("'views.", "'${file}.")
        + "-- ${out}\n"
        + TOTAL.replace("'total.", "'${out}.")
        + "INSERT INTO total SELECT n FROM views WHERE n > ${out_2};\n",
        file="views",
        out="it's",
        out_2="5",
    )
    merged = add_script(job, added, "pages")
    assert text_of(merged) == (
        "-- ${out}\n"
        + TOTAL.replace("'total.", "'${out_3}.")
        + "INSERT INTO total SELECT n FROM views WHERE n > ${out_2};\n"
    )
    assert merged.compiled is not None
    assert merged.compiled.script.parameters == {
        "file": "views",
        "out": "out",
        "out_3": "it's",
        "out_2": "5",
    }
    assert add_script(merged.compiled, added, "pages").compiled is None


def test_a_parameter_with_statements_becomes_text() -> None:
    added = compiled("${all}", all=VIEWS + TOTAL + COPY)
    assert text_of(add_script(compiled(JOB), added, "pages")) == TOTAL + COPY


def test_a_path_that_is_a_parameter_with_its_quotes() -> None:
    added = compiled(
        "CREATE TABLE total (n BIGINT) WITH ('connector' = 'file', 'path' = ${path});\n"
        "INSERT INTO total SELECT 1;\n",
        OTHER_DIRECTORY,
        path="'total.jsonl'",
    )
    assert "'path' = '/others/it''s/total.jsonl'" in text_of(
        add_script(compiled(JOB), added, "pages")
    )


def test_statements_without_rows_are_left_out() -> None:
    added = (
        f"SHOW TABLES;\nDROP TABLE IF EXISTS views;\n{VIEWS}DESCRIBE views;\n"
        "SET 'pipeline.name' = 'x';\nSET 'table.local-time-zone' = 'UTC';\n"
        f"{TOTAL}EXPLAIN {COPY}EXECUTE STATEMENT SET BEGIN\n{COPY}END;\nDROP TABLE total;\n"
    )
    assert text_of(add(JOB, added)) == TOTAL + COPY


def test_times_to_live_are_those_of_each_script() -> None:
    setting = "SET 'table.exec.state.ttl' = '{} h'"
    count = "INSERT INTO total SELECT COUNT(*) FROM views GROUP BY page;\n"
    more = TOTAL.replace("total", "more")
    forever = "RESET 'table.exec.state.ttl';\n"
    views = VIEWS.replace("n INT", "n INT, at TIMESTAMP(3), WATERMARK FOR at AS at")
    job = f"{setting.format(1)};\n{views}{PAGES}{OUT}{INSERT}"
    assert text_of(add(job, views + TOTAL + count)) == forever + TOTAL + count
    other = (
        f"{views}{setting.format(2)};\n{TOTAL}{count}RESET;\n{more}{count.replace('total', 'more')}"
    )
    assert text_of(add(job, other)) == (
        f"{setting.format(2)};\n{TOTAL}{count}{forever}{more}{count.replace('total', 'more')}"
    )
    same = f"{setting.format(1)};\n{views}{PAGES}{TOTAL}{count}"
    assert text_of(add(job, same)) == TOTAL + count
    assert refusal(job, views + PAGES + OUT + INSERT).startswith(
        'error[FSQL-E640]: view "pages" is another one in job pages\n'
    )


def test_databases_exist_once() -> None:
    declared = "CREATE DATABASE d;\nUSE d;\n"
    job = declared + JOB
    assert text_of(add(job, VIEWS + TOTAL + COPY)) == "USE default_database;\n" + TOTAL + COPY
    qualified = COPY.replace("total", "d.total").replace("views", "d.views")
    merged = add(job, declared + VIEWS + TOTAL + qualified)
    assert text_of(merged) == "USE default_database;\nUSE d;\n" + TOTAL + qualified
    merged = add(JOB, declared + TOTAL + VIEWS + "USE default_database;\n" + COPY)
    assert text_of(merged) == declared + TOTAL + "USE default_database;\n" + COPY


def test_results_of_create_table_as_are_compared() -> None:
    as_query = TOTAL.strip()[:-1] + " AS SELECT n FROM views;\n"
    as_query = as_query.replace(" (n BIGINT)", "")
    merged = add(
        VIEWS + as_query, VIEWS + as_query + OUT + "INSERT INTO out SELECT page, 1 FROM views;\n"
    )
    assert merged.shared == ("table views", "table total")
    other = VIEWS + as_query.replace("SELECT n", "SELECT n + 1 AS n")
    assert "differs in the query of its rows\n" in refusal(VIEWS + as_query, other)
    assert text_of(add(JOB, VIEWS + as_query)) == as_query


def test_functions_are_those_of_both(tmp_path: Path) -> None:
    for folder, body in (("a", "n + 1"), ("b", "n + 2"), ("c", "n + 1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sums.py").write_text(
            dedent(f"""
            def more(n):
                return {body}
            """)
        )
    (tmp_path / "b" / "others.py").write_text("def less(n):\n    return n - 1\n")
    declare = "CREATE FUNCTION {}(n BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS '{}';\n"
    more, less = declare.format("more", "sums:more"), declare.format("less", "others:less")
    call = "INSERT INTO {0} SELECT {1}(n) FROM views;\n"
    other = TOTAL.replace("total", "other")
    job = compiled(VIEWS + more + TOTAL + call.format("total", "more"), functions=(tmp_path / "a",))

    def adding(text: str, folder: str) -> Addition:
        return add_script(job, compiled(text, functions=(tmp_path / folder,)), "pages")

    merged = adding(
        VIEWS + more.replace("more(", "More(") + other + call.format("other", "more"), "c"
    )
    assert merged.shared == ("table views", "function More")
    merged = adding(VIEWS + less + other + call.format("other", "less"), "b")
    assert merged.added == ("function less", "table other", "INSERT INTO other")
    assert merged.compiled is not None
    assert merged.compiled.script.functions == (tmp_path / "a", tmp_path / "b")
    with pytest.raises(FsqlError) as raised:
        adding(VIEWS + more + other + call.format("other", "more"), "b")
    assert render_error(raised.value) == (
        'error[FSQL-E640]: module "sums" of functions is another one in job pages\n'
        f"  = note: the job has it from {tmp_path}/a\n"
        "  = help: give one of the two modules another name\n"
        "  = help: deploy the script as a job of its own: without --into\n"
    )
    assert 'function "more" is another one' in refusal_of(
        job,
        VIEWS + more.replace("sums:more", "others:less") + other + call.format("other", "more"),
        tmp_path / "b",
    )


def refusal_of(job: Compiled, added: str, folder: Path) -> str:
    with pytest.raises(FsqlError) as raised:
        add_script(job, compiled(added, functions=(folder,)), "pages")
    return render_error(raised.value)
