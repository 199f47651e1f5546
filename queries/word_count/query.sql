-- How often has each word come so far?
--
-- Every file under input/ is a split.  A table at rest without event time is ordered by row number: the
-- first lines of all files, then the second lines, and so on.  COUNT(*) over words that go on coming is a
-- table that changes, and each line of counts.jsonl is one change of it: +I for a word that is new, +U
-- for one that has been seen before.

CREATE TABLE lines (line STRING) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'text'
);

CREATE VIEW letters AS
SELECT
    REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
        LOWER(line), ',', ''), '.', ''), ';', ''), ':', ''), '?', ''), '"', '') AS line
FROM lines;

CREATE TABLE counts (
    word STRING,
    n BIGINT,
    PRIMARY KEY (word) NOT ENFORCED
) WITH (
    'connector' = 'file',
    'path' = 'counts.jsonl'
);

INSERT INTO counts
SELECT word, COUNT(*) AS n
FROM letters CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word)
WHERE word <> ''
GROUP BY word;
