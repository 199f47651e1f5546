"""Scripts that cannot be added to the script of a job, and how that is said."""

from __future__ import annotations

from fsql.tests.unit.job.test_script_addition import (
    COPY,
    INSERT,
    JOB,
    OUT,
    TOTAL,
    VIEWS,
    add,
    refusal,
)


def test_another_meaning_of_a_name_is_refused() -> None:
    added = (
        "CREATE TABLE views (page STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'w.jsonl');\n"
        "CREATE VIEW out AS SELECT page FROM views;\n"
        "CREATE VIEW pages AS SELECT page, SUM(n) AS n FROM views GROUP BY page;\n"
        f"{TOTAL}INSERT INTO total SELECT n FROM pages;\n"
    )
    assert refusal(JOB, added) == (
        'error[FSQL-E640]: table "views" is another one in job pages\n'
        " --> job.sql:1:14\n"
        "  |\n"
        "1 | CREATE TABLE views (page STRING, n BIGINT) WITH ('connector' = 'file', 'path' = 'w.jsonl');\n"
        "  |              ^^^^^ differs in its columns, option 'path'\n"
        "  = note: the job declares it in line 1 of its script: fsql script pages\n"
        "  = help: give it another name, or declare it as the job does\n"
        "  = help: deploy the script as a job of its own: without --into\n"
        "\n"
        'error[FSQL-E640]: view "out" is another one in job pages\n'
        " --> job.sql:2:13\n"
        "  |\n"
        "2 | CREATE VIEW out AS SELECT page FROM views;\n"
        "  |             ^^^ differs in its kind: a table or a view\n"
        "  = note: the job declares it in line 3 of its script: fsql script pages\n"
        "  = help: give it another name, or declare it as the job does\n"
        "  = help: deploy the script as a job of its own: without --into\n"
        "\n"
        'error[FSQL-E640]: view "pages" is another one in job pages\n'
        " --> job.sql:3:13\n"
        "  |\n"
        "3 | CREATE VIEW pages AS SELECT page, SUM(n) AS n FROM views GROUP BY page;\n"
        "  |             ^^^^^ differs in its query\n"
        "  = note: the job declares it in line 2 of its script: fsql script pages\n"
        "  = help: give it another name, or declare it as the job does\n"
        "  = help: deploy the script as a job of its own: without --into\n"
    )


def test_keys_times_and_partitions_are_compared() -> None:
    table = "CREATE TABLE t (k STRING, at TIMESTAMP(3), {}) WITH ('connector' = 'file', 'path' = 't');\n"
    key = "PRIMARY KEY (k) NOT ENFORCED"
    mark = "WATERMARK FOR at AS at - INTERVAL '{}' SECOND"
    out = "CREATE TABLE out (k STRING) WITH ('connector' = 'file', 'path' = 'out.jsonl');\n"
    job = table.format(mark.format(1)) + out + "INSERT INTO out SELECT k FROM t;\n"
    other = out.replace("out", "o") + "INSERT INTO o SELECT k FROM t;\n"
    assert "differs in its WATERMARK\n" in refusal(job, table.format(mark.format(2)) + other)
    both = table.format(f"{mark.format(1)}, {key}") + other
    assert "differs in its PRIMARY KEY\n" in refusal(job, both)
    more = table.format(f"{mark.format(1)}, u AS UPPER(k)") + other
    assert "differs in its columns\n" in refusal(job, more)
    stop = table.replace("'t'", "'t', 'on_error' = 'null_field'").format(mark.format(1)) + other
    assert "differs in option 'on_error'\n" in refusal(job, stop)


def test_another_insert_into_a_table_of_the_job_is_refused() -> None:
    assert refusal(JOB, VIEWS + OUT + "INSERT INTO out SELECT page, 1 FROM views;\n") == (
        'error[FSQL-E640]: job pages writes table "out" already, with another query\n'
        " --> job.sql:3:13\n"
        "  |\n"
        "3 | INSERT INTO out SELECT page, 1 FROM views;\n"
        "  |             ^^^\n"
        "  = help: write to a table of another name, with its own file or topic\n"
        "  = help: or edit the script, if both are to write it: fsql script pages\n"
    )


