"""The built-in queries of `fsql sim run`, with input that is generated from a seed.

Each query tests one property: order, late and malformed rows, windows over windows, both sides of a join,
expressions that fail.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.runtime.drivers.in_memory import Row

_NOON_US: Final = 1_709_294_400_000_000
_SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class SimQuery:
    """A script; `events` selects which of two kinds of rows its table gets."""

    name: str
    text: str
    events: bool


_WORDS_IN_ORDER: Final = """
CREATE TABLE documents (k STRING, line STRING)
WITH ('connector' = 'file', 'path' = 'documents', 'format' = 'json');

CREATE TABLE results (k STRING, so_far ARRAY<STRING>) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT k, ARRAY_AGG(line) OVER (PARTITION BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
FROM documents;
"""

_INVERTED_INDEX: Final = """
CREATE TABLE documents (k STRING, line STRING)
WITH ('connector' = 'file', 'path' = 'documents', 'format' = 'json');

CREATE TABLE results (word STRING, line STRING, before BIGINT) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT word, line, COUNT(*) OVER (
    PARTITION BY word ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
)
FROM documents CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word);
"""

_BALANCES: Final = """
CREATE TABLE events (
    at TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR at AS at - INTERVAL '2' SECOND
) WITH ('connector' = 'file', 'path' = 'events', 'format' = 'json');

CREATE TABLE results (k STRING, total BIGINT, entries BIGINT)
WITH ('connector' = 'blackhole', 'changes' = 'retract');

INSERT INTO results SELECT k, SUM(v), COUNT(*) FROM events GROUP BY k;
"""

_WINDOWS_OVER_WINDOWS: Final = """
CREATE TABLE events (
    at TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR at AS at - INTERVAL '2' SECOND
) WITH ('connector' = 'file', 'path' = 'events', 'format' = 'json');

CREATE VIEW short AS
SELECT k, window_time AS until, SUM(v) AS total
FROM TUMBLE(events, at, INTERVAL '2' SECOND)
GROUP BY k, window_time;

CREATE TABLE results (window_end TIMESTAMP, parts BIGINT, most BIGINT)
WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT window_end, COUNT(*), MAX(total)
FROM TUMBLE(short, until, INTERVAL '6' SECOND)
GROUP BY window_end;
"""

_JOIN: Final = """
CREATE TABLE events (
    at TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR at AS at - INTERVAL '2' SECOND
) WITH ('connector' = 'file', 'path' = 'events', 'format' = 'json');

CREATE TABLE results (k STRING, one BIGINT, other BIGINT) WITH ('connector' = 'blackhole');

INSERT INTO results
SELECT a.k, a.v, b.v
FROM events AS a JOIN events AS b
ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL '3' SECOND;
"""

SIM_QUERIES: Final = (
    SimQuery("words in order", _WORDS_IN_ORDER, events=False),
    SimQuery("inverted index", _INVERTED_INDEX, events=False),
    SimQuery("balances", _BALANCES, events=True),
    SimQuery("windows over windows", _WINDOWS_OVER_WINDOWS, events=True),
    SimQuery("a join with itself", _JOIN, events=True),
)


_RARE_KEYS: Final = 60


def rows_of(query: SimQuery, seed: int) -> list[list[Row]]:
    """Return one to four splits of generated rows; some times are out of order.

    Half of the seeds have many rare keys as well: a change that is lost is hidden by the next one of its key.
    """
    random = Random(f"{query.name} {seed}")  # noqa: S311 - rows, no secrets
    rare = Random(f"rare keys {query.name} {seed}")  # noqa: S311
    has_rare_keys = rare.random() < 0.5
    splits: list[list[Row]] = [[] for _ in range(random.choice((1, 2, 3, 4)))]
    clocks = [random.randrange(4) for _ in splits]
    hot = random.random() < 0.2
    for _ in range(random.choice((40, 120, 300))):
        number = random.randrange(len(splits))
        key = "a" if hot else random.choice("abcde")
        is_rare = has_rare_keys and rare.random() < 0.6
        suffix = str(rare.randrange(_RARE_KEYS)) if is_rare else ""
        if query.events:
            clocks[number] += random.choice((0, 0, 1))
            late = random.choice((0, 0, 0, 0, 1, 9))
            at = _NOON_US + (clocks[number] - late) * _SECOND_US
            row: tuple[Value, ...] = (at, key + suffix, random.randrange(-5, 20))
        else:
            words = random.choices("uvwxyz", k=random.randrange(1, 5))
            row = (key + suffix, " ".join([*words[:-1], words[-1] + suffix]))
        splits[number].append(row)
    return splits
