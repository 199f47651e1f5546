-- The running count of each word of a file, as upserts: a record for each line and word.

CREATE TABLE lines (line STRING NOT NULL) WITH (
    'connector' = 'file',
    'path' = '${input}',
    'format' = 'text'
);

CREATE TABLE counts (
    word STRING,
    n BIGINT,
    PRIMARY KEY (word) NOT ENFORCED
) WITH (
    'connector' = '${sink}',
    ${sink_path}
    'changes' = 'upsert'
);

INSERT INTO counts
SELECT word, COUNT(*) AS n
FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word)
GROUP BY word;