def test_an_insert_into_a_refused_table_is_no_second_error() -> None:
    added = f"{VIEWS}{OUT.replace('out.', 'other.')}INSERT INTO Out SELECT page, n FROM views;\n"
    assert refusal(JOB, added).count("error[") == 1


def test_a_name_that_changes_its_meaning_is_refused() -> None:
    added = f"{VIEWS}{TOTAL}DROP TABLE total;\n{TOTAL.replace('total.', 'other.')}{COPY}"
    assert refusal(JOB, added) == (
        'error[FSQL-E640]: "total" is dropped and declared again\n'
        " --> job.sql:4:14\n"
        "  |\n"
        "4 | CREATE TABLE total (n BIGINT) WITH ('connector' = 'file', 'path' = 'other.jsonl');\n"
        "  |              ^^^^^ another meaning of the name\n"
        "  = help: use another name: in the script of a job, a name has one meaning\n"
    )


def test_what_the_job_has_dropped_is_not_taken_as_equal() -> None:
    """The INSERTs are equal to one of the job, and write another file, or other rows."""
    job = f"{VIEWS}{OUT}INSERT INTO out SELECT page, 1 FROM views;\n"
    other_file = job.replace("out.jsonl", "other.jsonl")
    assert refusal(f"{job}DROP TABLE out;\n", other_file).startswith(
        'error[FSQL-E205]: table "out" was used before it was dropped\n'
    )
    assert refusal(f"{JOB}DROP VIEW pages;\n", JOB.replace("COUNT(*)", "SUM(n)")) == (
        'error[FSQL-E640]: one job of pages and the script would change the query of "out"\n'
        "  = help: deploy the script as a job of its own: without --into\n"
    )


def test_settings_of_whole_scripts_must_agree() -> None:
    added = f"SET 'table.local-time-zone' = 'Asia/Tokyo';\n{VIEWS}{TOTAL}{COPY}"
    assert refusal(JOB, added) == (
        "error[FSQL-E640]: setting 'table.local-time-zone' is 'Asia/Tokyo', and 'UTC' in job pages\n"
        " --> job.sql:1:1\n"
        "  |\n"
        "1 | SET 'table.local-time-zone' = 'Asia/Tokyo';\n"
        "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  = note: a script has one value of this setting\n"
        "  = help: set it as the job does, if that is what the queries need\n"
        "  = help: deploy the script as a job of its own: without --into\n"
    )
    assert refusal(added, JOB).startswith(
        "error[FSQL-E640]: setting 'table.local-time-zone' is 'UTC', and 'Asia/Tokyo' in job pages\n"
    )


def test_times_that_would_change_are_refused() -> None:
    added = (
        "CREATE TABLE clicks (at TIMESTAMP(3), WATERMARK FOR at AS at)"
        " WITH ('connector' = 'file', 'path' = 'clicks.jsonl');\n"
        f"{TOTAL}INSERT INTO total SELECT COUNT(*) FROM clicks;\n"
    )
    assert refusal(JOB, added) == (
        'error[FSQL-E640]: one job of pages and the script would change the query of "out"\n'
        '  = note: the time of table "views" depends on all tables and queries of the job\n'
        "  = help: deploy the script as a job of its own: without --into\n"
    )


def test_an_insert_that_the_job_has_once_is_not_taken_twice() -> None:
    twice = refusal(JOB, JOB + INSERT)
    assert twice.startswith(
        'error[FSQL-E640]: job pages writes table "out" already, with another query\n'
        " --> job.sql:5:13\n"
    )
    assert add(JOB + INSERT, JOB + INSERT).compiled is None


def test_what_is_not_one_script_is_refused_as_there() -> None:
    """A table that a job writes cannot be read in the same job."""
    added = OUT + TOTAL + "INSERT INTO total SELECT n FROM out;\n"
    assert refusal(JOB, added).startswith(
        'error[FSQL-E314]: table "out" is both read and written by the job\n --> script of job pages:4:13\n'
    )
