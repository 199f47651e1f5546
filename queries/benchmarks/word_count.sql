-- The running count of each word, as upserts, over generated lines.

CREATE TABLE lines (line STRING) WITH (
    'connector' = 'words',
    'words_per_line' = '${words}',
    'vocabulary' = '${vocabulary}',
    'seed' = '${seed}',
    'rate' = '${rate}'
);

CREATE TABLE counts (
    word STRING,
    n BIGINT,
    PRIMARY KEY (word) NOT ENFORCED
) WITH (
    'connector' = 'file',
    'path' = '${output}'
);

INSERT INTO counts
SELECT word, COUNT(*) AS n
FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word)
GROUP BY word;
