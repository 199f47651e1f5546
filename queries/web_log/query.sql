-- How many requests had which status, minute by minute, and how many bytes were sent? From the lines of
-- an access log.
--
-- Regular expressions take a line apart; TRY_CAST reads the parts, and is NULL where CAST would fail the job.

CREATE TABLE lines (line STRING) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'text'
);

CREATE TABLE statuses (
    minute TIMESTAMP(0),
    status INT,
    requests BIGINT,
    bytes BIGINT,
    PRIMARY KEY (minute, status) NOT ENFORCED
) WITH (
    'connector' = 'file',
    'path' = 'statuses.jsonl'
);

CREATE VIEW requests AS
SELECT
    TRY_CAST(REGEXP_EXTRACT(line, '\[([^\]]*)\]', 1) AS TIMESTAMP) AS at,
    TRY_CAST(REGEXP_EXTRACT(line, '" ([0-9]+) ', 1) AS INT) AS status,
    TRY_CAST(REGEXP_EXTRACT(line, ' ([^ ]+)$', 1) AS BIGINT) AS bytes
FROM lines;

INSERT INTO statuses
SELECT DATE_TRUNC('minute', at) AS minute, status, COUNT(*) AS requests, SUM(bytes) AS bytes
FROM requests
GROUP BY DATE_TRUNC('minute', at), status;
