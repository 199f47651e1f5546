"""Queries of TIMESTAMP_LTZ: what the oracle says, on every way, where clocks are put forward and back.

Catches an offset of the wrong side of a transition, a local time that is skipped or occurs twice, windows of
local times that lose or repeat rows or close too early, and casts that take UTC for the zone of the script.
The oracle takes zones from Python's zoneinfo, which shares no code with the rest; both read the files of the
package tzdata.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits

MINUTE: Final = 60_000_000
SEEDS: Final = 10

TRANSITIONS: Final = {
    "Europe/Berlin": ("2024-03-31T01:00Z", "2024-10-27T01:00Z", "2600-03-29T01:00Z"),
    "America/New_York": ("2024-03-10T07:00Z", "2024-11-03T06:00Z", "1883-11-18T17:00Z"),
    "Australia/Lord_Howe": ("2024-04-06T15:00Z", "2024-10-05T15:30Z"),
    "Pacific/Apia": ("2011-12-30T10:00Z", "2011-09-24T14:00Z"),
    "Asia/Kathmandu": ("2024-06-01T00:00Z", "1985-12-31T18:30Z"),
    "+02:30": ("2024-01-01T00:00Z",),
    "UTC": ("2024-01-01T00:00Z",),
}
"""Zones, with instants at which their clocks change, or around which nothing does."""

FIXED: Final = ("+02:30", "UTC")

TABLES: Final = """
SET 'table.local-time-zone' = '{zone}';
CREATE TABLE t (id BIGINT, k STRING, at TIMESTAMP_LTZ(3), b TIMESTAMP, s STRING, d DATE, c TIMESTAMP(0),
    WATERMARK FOR at AS at - INTERVAL '40' MINUTE
) WITH ('connector' = 'file', 'path' = 't.jsonl');
"""
LOCAL: Final = (
    "CAST({L} AS TIMESTAMP)",
    "{L} AT TIME ZONE 'America/New_York'",
    "{L} AT TIME ZONE '-03:30'",
)
INSTANTS: Final = (
    *(
        "at",
        "at",
        "CAST(b AS TIMESTAMP_LTZ)",
        "b AT TIME ZONE 'Australia/Lord_Howe'",
        "COALESCE(b, at)",
    ),
    *(
        "TRY_CAST(s AS TIMESTAMP_LTZ)",
        "at + INTERVAL '1' HOUR",
        "CAST(d AS TIMESTAMP_LTZ)",
        "d AT TIME ZONE 'UTC'",
    ),
    *(
        "CAST(DATE_TRUNC('hour', at) AS TIMESTAMP_LTZ)",
        "FLOOR(at TO DAY)",
        "at - INTERVAL '1' MONTH",
    ),
    *("GREATEST(b, at)", "CAST(TIME '02:30' AS TIMESTAMP_LTZ)", "TIMESTAMP_LTZ '2024-03-31 02:30'"),
)
TEXTS: Final = (
    *("2024-03-31 02:15:00", "2024-10-27T02:15", "2024-11-03 01:30:00-05:00"),
    *(" 2011-12-30 12:00", "x"),
)
ITEMS: Final = (
    *(
        ("STRING", "CAST({L} AS STRING)"),
        ("TIMESTAMP_LTZ", "{L}"),
        ("TIMESTAMP", "{T}"),
        ("TIMESTAMP", "{L}"),
    ),
    *(
        ("DATE", "CAST({L} AS DATE)"),
        ("TIME", "CAST({L} AS TIME)"),
        ("STRING", "CAST({T} AS STRING)"),
    ),
    *(
        ("BOOLEAN", "{L} > b"),
        ("BOOLEAN", "{L} <= {L}"),
        ("STRING", "CAST({L} - {L} AS STRING)"),
        ("TIMESTAMP_LTZ", "b"),
    ),
    *(
        ("TIMESTAMP(2)", "{L}"),
        ("TIMESTAMP_LTZ(0)", "{L}"),
        ("TIME(1)", "CAST({L} AS TIME(4))"),
        ("STRING", "CAST(CAST({T} AS TIMESTAMP(1)) AS STRING)"),
        ("STRING", "CAST(COALESCE(CAST(at AS TIMESTAMP_LTZ(5)), at) AS STRING)"),
        ("ARRAY<STRING>", "CAST(ARRAY[c, CAST(b AS TIMESTAMP(2))] AS ARRAY<STRING>)"),
        ("BOOLEAN", "c = b"),
        ("BOOLEAN", "at < {L} OR c IN ('2024-03-31 02:15:00.5', '2024-10-27 02:15')"),
    ),
    *(("BIGINT", "EPOCH_MILLIS({L})"), ("TIMESTAMP_LTZ", "TRY_CAST({T} AS TIMESTAMP_LTZ)")),
)
BOUNDS: Final = "GROUP BY window_start, window_end"
QUERIES: Final = (
    (
        "k STRING, n BIGINT, e TIMESTAMP_LTZ",
        f"SELECT k, COUNT(*), window_end FROM TUMBLE(t, at, {{size}}) {BOUNDS}, k",
    ),
    (
        "b TIMESTAMP_LTZ, e TIMESTAMP, n BIGINT",
        f"SELECT window_start, window_end, SUM(id) FROM HOP(t, at, {{slide}}, {{size}}) {BOUNDS}",
    ),
    (
        "m BIGINT, n BIGINT",
        "SELECT MAX(id), COUNT(*) FROM t GROUP BY HOP(at, {slide}, {size})",
    ),
    (
        "k STRING, b TIMESTAMP_LTZ, n BIGINT",
        (
            "SELECT k, window_start, COUNT(*)"
            f" FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '30' MINUTE) {BOUNDS}, k"
        ),
    ),
    (
        "i BIGINT, j BIGINT",
        (
            "SELECT t.id, u.id FROM t JOIN t AS u"
            " ON t.k = u.k AND t.at BETWEEN u.at - INTERVAL '1' HOUR AND u.at"
        ),
    ),
    (
        "e TIMESTAMP_LTZ(4), n BIGINT",
        (
            "SELECT window_end, COUNT(*) FROM TUMBLE((SELECT at FROM t"
            f" UNION ALL SELECT CAST(at AS TIMESTAMP_LTZ(6)) FROM t), at, {{size}}) {BOUNDS}"
        ),
    ),
    (
        "c TIMESTAMP(1), b STRING",
        "SELECT t.c, CAST(MAX(u.b) AS STRING) FROM t JOIN t AS u ON t.c = u.b GROUP BY t.c",
    ),
    ("l TIMESTAMP, n BIGINT", "SELECT {T}, COUNT(*) FROM t GROUP BY {T}"),
    (
        "k STRING, l TIMESTAMP_LTZ, n BIGINT",
        "SELECT k, MAX({L}), COUNT(DISTINCT {T}) FROM t GROUP BY k",
    ),
    (
        "i BIGINT, n BIGINT",
        (
            "SELECT a.n, b.n FROM (SELECT window_end AS e, COUNT(*) AS n"
            f" FROM TUMBLE(t, at, {{size}}) {BOUNDS}) AS a JOIN (SELECT window_end AS e, MAX(id) AS n"
            f" FROM TUMBLE(t, at, {{size}}) {BOUNDS}) AS b ON a.e = b.e"
        ),
    ),
)


def filled(random: Random, template: str) -> str:
    while "{L}" in template or "{T}" in template:
        template = template.replace("{T}", random.choice(LOCAL), 1)
        template = template.replace("{L}", f"({random.choice(INSTANTS)})", 1)
    return template


def case_of(seed: int) -> Case:
    random = Random(f"zones {seed}")
    zone = [*TRANSITIONS][seed % len(TRANSITIONS)]
    text = TABLES.replace("{zone}", zone)
    items = [random.choice(ITEMS) for _ in range(6)]
    columns = [f"c{place} {kind}" for place, (kind, _) in enumerate(items)]
    written = [filled(random, item) for _, item in items]
    text += f"CREATE TABLE s ({', '.join(columns)}) WITH ('connector' = 'blackhole');\n"
    text += f"INSERT INTO s SELECT {', '.join(written)} FROM t;\n"
    chosen = [QUERIES[(seed + 5 * place) % len(QUERIES)] for place in range(2)]
    for number, (names, query) in enumerate(chosen):
        size, slide = random.choice(((60, 20), (30, 30), (1440, 360), (120, 60)))
        given = query.replace("{T}", filled(random, "{T}"))
        given = given.replace("{size}", f"INTERVAL '{size}' MINUTE")
        given = filled(random, given.replace("{slide}", f"INTERVAL '{slide}' MINUTE"))
        if zone in FIXED:
            given = given.replace(" HOP(t", " CUMULATE(t")
        text += f"CREATE TABLE s{number} ({names}) WITH ('connector' = 'blackhole');\n"
        text += f"INSERT INTO s{number} {given};\n"
    job = bind(parse_script(SourceText("zones", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = parse_timestamp(random.choice(TRANSITIONS[zone])) - random.choice((0, 60, 240)) * MINUTE
    for number in range(random.choice((1, 8, 16, 24))):
        clock += random.choice((0, 1, 10, 15, 30, 30, 55)) * MINUTE
        at = clock - random.choice((0, 0, 10, 39, 90)) * MINUTE - random.choice((0, 0, 1))
        local = at + random.randrange(-14, 14) * 30 * MINUTE + random.choice((0, 0, 500_000))
        spelled = random.choice(TEXTS)
        row = (
            number,
            random.choice(("a", "b", None)),
            at,
            random.choice((local, local, None)),
            spelled,
            local // (1440 * MINUTE),
            local,
        )
        random.choice(splits).append(row)
    return Case(f"zones {seed}", text, job, {0: splits})


@pytest.mark.slow
def test_queries_of_instants_agree_with_the_oracle() -> None:
    met: Counter[str] = Counter()
    for seed in range(SEEDS):
        case = case_of(seed)
        outcome = case.expected
        assert outcome.error is None, outcome.error
        met.update(check(case, schedules=1))
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        met.update(query for names, query in QUERIES if f"({names})" in case.text)
    assert all(met[query] for _, query in QUERIES), met
    assert met["rows restored"]
    assert met["something released"] > SEEDS // 2
